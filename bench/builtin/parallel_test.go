package builtin

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// smallSystem returns a system with 2 × 2 cubes per device and the PEs of the default
// system. `sets` holds further settings to change.
func smallSystem(t *testing.T, sets ...string) *topology.Graph {
	t.Helper()
	spec, err := topology.Load(t.Context(), "ring6", append([]string{"sip.cube_mesh.w=2", "sip.cube_mesh.h=2"}, sets...)...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// checkTimesAddUp checks that the parts of each row's time add up to the total, to the
// femtosecond, and that overlapped time is at most compute time.
func checkTimesAddUp(t *testing.T, name string, rows []table.Record) {
	t.Helper()
	for i, row := range rows {
		cell := func(column string) torch.Time { return value[torch.Time](t, row, column) }
		sum := cell("compute_ns") + cell("exposed_memory_ns") + cell("exposed_comm_ns") + cell("idle_ns")
		if total := cell("total_ns"); sum != total || total == 0 && row.Get("step") != "after" {
			t.Errorf("%s, row %d: parts are %d fs together, want total_ns of %d fs", name, i, sum, total)
		}
		if compute, overlapped := cell("compute_ns"), max(cell("overlapped_memory_ns"), cell("overlapped_comm_ns")); overlapped > compute {
			t.Errorf("%s, row %d: %v overlapped, want at most the %v of computing", name, i, overlapped, compute)
		}
	}
}

// TestScaling checks that each doubling of the ranks halves the busy time of the GEMM
// engines, as long as the part of a rank fills the MAC arrays. It also checks that the
// share of communication rises and that the times of every row add up.
func TestScaling(t *testing.T) {
	params := map[string]string{"tp": "1,2,4,8", "tokens": "128", "hidden": "512", "ffn": "2048", "overlap": "1"}
	rows := rowsOf(execute(t, "tp_mlp", bench.Options{Params: params, Options: torch.Options{Topology: smallSystem(t), NoData: true}}))
	checkTimesAddUp(t, "tp_mlp", rows)
	for i, row := range rows[1:] {
		tp, fewer := value[int](t, row, "tp"), rows[i]
		ratio := float64(value[torch.Time](t, row, "gemm_ns")) / float64(value[torch.Time](t, fewer, "gemm_ns"))
		t.Logf("tp %d: GEMM takes %.3f of the time of half the ranks", tp, ratio)
		if ratio < 0.4 || ratio > 0.6 {
			t.Errorf("tp %d: GEMM takes %.3f of the time of half the ranks, want 0.5 ± 0.1", tp, ratio)
		}
		if now, before := value[float64](t, row, "comm_share"), value[float64](t, fewer, "comm_share"); now <= before {
			t.Errorf("tp %d: %.3f of the time is communication, want more than the %.3f of fewer ranks", tp, now, before)
		}
	}
}

// TestOverlapPays checks that overlap makes a run at least a tenth faster where computing a
// piece takes longer than reducing it.
func TestOverlapPays(t *testing.T) {
	params := map[string]string{"tp": "4", "tokens": "512", "hidden": "2048", "ffn": "8192", "overlap": "1,2,4", "placement": "tokens"}
	rows := rowsOf(execute(t, "tp_mlp", bench.Options{Params: params, Options: torch.Options{Topology: smallSystem(t), NoData: true}}))
	checkTimesAddUp(t, "tp_mlp", rows)
	without := value[torch.Time](t, rows[0], "total_ns")
	for _, row := range rows[1:] {
		with, pieces := value[torch.Time](t, row, "total_ns"), value[int](t, row, "overlap")
		ratio := float64(with) / float64(without)
		t.Logf("%d pieces: %.3f", pieces, ratio)
		if ratio > 0.9 {
			t.Errorf("%d pieces take %v, %.3f of the %v without overlap, want at most 0.9", pieces, with, ratio, without)
		}
	}
}

// TestBlockSteps checks that the times of a block's steps add up to the row "all". With the
// rows "before" and "after", they must add up to the makespan. The makespan of the bench
// must be that of its longest block.
func TestBlockSteps(t *testing.T) {
	params := map[string]string{"tp": "2,8", "tokens": "16", "sequence-parallel": "both", "overlap": "1,2"}
	r := execute(t, "transformer_block", bench.Options{Params: params, Options: torch.Options{Topology: smallSystem(t), NoData: true}})
	rows := rowsOf(r)
	checkTimesAddUp(t, "transformer_block", rows)
	blocks, longest := 0, torch.Time(0)
	var steps, whole torch.Breakdown
	for _, row := range rows {
		cell := func(column string) torch.Time { return value[torch.Time](t, row, column) }
		times := torch.Breakdown{
			Compute: cell("compute_ns"), Memory: cell("exposed_memory_ns"), Comm: cell("exposed_comm_ns"), Idle: cell("idle_ns"),
			OverlappedMemory: cell("overlapped_memory_ns"), OverlappedComm: cell("overlapped_comm_ns"),
		}
		switch step := value[string](t, row, "step"); {
		case step == "makespan":
			if whole != times {
				t.Errorf("block %d: the rows are %+v together, want %+v", blocks, whole, times)
			}
			longest = max(longest, cell("total_ns"))
			blocks++
			steps, whole = torch.Breakdown{}, torch.Breakdown{}
		case step == "all" && steps != times:
			t.Errorf("block %d: the steps are %+v together, want %+v", blocks, steps, times)
		case step != "all":
			if whole = whole.Add(times); step != "before" && step != "after" {
				steps = steps.Add(times)
			}
		}
	}
	if r.Makespan != longest {
		t.Errorf("makespan %v, want %v, the longest of all blocks", r.Makespan, longest)
	}
	if blocks != 8 {
		t.Errorf("%d blocks, want 8: of 2 and 8 ranks, without and with sequence parallelism, in 1 and 2 pieces", blocks)
	}
}

// TestParallelValues runs the tensor-parallel benches with several placements and dtypes,
// with and without sequence parallelism and overlap. It checks that values are right and
// that there are no races.
func TestParallelValues(t *testing.T) {
	g := smallSystem(t, "sip.cube_mesh.h=1", "cube.pe_layout.pe_per_corner=1")
	for _, way := range []struct{ placement, dtype string }{{"columns", "bf16"}, {"columns", "f32"}, {"tokens", "f16"}, {"tokens", "f32"}} {
		for name, params := range map[string]map[string]string{
			"tp_mlp":            {"tp": "1,2,4", "tokens": "12", "hidden": "32", "ffn": "64", "sequence-parallel": "both", "overlap": "1,2"},
			"gpt3_qkv":          {"tp": "2,4", "tokens": "10", "divide": "32"},
			"transformer_block": {"tp": "4", "tokens": "8", "sequence-parallel": "both", "overlap": "1,2"},
		} {
			params["placement"], params["dtype"] = way.placement, way.dtype
			// There is a check for each rank, and a check that all ranks have the same bits
			// where they must. tp_mlp runs on 1 rank, and in four variants each on 2 and on
			// 4 ranks. The block runs in four variants.
			checks := map[string]int{"tp_mlp": 2 + 2*(2+1) + 2*2 + 2*(4+1) + 2*4, "gpt3_qkv": 2 + 4, "transformer_block": 2*(4+1) + 2*4}[name]
			r := execute(t, name, bench.Options{Params: params, Options: torch.Options{Topology: g, Race: true}})
			checkTimesAddUp(t, name, rowsOf(r))
			if !r.OK || len(r.Checks) != checks {
				t.Errorf("%s %v: ok %v after %d checks, want true after %d\n%v %v", name, params, r.OK, len(r.Checks), checks, r.Wrong(), r.Races)
			}
		}
	}
}

// TestParallelParams checks the error messages for invalid parameters.
func TestParallelParams(t *testing.T) {
	numbers := func(text string) string {
		return fmt.Sprintf("%q: write whole numbers from 1 to 1024, each once, with commas between them", text)
	}
	for _, c := range []struct{ bench, name, value, other, otherValue, want string }{
		{"tp_mlp", "tp", "0", "", "", "--tp: " + numbers("0")},
		{"tp_mlp", "tp", "2,x", "", "", "--tp: " + numbers("2,x")},
		{"tp_mlp", "overlap", "0", "", "", "--overlap: " + numbers("0")},
		{"tp_mlp", "overlap", "1,1", "", "", "--overlap: " + numbers("1,1")},
		{"tp_mlp", "dtype", "i32", "", "", `--dtype: "i32": write one of f16, bf16, f32`},
		{"tp_mlp", "tp", "1,3", "", "", "--tp: 2048 features of the MLP do not divide by 3 ranks"},
		{"tp_mlp", "overlap", "513", "", "", "--overlap: 513 pieces of 512 columns"},
		{"tp_mlp", "algo", "round", "", "", "--algo: no algorithm \"round\": there are auto, ccl.yaml, " + strings.Join(ccl.Names(), ", ")},
		{"tp_mlp", "tokens", "0", "", "", `--tokens: "0": write a whole number from 1 to 131072`},
		{"tp_mlp", "hidden", "-4", "", "", `--hidden: "-4": write a whole number from 1 to 131072`},
		{"tp_mlp", "tokens", "10", "sequence-parallel", "on", "--tokens: 10 tokens do not divide by 4 ranks"},
		{"gpt3_qkv", "tp", "1,1", "", "", "--tp: " + numbers("1,1")},
		{"gpt3_qkv", "tp", "5", "", "", "--tp: 2304 columns of the projection do not divide by 5 ranks"},
		{"transformer_block", "tp", "0", "", "", "--tp: " + numbers("0")},
		{"transformer_block", "tp", "3", "", "", "--tp: 8 KV heads do not divide by 3 ranks"},
		{"transformer_block", "overlap", "0", "", "", "--overlap: " + numbers("0")},
		{"transformer_block", "overlap", "300", "", "", "--overlap: 300 pieces of 256 columns"},
		{"transformer_block", "tokens", "10", "sequence-parallel", "on", "--tokens: 10 tokens do not divide by 8 ranks"},
	} {
		b, _ := bench.Find(c.bench)
		params := map[string]string{c.name: c.value}
		if c.other != "" {
			params[c.other] = c.otherValue
		}
		_, err := b.Execute(t.Context(), bench.Options{Params: params, Options: torch.Options{NoData: true}})
		var wrong *bench.ParamError
		if !errors.As(err, &wrong) || wrong.Name != c.name || wrong.Error() != c.want {
			t.Errorf("%s %v:\ngot  %v\nwant %s", c.bench, params, err, c.want)
		}
	}
}

// TestTooManyValues checks the error for a run that would take hours to compute values. The
// error must suggest a run without values.
func TestTooManyValues(t *testing.T) {
	b, _ := bench.Find("transformer_block")
	_, err := b.Execute(t.Context(), bench.Options{Params: map[string]string{"shape": "llama-70b", "tokens": "512"}})
	want := "--tokens: 4e+11 products of numbers are too many to compute and check: take fewer tokens, or find out times only with --data=off"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestCheckSameBits checks that a different bit on any rank is reported.
func TestCheckSameBits(t *testing.T) {
	array := func(bits ...byte) *torch.Array {
		return &torch.Array{Shape: torch.Shape{len(bits) / 2}, DType: torch.F16, Bytes: bits}
	}
	for _, c := range []struct {
		last byte
		want string
	}{{4, ""}, {5, "rank 2 has other bits than rank 0"}} {
		r := runInBench(t, func(b *bench.B) error {
			checkSameBits(b, "alike", []*torch.Array{array(1, 2, 3, 4), array(1, 2, 3, 4), array(1, 2, 3, c.last)})
			return nil
		})
		if got, want := r.Checks[0], (torch.Check{Name: "alike", Elems: 6, Wrong: c.want}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
