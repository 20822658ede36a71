package cli

import (
	"os"
	"strings"
	"testing"
)

// TestOldNames runs commands with old and with current spellings of names. It checks that
// both have the same output and exit status, and that standard error has one line for each
// old spelling.
func TestOldNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"old.yaml": "bench: ccl_allreduce\nparams: {ranks-per: sip, algorithm: direct_all_reduce}\ngrid:\n  - {key: params.n-elem, values: [8, 16]}\n",
		"new.yaml": "bench: ccl_all_reduce\nparams: {ranks-per: sip, algo: direct_all_reduce}\ngrid:\n  - {key: params.elems, values: [8, 16]}\n",
		"my.yaml":  "extends: default\ndefaults: {algorithm: tree_allreduce_7}\n",
		"own.yaml": "algorithms: {ring_allreduce_8: {algorithm: tree, world_size: 4}}\n",
		"kernel.yaml": "summary: a test\nnranks: 2\nsignals: 2\nbuffers:\n  - {name: x, dtype: f32, shape: [8], placement: window, init: i}\n" +
			"  - {name: out, dtype: f32, shape: [nranks, 8], placement: device}\nkernel: {name: allgather, args: [x, out, 8]}\noutputs:\n  - {buffer: out, golden: i%8}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ring = "ring_allreduce_tcm is now called ring_all_reduce_tcm"
	for _, tt := range []struct {
		old, now string
		hints    []string
		code     int
	}{
		{"coll allreduce -e 8 -t ring6", "coll all_reduce -e 8 -t ring6", []string{"allreduce is now called all_reduce"}, exitOK},
		{"coll All-Reduce -e 8 --datatype f32 -t ring6 --format json", "coll all_reduce -e 8 -d f32 -t ring6 --format json", []string{"--datatype is now called --dtype", "All-Reduce is now called all_reduce"}, exitOK},
		{"coll reducescatter --datatype f9", "coll reduce_scatter --dtype f9", []string{"--datatype is now called --dtype"}, exitUsage},
		{"comm run allreduce -p alpha_beta --backend sim -d 0-2", "comm run all_reduce -t alpha_beta --backend sim --devices 0-2",
			[]string{"-d is now called --devices", "-p is now called -t", "allreduce is now called all_reduce"}, exitOK},
		{"comm run allgather --preset ring6 --backend sim --format json", "comm run all_gather --topology ring6 --backend sim --format json",
			[]string{"--preset is now called --topology", "allgather is now called all_gather"}, exitOK},
		{"comm run allreduce --preset ring6", "comm run all_reduce --topology ring6", []string{"--preset is now called --topology", "allreduce is now called all_reduce"}, exitUsage},
		{"comm show allgather", "comm show all_gather", []string{"allgather is now called all_gather"}, exitOK},
		{"comm show reduce-scatter --source", "comm show reduce_scatter --source", []string{"reduce-scatter is now called reduce_scatter"}, exitOK},
		{"comm show allgather --source -d 0-1", "comm show all_gather --source --devices 0-1", []string{"-d is now called --devices", "allgather is now called all_gather"}, exitUsage},
		{"run ccl_allreduce --ranks-per sip --algorithm ring_allreduce_tcm --n-elem 8", "run ccl_all_reduce --ranks-per sip --algo ring_all_reduce_tcm --elems 8",
			[]string{"--algorithm is now called --algo", "--n-elem is now called --elems", "ccl_allreduce is now called ccl_all_reduce", ring}, exitOK},
		{"run --bench ccl_allreduce --ranks-per sip --algo ring_allreduce_tcm --format json", "run ccl_all_reduce --ranks-per sip --algo ring_all_reduce_tcm --format json",
			[]string{"ccl_allreduce is now called ccl_all_reduce", ring}, exitOK},
		{"run ccl_allreduce --algo ring_allreduce_9", "run ccl_all_reduce --algo ring_allreduce_9", []string{"ccl_allreduce is now called ccl_all_reduce"}, exitUsage},
		{"run coll --datatype f32 --size 64", "run coll --dtype f32 --size 64", []string{"--datatype is now called --dtype"}, exitOK},
		{"run tp_mlp --tp 2 --tokens 16 --hidden 64 --ffn 256 --precision f32 --ccl-algorithm ring", "run tp_mlp --tp 2 --tokens 16 --hidden 64 --ffn 256 --dtype f32 --algo ring",
			[]string{"--ccl-algorithm is now called --algo", "--precision is now called --dtype"}, exitOK},
		{"list ccl_allreduce", "list ccl_all_reduce", []string{"ccl_allreduce is now called ccl_all_reduce"}, exitOK},
		{"sweep old.yaml --out old.jsonl --format csv", "sweep new.yaml --out new.jsonl --format csv",
			[]string{"ccl_allreduce is now called ccl_all_reduce", "params.algorithm is now called params.algo", "params.n-elem is now called params.elems"}, exitOK},
		{"ccl show --ccl my.yaml --format yaml", "ccl show --set ccl.defaults.algorithm=tree_all_reduce_7 --format yaml", []string{"tree_allreduce_7 is now called tree_all_reduce_7"}, exitOK},
		{"ccl show --set ccl.algorithms.ring_allreduce_8.n_slots=2 --format yaml", "ccl show --set ccl.algorithms.ring_all_reduce_8.n_slots=2 --format yaml",
			[]string{"ring_allreduce_8 is now called ring_all_reduce_8"}, exitOK},
		{"comm run kernel.yaml --backend sim", "", []string{"allgather is now called all_gather"}, exitOK},
		{"run ccl_all_reduce --ccl own.yaml --algo ring_allreduce_8", "", nil, exitOK}, // the file has an entry with this name
	} {
		var hints strings.Builder
		for _, hint := range tt.hints {
			hints.WriteString("kernbench: " + hint + "\n")
		}
		code, stdout, stderr := command(t.Context(), strings.Fields(tt.old)...)
		if tt.now == "" {
			if code != tt.code || stderr != hints.String() {
				t.Errorf("%s: exit status %d and\n%swant %d and\n%s", tt.old, code, stderr, tt.code, hints.String())
			}
			continue
		}
		wantCode, wantOut, wantErr := command(t.Context(), strings.Fields(tt.now)...)
		if wantCode != tt.code || strings.Contains(wantErr, "now called") {
			t.Errorf("%s: exit status %d and\n%swant %d", tt.now, wantCode, wantErr, tt.code)
		}
		stdout = strings.ReplaceAll(stdout, "old.", "new.") // names of files
		if code != wantCode || stdout != wantOut {
			t.Errorf("%s: exit status %d and\n%swant what %s prints, %d and\n%s", tt.old, code, stdout, tt.now, wantCode, wantOut)
		}
		if want := hints.String() + wantErr; strings.ReplaceAll(stderr, `"--datatype"`, `"-d, --dtype"`) != want {
			t.Errorf("%s: standard error\n%swant\n%s", tt.old, stderr, want)
		}
	}
}

// TestOldNamesCompletion checks that the shell does not complete old spellings.
func TestOldNamesCompletion(t *testing.T) {
	for _, line := range []string{"comm run ", "comm run x -", "comm run x --", "coll ", "coll barrier --", "run ", "run ccl_all_reduce --", "list "} {
		_, stdout, _ := command(t.Context(), append([]string{"__complete"}, strings.Split(line, " ")...)...)
		for word := range strings.FieldsSeq(stdout) {
			switch word {
			case "allreduce", "allgather", "ccl_allreduce", "--preset", "-p", "--p", "--d", "-d", "--datatype", "--precision", "--algorithm", "--ccl-algorithm", "--n-elem":
				t.Errorf("%q is completed by %s", line, word)
			}
		}
	}
}
