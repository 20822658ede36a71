package builtin

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/torch"
)

// TestAllReduceOfPEs runs the all-reduce of every entry with each PE of the default system
// as a rank, or with the number of PEs that the entry sets. It checks the values, and that
// the ring is fastest with slots in TCM and slowest with slots in HBM.
func TestAllReduceOfPEs(t *testing.T) {
	r := execute(t, "ccl_all_reduce", bench.Options{})
	want := []string{
		"auto_all_reduce (ws=256): 256 OK",
		"bidirectional_ring_all_reduce (ws=256): 256 OK",
		"center_root_all_reduce (ws=256): 256 OK",
		"corner_root_all_reduce (ws=256): 256 OK",
		"direct_all_reduce (ws=256): 256 OK",
		"direct_one_phase_all_reduce (ws=256): 256 OK",
		"double_tree_all_reduce (ws=256): 256 OK",
		"dual_mesh_all_reduce (ws=256): 256 OK",
		"halving_doubling_all_reduce (ws=256): 256 OK",
		"mesh_all_reduce_4 (ws=4): 4 OK",
		"ring_all_reduce_16 (ws=16): 16 OK",
		"ring_all_reduce_8 (ws=8): 8 OK",
		"ring_all_reduce_hbm (ws=256): 256 OK",
		"ring_all_reduce_sram (ws=256): 256 OK",
		"ring_all_reduce_tcm (ws=256): 256 OK",
		"torus_all_reduce (ws=256): 256 OK",
		"tree_all_reduce_7 (ws=7): 7 OK",
	}
	if diff := cmp.Diff(want, r.Notes); diff != "" || !r.OK {
		t.Errorf("ok %v, notes (-want +got):\n%s", r.OK, diff)
	}
	time := map[string]torch.Time{}
	for _, row := range rowsOf(r) {
		time[value[string](t, row, "name")] = value[torch.Time](t, row, "crit_ns")
	}
	if tcm, sram, hbm := time["ring_all_reduce_tcm"], time["ring_all_reduce_sram"], time["ring_all_reduce_hbm"]; tcm >= sram || sram >= hbm {
		t.Errorf("slots in TCM take %v, in SRAM %v, in HBM %v: want each less than the next", tcm, sram, hbm)
	}
}

// TestAllReduceDTypes checks that the sums are exact with every dtype.
func TestAllReduceDTypes(t *testing.T) {
	for dtype := range exactTypes {
		for _, per := range []string{"pe", "sip"} {
			r := execute(t, "ccl_all_reduce", bench.Options{Params: map[string]string{"dtype": dtype, "ranks-per": per, "algo": "ring_all_reduce_tcm", "elems": "5"}, Options: torch.Options{Topology: compilePreset(t, "alpha_beta")}})
			if want := []string{"ring_all_reduce_tcm (ws=4): 4 OK"}; !slices.Equal(r.Notes, want) || r.Checks[0].Elems != 20 {
				t.Errorf("%s, ranks per %s: got %v after %d elements, want %v after 20", dtype, per, r.Notes, r.Checks[0].Elems, want)
			}
		}
	}
}

// TestExactAddends checks the addends of various numbers of ranks and limits.
func TestExactAddends(t *testing.T) {
	for _, tt := range []struct {
		ranks, limit int
		want         []int
	}{
		{1, 10, []int{1}},
		{4, 10, []int{1, 2, 3, 4}},
		{4, 9, []int{1, 2, 3, 1}},
		{4, 6, []int{1, 2, 1, 2}},
		{4, 5, []int{1, 1, 1, 1}},
		{4, 3, []int{1, 1, 1, 0}},
	} {
		if got := exactAddends(tt.ranks, tt.limit); !slices.Equal(got, tt.want) {
			t.Errorf("%d ranks up to %d: got %v, want %v", tt.ranks, tt.limit, got, tt.want)
		}
	}
	for _, ranks := range []int{63, 64, 256, 257, 768, 2048, 2049, 131072} {
		for name, d := range exactTypes {
			sum := 0
			for _, v := range exactAddends(ranks, d.limit) {
				sum += v
			}
			if sum > d.limit || sum < min(ranks, d.limit) {
				t.Errorf("%d ranks of %s: the sum is %d, want %d to %d", ranks, name, sum, min(ranks, d.limit), d.limit)
			}
		}
	}
}

// TestAllReduceSkips checks that entries that the system cannot run are skipped, with a
// note and without an error.
func TestAllReduceSkips(t *testing.T) {
	config, err := ccl.Parse("my.yaml", []byte("algorithms:\n  ring_16: {world_size: 16}\n  chain_2: {algorithm: chain, world_size: 2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for per, want := range map[string]string{
		"pe": "ring_16: skipped: world size 16, and there are 4 PEs", "sip": "ring_16: skipped: world size 16, and there are 4 SIPs",
	} {
		r := execute(t, "ccl_all_reduce", bench.Options{Params: map[string]string{"ranks-per": per}, Options: torch.Options{Topology: compilePreset(t, "alpha_beta"), CCL: config}})
		if len(r.Notes) != 2 || !strings.HasPrefix(r.Notes[0], "chain_2: skipped: algorithm chain does no all_reduce") || r.Notes[1] != want || len(r.Rows.Rows) > 0 || !r.OK {
			t.Errorf("ranks per %s: ok %v, %d rows, notes %q, want %q", per, r.OK, len(r.Rows.Rows), r.Notes, want)
		}
	}
}

// TestAllReduceFails checks that up to five ranks with a wrong element are reported, and
// that the check fails.
func TestAllReduceFails(t *testing.T) {
	array := func(values ...byte) *torch.Array {
		return &torch.Array{Shape: torch.Shape{len(values)}, DType: torch.U8, Bytes: values}
	}
	good := array(21, 21, 21)
	for _, tt := range []struct {
		got   []*torch.Array
		notes []string
		wrong string
	}{
		{[]*torch.Array{good, good}, []string{"ring (ws=2): 2 OK"}, ""},
		{[]*torch.Array{good, array(21, 21, 20)}, []string{"rank 1: element 2 is 20, want 21", "ring (ws=2): 1 OK / 1 FAIL"}, "rank 1: element 2 is 20, want 21"},
		{
			[]*torch.Array{array(0, 0, 0), array(1, 21, 21), good, array(21, 2, 2), array(3, 3, 3), array(4, 4, 4), array(5, 5, 5)},
			[]string{
				"rank 0: element 0 is 0, want 21", "rank 1: element 0 is 1, want 21", "rank 3: element 1 is 2, want 21",
				"rank 4: element 0 is 3, want 21", "rank 5: element 0 is 4, want 21", "ring (ws=7): 1 OK / 6 FAIL",
			},
			"rank 0: element 0 is 0, want 21",
		},
	} {
		r := runInBench(t, func(b *bench.B) error { reportRanks(b, "ring", tt.got, 21); return nil })
		check := torch.Checks{{Name: "ring", Elems: 3 * len(tt.got), Wrong: tt.wrong}}
		if diff := cmp.Diff([]any{tt.notes, check}, []any{r.Notes, r.Checks}); diff != "" || r.OK != (tt.wrong == "") {
			t.Errorf("ok %v, notes and checks (-want +got):\n%s", r.OK, diff)
		}
	}
}

// TestAllReduceParams checks that invalid values of parameters are a ParamError.
func TestAllReduceParams(t *testing.T) {
	program, _ := bench.Find("ccl_all_reduce")
	for _, tt := range []struct{ name, value, want string }{
		{"algo", "rng_all_reduce_8", `--algo: no algorithm is named "rng_all_reduce_8" in preset default: `},
		{"elems", "many", `--elems: "many": write a whole number from 0 to 4294967296`},
		{"elems", "-1", `--elems: "-1": write a whole number from 0 to 4294967296`},
	} {
		_, err := program.Execute(t.Context(), bench.Options{Params: map[string]string{tt.name: tt.value}})
		var wrong *bench.ParamError
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s=%s: got %v, want %s", tt.name, tt.value, err, tt.want)
		}
	}
}
