package builtin

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// TestCenterRootRows checks that rows contain the published reference times, that more
// elements take longer, that slots in TCM are the fastest, and that no latency is below the
// bound.
func TestCenterRootRows(t *testing.T) {
	rows := rowsOf(execute(t, "center_root_buffers", bench.Options{Options: torch.Options{NoData: true}}))
	if len(rows) != 12 {
		t.Fatalf("%d rows, want 3 memories of 4 sizes", len(rows))
	}
	for i, want := range map[int]centerRootRow{
		0:  {BufferKind: topology.BufferTCM, Elems: 128, Reference: 1_678_040_000},
		11: {BufferKind: topology.BufferHBM, Elems: 32768, Reference: 21_361_040_000},
	} {
		kind, elems, reference := value[string](t, rows[i], "buffer_kind"), value[int](t, rows[i], "n_elem"), value[torch.Time](t, rows[i], "reference_ns")
		if kind != string(want.BufferKind) || elems != want.Elems || reference != want.Reference {
			t.Errorf("row %d: %s, %d elements, reference %v, want %s, %d, %v", i, kind, elems, reference, want.BufferKind, want.Elems, want.Reference)
		}
	}
	for i, row := range rows {
		now, bound := value[torch.Time](t, row, "latency_ns"), value[torch.Time](t, row, "bound_ns")
		if bound <= 0 || now < bound {
			t.Errorf("row %d: latency %v, bound %v: want a bound, and no less", i, now, bound)
		}
		if i%4 > 0 {
			if fewer := value[torch.Time](t, rows[i-1], "latency_ns"); now <= fewer {
				t.Errorf("row %d: latency %v, want more than the %v of fewer elements", i, now, fewer)
			}
		}
		if tcm := value[torch.Time](t, rows[i%4], "latency_ns"); now < tcm {
			t.Errorf("row %d: latency %v, want at least the %v of slots in TCM", i, now, tcm)
		}
	}
}

// newTorusSystem returns the 3×2 torus that the bench derives from the default system, with
// the settings in `sets` changed.
func newTorusSystem(t *testing.T, sets ...string) *topology.Graph {
	t.Helper()
	spec, err := topology.Load(t.Context(), "torus2x3", append(sets, "system.sips.w=3", "system.sips.h=2")...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestCenterRootSystem checks that the bench uses a given 3×2 torus unchanged and derives
// such a torus from any other system. Both must give the same rows.
func TestCenterRootSystem(t *testing.T) {
	torus := newTorusSystem(t)
	if g, err := arrange(torus, torus3x2); g != torus || err != nil {
		t.Errorf("a torus of 3×2 was replaced, error %v", err)
	}
	g, err := arrange(compilePreset(t, "default"), torus3x2)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := g.Spec().Hash(), torus.Spec().Hash(); got != want {
		t.Errorf("derived from the default system: hash %s, want %s", got, want)
	}
	param := map[string]string{"elems": "1024"}
	own := execute(t, "center_root_buffers", bench.Options{Params: param})
	given := execute(t, "center_root_buffers", bench.Options{Params: param, Options: torch.Options{Topology: torus, Race: true}})
	if diff := cmp.Diff([]any{own.Rows, own.Crit, own.Checks}, []any{given.Rows, given.Crit, given.Checks}); diff != "" || !given.OK {
		t.Errorf("ok %v, rows, critical path and checks (-own machine +given torus):\n%s", given.OK, diff)
	}
	if want := 6; len(own.Checks) != 3*want || own.Checks[0].Elems != 16*1024 {
		t.Errorf("%d checks, the first of %d elements, want %d of %d", len(own.Checks), own.Checks[0].Elems, 3*want, 16*1024)
	}
}

// TestCenterRootOverrides checks the error for an override of a link that the torus does
// not have.
func TestCenterRootOverrides(t *testing.T) {
	spec, err := topology.Parse("my.yaml", []byte(`
extends: default
sip: {cube_mesh: {w: 5}}
overrides: [{link: sip0.cube3.ucie_e->sip0.cube4.ucie_w, latency: 1 ns}]
`))
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := arrange(g, torus3x2); err == nil || !strings.Contains(err.Error(), "as a torus_2d of 3×2 SIPs with 4×4 cubes: ") {
		t.Errorf("an override of a link in a fifth column: got %v", err)
	}
}

// TestAddendsAreExact checks that the sum of all addends is at most 2048, because f16
// represents all whole numbers up to 2048.
func TestAddendsAreExact(t *testing.T) {
	for i := range 49152 {
		sum := 0
		for a := range 96 {
			sum += addend(a, i)
		}
		if sum > 2048 {
			t.Fatalf("element %d: the sum is %d, want at most 2048", i, sum)
		}
	}
}

// TestCenterRootDoc checks the table of docs/use/algorithms.md that shows the effect of
// settings on latencies with 128 and with 32768 elements. It measures each row of the table
// again.
func TestCenterRootDoc(t *testing.T) {
	text, err := os.ReadFile("../../docs/use/algorithms.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| `--set` | ")
	if !found {
		t.Fatal("docs/use/algorithms.md has no table that begins with `--set`")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.SplitN(line, " | ", 2)
		name := strings.TrimPrefix(cells[0], "| ")
		if name == "published" {
			continue
		}
		if got := centerRootLine(t, name); got != cells[1] {
			t.Errorf("docs/use/algorithms.md: the row is not the measured row:\ngot  | %s | %s\nwant %s", name, got, line)
		}
	}
}

// centerRootLine measures the latencies of a row of the table in docs/use/algorithms.md and
// returns its cells. name is the first cell of the row: each setting is in backquotes.
func centerRootLine(t *testing.T, name string) string {
	t.Helper()
	var sets, cclSets []string
	for i, set := range strings.Split(name, "`") {
		if own, isCCL := strings.CutPrefix(set, "ccl."); isCCL {
			cclSets = append(cclSets, own)
		} else if i%2 == 1 {
			sets = append(sets, set)
		}
	}
	config, err := ccl.Parse("ccl.yaml", []byte("extends: default"), cclSets...)
	if err != nil {
		t.Fatal(err)
	}
	g := newTorusSystem(t, sets...)
	var cells strings.Builder
	for _, elems := range []string{"128", "32768"} {
		r := execute(t, "center_root_buffers", bench.Options{Params: map[string]string{"elems": elems}, Options: torch.Options{Topology: g, CCL: config, NoData: true}})
		for _, row := range rowsOf(r) {
			fmt.Fprintf(&cells, "%.2f | ", value[torch.Time](t, row, "latency_ns").NS()/1000)
		}
	}
	return strings.TrimSuffix(cells.String(), " ")
}
