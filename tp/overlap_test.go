package tp

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// smallTCM are settings of devices with 2 cubes of 2 PEs, whose TCM is too small for the
// rows of some inputs.
var smallTCM = []string{"sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.corners=2", "cube.pe_layout.pe_per_corner=1", "pe.tcm.size=192 KiB", "pe.ipcq.buffer_kind=sram"}

// overlapCase is a test case: a row-parallel layer with Overlap whose operands are
// integers.
type overlapCase struct {
	ranks, rows, in, out int
	o                    Options
	on                   torch.DPPolicy // placement of x
	kept, owned          int            // number of ranks that keep their rows of x in TCM, and in memory
}

// TestOverlap checks that row-parallel layers with random numbers of pieces are exact, with
// random placements of weights and results. The cases include PEs that keep their rows of
// the input in TCM, PEs that copy the rows to memory, PEs without rows, and shards of the
// result that other PEs compute.
func TestOverlap(t *testing.T) {
	kept, owned := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
		policy := func(name string) torch.DPPolicy {
			split := func(level string) torch.Split { return torch.Split(n(name+level, 0, int(torch.RowWise))) }
			return torch.DPPolicy{Cube: split(" cube"), PE: split(" PE"), NumCubes: n(name+" cubes", 0, 2), NumPEs: n(name+" PEs", 0, 2)}
		}
		ranks, weight, output := n("ranks", 2, 3), policy("weight"), policy("output")
		c := overlapCase{ranks: ranks, rows: n("rows", 1, 20) * ranks, in: n("in", 1, 20) * ranks, out: n("out", 2, 40), on: policy("x")}
		if n("large", 0, 7) == 0 {
			c.rows, c.in = c.rows+150/ranks*ranks, c.in+150*ranks
		}
		c.o = Options{
			Overlap: n("pieces", 2, min(6, c.out)), Weight: &weight,
			Bias: rapid.Bool().Draw(t, "bias"), SequenceParallel: rapid.Bool().Draw(t, "sequence"),
		}
		if rapid.Bool().Draw(t, "elsewhere") {
			c.o.Output = &output
		}
		c.run(t)
		kept, owned = kept+c.kept, owned+c.owned
	})
	if kept == 0 || owned == 0 {
		t.Errorf("ranks kept their rows in TCM %d times and in memory %d times, want both", kept, owned)
	}
}

// TestOverlapUnevenPieces checks a layer whose last piece is narrower than the others. The
// last piece would leave space for larger tiles of x, but must use the tiles that the other
// pieces have kept. The test also checks a layer in which each PE has a single column. Such
// a layer has one piece.
func TestOverlapUnevenPieces(t *testing.T) {
	alone := torch.DPPolicy{NumCubes: 1, NumPEs: 1}
	c := overlapCase{ranks: 2, rows: 24, in: 600, out: 15, o: Options{Overlap: 2, Weight: &alone}, on: alone}
	if c.run(t); c.kept != 2 {
		t.Errorf("%d ranks kept their rows in TCM, want both", c.kept)
	}
	columns := torch.DPPolicy{Cube: torch.ColumnWise, PE: torch.ColumnWise}
	c = overlapCase{ranks: 2, rows: 6, in: 8, out: 2, o: Options{Overlap: 2, Weight: &columns, SequenceParallel: true}, on: Spread}
	c.run(t)
}

// run runs the layer of the test case and checks its result. It also checks that there are
// no races and that all memory is freed. It adds to c.kept the number of ranks whose PEs
// keep their rows of the input in TCM, and to c.owned the number of the other ranks, whose
// PEs keep these rows in memory.
func (c *overlapCase) run(t rapid.TB) {
	t.Helper()
	c.o.DType, c.o.InputIsParallel = torch.F32, true
	x, w := integers(c.rows*c.in, 3), integers(c.in*c.out, 5)
	var bias []float32
	if c.o.Bias {
		bias = integers(c.out, 7)
	}
	want := multiply(x, w, bias, c.rows, c.in, c.out)
	r := newContext(t, c.ranks, smallTCM)
	defer r.Close()
	err := r.Spawn(func(r *torch.Rank) error {
		rank := r.Rank()
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		torch.OK(InitializeModelParallel(r, c.ranks, 1, 1, 1, ""))
		l := torch.Must(NewRowParallelLinear(r, "fc2", c.in, c.out, c.o))
		torch.OK(l.Load(w, bias))
		width := c.in / c.ranks
		mine := torch.Must(r.FromSlice(boxElements(x, c.in, 0, rank*width, c.rows, width), torch.F32, torch.Shape{c.rows, width}, c.on))
		p := product{x: stack{mine}.blocks().factor(), w: stack(l.Weight[:1]).blocks().factor()}
		torch.OK(p.prepareReuse(r, *c.o.Weight, resultBoxes(r, *c.o.Weight, c.rows, c.out), tcmBytes(r)*3/4))
		if p.keepX {
			c.kept++
		} else {
			c.owned++
			torch.OK(p.localX.Free())
		}
		y, _, err := l.Forward(mine)
		torch.OK(err)
		part := want
		if c.o.SequenceParallel {
			part = want[rank*len(want)/c.ranks : (rank+1)*len(want)/c.ranks]
		}
		torch.OK(r.Check(fmt.Sprintf("rank %d", rank), y, part))
		return errors.Join(mine.Free(), y.Free(), l.Free())
	}, c.ranks)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range r.Checks() {
		if check.Wrong != "" {
			t.Errorf("%s: %s", check.Name, check.Wrong)
		}
	}
	if races, err := r.Races(); len(races) > 0 || err != nil {
		t.Errorf("races %q, error %v, want none", races, err)
	}
	if n := usedHBM(r); n > 0 {
		t.Errorf("%v are not freed", n)
	}
}

// TestOverlapNeedsQueues checks that a layer with Overlap cannot be created if the
// collective algorithm of its group needs inboxes. Other algorithms and auto are accepted.
func TestOverlapNeedsQueues(t *testing.T) {
	const refused = "RowParallelLinear down: Overlap: messages that overlap with a kernel go through queues: direct needs 4 ports, and pe.ipcq.max_ports is 3; " +
		"use fewer ranks, or raise pe.ipcq.max_ports, or choose an algorithm for %s that needs no more: %s"
	r := newSystem(t, 5, "pe.ipcq.max_ports=3", "sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.corners=2", "cube.pe_layout.pe_per_corner=1")
	for algorithm, want := range map[string][2]string{
		"direct": {fmt.Sprintf(refused, "all_reduce", "bidirectional_ring, center_root, dual_mesh, mesh, ring, torus, tree"),
			fmt.Sprintf(refused, "reduce_scatter", "bidirectional_ring, dual_mesh, mesh, ring, torus")},
		"ring": {}, "auto": {}, "chain": {}, // chain cannot all-reduce, so the default algorithm does
	} {
		err := r.Spawn(func(r *torch.Rank) error {
			torch.OK(dist.InitProcessGroup(r, "ahbm", dist.Algorithm(algorithm)))
			torch.OK(InitializeModelParallel(r, 5, 1, 1, 1, ""))
			for i, sequence := range []bool{false, true} {
				o := Options{InputIsParallel: true, SequenceParallel: sequence, Overlap: 2}
				_, err := NewRowParallelLinear(r, "down", 10, 8, o)
				if err == nil && want[i] != "" || err != nil && err.Error() != want[i] {
					t.Errorf("%s, sequence parallel %v:\ngot  %v\nwant %s", algorithm, sequence, err, want[i])
				}
				o.Overlap = 1
				torch.Must(NewRowParallelLinear(r, "down", 10, 8, o))
			}
			return nil
		}, 5)
		if err != nil {
			t.Fatal(err)
		}
	}
}
