package builtin

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/bound"
	"github.com/kernbench/kernbench/internal/compare"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "center_root_buffers",
		Uses:    bench.UsesCollectives,
		Summary: "center_root all-reduce over 6 SIPs by memory of queue slots, with published times",
		Doc: `center_root all-reduce of f16 tensors with an addend on the first PE of each
cube, with queue slots in TCM, SRAM and HBM, on a torus_2d of 3×2 SIPs with 4×4
cubes each. All 96 results of a point are compared bit for bit.

The numbers of links, cubes and PEs come from --topology and --set. If that
machine is no such torus, the bench builds one with these numbers, and --log has
none of its operations.

latency_ns is the longest time of the all-reduce on a PE. reference_ns is the
time that another simulator reports for its own machine (kernbench compare
--reference describes it), for comparison only; ratio is latency_ns divided by
reference_ns. No algorithm takes less than bound_ns.`,
		Params: []bench.Param{
			{Name: "elems", Usage: "elements of an addend", Default: "all", Values: []string{"all", "128", "1024", "8192", "32768"}},
		},
		Row: centerRootRow{},
		Run: runCenterRoot,
	})
}

type centerRootRow struct {
	BufferKind topology.BufferKind `json:"buffer_kind" table:",setting,memory of the queue slots"`
	Elems      int                 `json:"n_elem" table:",setting,elements"`
	Bytes      int                 `json:"bytes_per_pe" table:"B,setting"`
	Latency    torch.Time          `json:"latency_ns" table:"ns,lower"`
	Reference  torch.Time          `json:"reference_ns" table:"ns,bound"`
	Ratio      float64             `json:"ratio" table:",result,latency / reference"`
	Bound      torch.Time          `json:"bound_ns" table:"ns,bound"`
}

// runCenterRoot measures the all-reduce on a 3×2 torus, for each row of the published
// reference that the parameter elems selects. It adds a row with the measured and the
// published latency.
func runCenterRoot(b *bench.B) error {
	published := torch.Must(compare.GetReference("torus6_buffer_kind"))
	g := torch.Must(arrange(b.Topology(), torus3x2))
	b.Notef("%v with 4×4 cubes each (hash %s)", torus3x2, g.Spec().Hash())
	run := func(on *bench.B) error {
		for i := range published.Table.Rows {
			kind, elems := topology.BufferKind(published.Text(i, "buffer_kind")), int(published.Number(i, "n_elem"))
			if only := b.Param("elems"); only != "all" && only != strconv.Itoa(elems) {
				continue
			}
			latency, reference := torch.Must(centerRootAllReduce(on.Context, kind, elems)), torch.Time(math.Round(published.Number(i, "latency_ns")*1e6))
			on.Row(centerRootRow{
				BufferKind: kind, Elems: elems, Bytes: elems * torch.F16.Size(),
				Latency: latency, Reference: reference, Ratio: roundTo(float64(latency)/float64(reference), 3),
				Bound: centerRootBound(on.Context, elems),
			})
		}
		return nil
	}
	if g == b.Topology() {
		return run(b)
	}
	return b.Machine(g, run)
}

// arrangement describes how the SIPs of a system are connected.
type arrangement struct {
	shape topology.Shape
	w, h  int // size of a grid; otherwise the number of SIPs and 1
}

var torus3x2 = arrangement{topology.Torus2D, 3, 2}

// String returns a text such as "torus_2d of 3×2 SIPs".
func (a arrangement) String() string { return fmt.Sprintf("%s of %s SIPs", a.shape, a.size()) }

// size returns a text such as "3×2" for a grid, or the number of SIPs for other shapes.
func (a arrangement) size() string {
	if a.shape.Grid() {
		return fmt.Sprintf("%d×%d", a.w, a.h)
	}
	return fmt.Sprint(a.sips())
}

func (a arrangement) sips() int { return a.w * a.h }

// arrange returns a copy of system g whose SIPs have arrangement a and 4×4 cubes each. If g
// already is such a system, arrange returns g itself.
func arrange(g *topology.Graph, a arrangement) (*topology.Graph, error) {
	spec := *g.Spec()
	sips, cubes := &spec.System.SIPs, &spec.SIP.CubeMesh
	sips.Count, sips.Topology, sips.W, sips.H = a.sips(), a.shape, 0, 0
	if a.shape.Grid() {
		sips.W, sips.H = a.w, a.h
	}
	cubes.W, cubes.H = 4, 4
	if spec.Hash() == g.Spec().Hash() {
		return g, nil
	}
	other, err := topology.Compile(&spec)
	if err != nil {
		return nil, fmt.Errorf("as a %v with 4×4 cubes: %w", a, err)
	}
	return other, nil
}

// centerRootAllReduce sums addends over all SIPs, checks the sum on every SIP, and returns
// how long the all-reduce took. Every SIP is a rank and has an addend on the first PE of
// each of its cubes. kind is the memory of the queue slots.
func centerRootAllReduce(c *torch.Context, kind topology.BufferKind, elems int) (took torch.Time, err error) {
	s := torch.Must(c.CCL().Named(""))
	s.Algorithm, s.BufferKind = ccl.CenterRoot.Name, kind
	sips, cubes := c.Topology().Spec().System.SIPs.Count, c.Topology().Spec().CubesPerSIP()
	want := make([]int, elems)
	for a := range sips * cubes {
		for i := range want {
			want[i] += addend(a, i)
		}
	}
	err = c.Spawn(func(r *torch.Rank) error {
		rank := r.Rank()
		torch.OK(dist.InitProcessGroup(r, dist.Backend, dist.Settings(s)))
		var data, pes []int
		for cube := range cubes {
			pes = append(pes, r.PE(rank, cube, 0))
			for i := range elems {
				data = append(data, addend(rank*cubes+cube, i))
			}
		}
		// The host can write the value of a partial tensor, but not its addends. A kernel
		// on the PEs writes the addends.
		parts := torch.Must(r.FromSlice(data, torch.F16, torch.Shape{len(data)}, torch.On(pes...)))
		x := torch.Must(r.Empty(torch.F16, torch.Shape{elems}, torch.DPPolicy{Cube: torch.Partial, NumPEs: 1}))
		torch.Must(r.Launch("copy", func(t *tl.PE, to, from tl.Ptr) {
			t.Store(to, t.Load(from, tl.Shape{elems}, tl.F16))
		}, x, parts))
		work := torch.Must(dist.AllReduceAsync(r, x, dist.SUM))
		torch.OK(work.Wait()) // also without values: slots in HBM are at addresses after parts
		took = work.Stats().Crit
		torch.OK(r.Check(fmt.Sprintf("%d elements on SIP %d, slots in %s", elems, rank, kind), x, want))
		torch.OK(parts.Free())
		torch.OK(x.Free())
		return dist.DestroyProcessGroup(r)
	}, sips)
	if err != nil {
		return 0, fmt.Errorf("slots in %s, %d elements: %w", kind, elems, err)
	}
	return took, nil
}

// addend returns element i of addend a, a number from 0 to 21. The sum of 96 addends is at
// most 2016, so f16 represents it exactly.
func addend(a, i int) int { return (i*(a+3) + i/2039) % 22 }

// centerRootBound returns a lower bound on the time of the all-reduce that holds for every
// algorithm.
func centerRootBound(c *torch.Context, elems int) torch.Time {
	spec := c.Topology().Spec()
	var pes []int
	for sip := range spec.System.SIPs.Count {
		for cube := range spec.CubesPerSIP() {
			pes = append(pes, c.PE(sip, cube, 0))
		}
	}
	plan := ccl.Plan{Collective: ccl.AllReduce, Ranks: len(pes), DType: torch.F16, Counts: []int{elems}}
	return bound.Compute(c.Topology(), pes, &plan).Time
}
