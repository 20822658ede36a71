package builtin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// compilePreset returns the system of a preset.
func compilePreset(t *testing.T, preset string) *topology.Graph {
	t.Helper()
	spec, err := topology.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// execute runs the bench with the given name. A bench that writes files writes them to a
// temporary folder, unless the options name a folder.
func execute(t *testing.T, name string, o bench.Options) *bench.Result {
	t.Helper()
	b, ok := bench.Find(name)
	if !ok {
		t.Fatalf("no bench %s", name)
	}
	if b.Folder != "" && o.Folder == "" {
		o.Folder = t.TempDir()
	}
	r, err := b.Execute(t.Context(), o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// names are the names of all built-in benches. A bench that is no longer registered makes a
// test fail.
var names = []string{"attention_decode", "attention_prefill", "ccl_all_reduce", "center_root_buffers", "coll", "data_parallel", "gemm_single_pe", "gpt3_qkv", "hello_send", "matmul_composite", "milestone-1h-ccl", "milestone-1h-gemm", "pe2pe", "qkv_gemm", "task_chain", "task_fanout", "task_stencil", "tp_mlp", "transformer_block", "treduce_tasks"}

// quickParams are the parameters of short runs, for benches that otherwise take long.
var quickParams = map[string]map[string]string{
	"ccl_all_reduce": {"ranks-per": "sip"}, "center_root_buffers": {"elems": "128"},
	"gpt3_qkv": {"tp": "2", "tokens": "16", "divide": "32"}, "tp_mlp": {"tp": "2", "tokens": "16", "hidden": "64", "ffn": "128"},
	"milestone-1h-ccl": {"max-elems": "128"}, "milestone-1h-gemm": {"sizes": "few"}, "transformer_block": {"tp": "2", "tokens": "8"},
}

// TestRegistered checks that exactly the benches in names are registered, and that each has
// a Doc.
func TestRegistered(t *testing.T) {
	var got []string
	for _, b := range bench.All() {
		got = append(got, b.Name)
		if b.Doc == "" {
			t.Errorf("%s has no Doc", b.Name)
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("benches: got %v, want %v", got, names)
	}
}

// TestValues runs every bench on every preset, except for combinations that take long. It
// checks that the bench compares values, that all values are right and that there are no
// races.
func TestValues(t *testing.T) {
	for _, preset := range topology.Presets() {
		g := compilePreset(t, preset)
		for _, name := range names {
			if name == "data_parallel" && (preset == "mesh2x3" || preset == "torus2x3") {
				continue // the bench takes long, and ring6 has the same number of ranks
			}
			if b, _ := bench.Find(name); b.Folder != "" && preset != "default" {
				continue // the bench takes long, and builds its own systems or uses part of this one
			}
			r := execute(t, name, bench.Options{Params: quickParams[name], Options: torch.Options{Topology: g, Race: true}})
			if !r.OK || len(r.Checks) == 0 {
				t.Errorf("%s on %s: ok %v after %d checks, want true after some\n%v %v", name, preset, r.OK, len(r.Checks), r.Wrong(), r.Races)
			}
		}
	}
}

// TestTimesWithoutValues checks that a run without the data phase has the same times as a
// run with values. It leaves out the copies of a model's weights and the reads of checks,
// because only a run with values makes them. It also leaves out the columns that need
// values or an op log.
func TestTimesWithoutValues(t *testing.T) {
	for _, name := range names {
		with, without := execute(t, name, bench.Options{Params: quickParams[name]}), execute(t, name, bench.Options{Params: quickParams[name], Options: torch.Options{NoData: true}})
		for i, c := range with.Rows.Columns {
			switch c.Name {
			case "step":
				copies := func(row []any) bool { return slices.Contains([]any{"before", "after", "makespan"}, row[i]) }
				with.Rows.Rows, without.Rows.Rows = slices.DeleteFunc(with.Rows.Rows, copies), slices.DeleteFunc(without.Rows.Rows, copies)
			case "composite_window_ns", "gemm_count", "wrong":
				for _, row := range with.Rows.Rows {
					row[i] = nil // needs the op log or values
				}
			}
		}
		if with.Crit != without.Crit {
			t.Errorf("%s: crit_ns with values %v, without %v", name, with.Crit, without.Crit)
		}
		if diff := cmp.Diff([]any{with.Metrics, with.Rows}, []any{without.Metrics, without.Rows}); diff != "" {
			t.Errorf("%s: metrics and rows (-with values +without):\n%s", name, diff)
		}
	}
}

// rowsOf returns the rows of a result.
func rowsOf(r *bench.Result) (rows []table.Record) {
	for i := range r.Rows.Rows {
		rows = append(rows, r.Rows.Record(i))
	}
	return rows
}

// value returns the cell of a row in the column with the given name. It fails the test if
// the cell is null or cannot be converted to T.
func value[T any](t *testing.T, row table.Record, name string) (v T) {
	t.Helper()
	text, err := json.Marshal(row.Get(name))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || string(text) == "null" {
		t.Fatalf("%s of %v is %s, want a %T (%v)", name, row, text, v, err)
	}
	return v
}

// runInBench runs `run` as a bench and returns the result of the bench.
func runInBench(t *testing.T, run func(b *bench.B) error) *bench.Result {
	t.Helper()
	r, err := bench.Bench{Run: run}.Execute(t.Context(), bench.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSchema checks that every column of every bench has a role, and that a column whose
// name ends in _ns has the unit ns.
func TestSchema(t *testing.T) {
	for _, b := range bench.All() {
		for member, columns := range b.Schema() {
			for _, c := range columns {
				if want := map[bool]table.Unit{true: "ns"}[strings.HasSuffix(c.Name, "_ns")]; c.Role == "" || want != "" && c.Unit != want {
					t.Errorf("%s: column %s of %s has the role %q and the unit %q", b.Name, c.Name, member, c.Role, c.Unit)
				}
			}
		}
	}
}

// TestPE2PE checks that latency rises with bytes in every column, and with hops in every
// column except sram_ns, because the SRAM has a fixed place in the cube. It also checks
// that slots in TCM are the fastest.
func TestPE2PE(t *testing.T) {
	rows := rowsOf(execute(t, "pe2pe", bench.Options{Options: torch.Options{NoData: true}}))
	if len(rows) != 20 {
		t.Fatalf("%d rows, want 4 distances of 5 sizes", len(rows))
	}
	for _, column := range []string{"tcm_ns", "sram_ns", "hbm_ns", "put_ns"} {
		for i, row := range rows {
			now := value[torch.Time](t, row, column)
			if i%5 > 0 {
				if smaller := value[torch.Time](t, rows[i-1], column); smaller >= now {
					t.Errorf("row %d: %s is %v with %d bytes, want more than the %v of fewer bytes", i, column, now, value[int](t, row, "bytes"), smaller)
				}
			}
			if i >= 5 && column != "sram_ns" {
				if nearer := value[torch.Time](t, rows[i-5], column); nearer >= now || value[int](t, rows[i-5], "hops") >= value[int](t, row, "hops") {
					t.Errorf("row %d: %s is %v over %d hops, want more than the %v over fewer hops", i, column, now, value[int](t, row, "hops"), nearer)
				}
			}
			if tcm := value[torch.Time](t, row, "tcm_ns"); tcm > now {
				t.Errorf("row %d: tcm_ns is %v, want at most the %v of %s", i, tcm, now, column)
			}
		}
	}
}

// TestMatmulComposite runs the product with loaded and with streamed operands. It checks
// the number of tile products, that the busy times of the GEMM engine and of DMA reads
// equal their formulas, and that the composite lasts at least as long as its GEMMs and at
// most as long as the launch.
func TestMatmulComposite(t *testing.T) {
	rows := rowsOf(execute(t, "matmul_composite", bench.Options{}))
	if len(rows) != 3 {
		t.Fatalf("%d rows, want 3", len(rows))
	}
	const ns = 1e6 // fs
	for _, row := range rows {
		operands := value[string](t, row, "operands")
		// K of 3072 in tiles of 64; each 2·4·2 cycles of 16×16×16 and 8 to fill.
		if got := value[int](t, row, "gemm_count"); got != 48 {
			t.Errorf("%s: gemm_count %d, want 48", operands, got)
		}
		gemm := value[torch.Time](t, row, "gemm_ns")
		if want := torch.Time(48 * (16 + 8) * ns); gemm != want {
			t.Errorf("%s: gemm_ns %v, want %v", operands, gemm, want)
		}
		// Both operands are read once, by Load or by the composite: 2·192 KiB at 256 GB/s.
		if got, want := value[torch.Time](t, row, "dma_read_ns"), torch.Time(1536*ns); got != want {
			t.Errorf("%s: dma_read_ns %v, want %v", operands, got, want)
		}
		window := value[torch.Time](t, row, "composite_window_ns")
		if crit := value[torch.Time](t, row, "crit_ns"); window < gemm || window > crit {
			t.Errorf("%s: window %v, want between gemm_ns %v and crit_ns %v", operands, window, gemm, crit)
		}
	}
}
