package benches

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "center_root_buffers",
		Summary: "center_root all-reduce over 6 SIPs by memory of the queue slots, beside published figures",
		Doc: `All-reduce by center_root of f16 tensors that have an addend on the first PE of each
cube, with queue slots in TCM, SRAM and HBM, on a torus_2d of 3×2 SIPs with 4×4 cubes
each. All 96 results of a point are compared bit for bit.

The system is the torus, with all other numbers, of links, cubes and PEs, from
--topology and --set: one that is no such torus is the numbers only, and the bench
makes a machine of its own. --log has no operations of that.

latency_ns is the longest that the all-reduce ran on a PE. reference_ns is what
another simulator says of its own machine (benches/center_root_reference.csv), a
point of comparison and not a truth to hit; ratio is latency_ns of that. No
algorithm takes less than bound_ns.`,
		Params: []bench.Param{
			{Name: "elems", Usage: "elements of an addend", Default: "all", Values: []string{"all", "128", "1024", "8192", "32768"}},
		},
		Run: runCenterRoot,
	})
}

//go:embed center_root_reference.csv
var centerRootReference []byte

// published is a figure of the reference.
type published struct {
	kind    topology.BufferKind
	elems   int
	latency torch.Time
}

// centerRootFigures is the figures of the reference, in its order.
func centerRootFigures() (list []published, err error) {
	r := csv.NewReader(bytes.NewReader(centerRootReference))
	r.Comment = '#'
	records, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	for _, record := range records[1:] { // behind the heads of columns
		n, err := strconv.Atoi(record[1])
		if err != nil {
			return nil, err
		}
		ns, err := strconv.ParseFloat(record[3], 64)
		if err != nil {
			return nil, err
		}
		list = append(list, published{topology.BufferKind(record[0]), n, torch.Time(math.Round(ns * 1e6))})
	}
	return list, nil
}

func runCenterRoot(ctx *torch.Context) error {
	figures, err := centerRootFigures()
	if err != nil {
		return err
	}
	g, err := centerRootSystem(ctx.Topology())
	if err != nil {
		return err
	}
	ctx.Notef("torus_2d of 3×2 SIPs with 4×4 cubes each (hash %s)", g.Spec().Hash())
	return elsewhere(ctx, g, true, func(on *torch.Context) error {
		for _, f := range figures {
			if only := ctx.Param("elems"); only != "all" && only != strconv.Itoa(f.elems) {
				continue
			}
			if err := centerRootAllReduce(on, f); err != nil {
				return fmt.Errorf("slots in %s, %d elements: %w", f.kind, f.elems, err)
			}
			latency, bound := on.Collective.Crit, centerRootBound(on, f.elems)
			ctx.Row(
				torch.Col("buffer_kind", string(f.kind)),
				torch.Col("n_elem", f.elems),
				torch.Col("bytes_per_pe", f.elems*torch.F16.Size()),
				torch.Col("latency_ns", latency),
				torch.Col("reference_ns", f.latency),
				torch.Col("ratio", math.Round(1000*float64(latency)/float64(f.latency))/1000),
				torch.Col("bound_ns", bound),
			)
		}
		return nil
	})
}

// centerRootSystem is a system with its SIPs and cubes as the reference has them: the
// same if it has them so.
func centerRootSystem(g *topology.Graph) (*topology.Graph, error) {
	spec := *g.Spec()
	sips, cubes := &spec.System.SIPs, &spec.SIP.CubeMesh
	sips.Count, sips.Topology, sips.W, sips.H = 6, topology.Torus2D, 3, 2
	cubes.W, cubes.H = 4, 4
	if spec.Equal(g.Spec()) {
		return g, nil
	}
	torus, err := topology.Compile(&spec)
	if err != nil {
		return nil, fmt.Errorf("as a torus_2d of 3×2 SIPs with 4×4 cubes: %w", err)
	}
	return torus, nil
}

// centerRootAllReduce sums the addends of all SIPs, each of which is a rank.
func centerRootAllReduce(ctx *torch.Context, f published) error {
	s, err := ctx.CCL().Named("")
	if err != nil {
		return err
	}
	s.Algorithm, s.BufferKind = ccl.CenterRoot.Name, f.kind
	sips, cubes := ctx.Topology().Spec().System.SIPs.Count, ctx.Topology().Spec().CubesPerSIP()
	want := make([]int, f.elems)
	for a := range sips * cubes {
		for i := range want {
			want[i] += addend(a, i)
		}
	}
	return ctx.Spawn(func(rank int, ctx *torch.Context) error {
		dist := ctx.Distributed()
		torch.OK(dist.InitProcessGroup(torch.Backend, torch.Settings(s)))
		var data, pes []int
		for cube := range cubes {
			pes = append(pes, ctx.PE(rank, cube, 0))
			for i := range f.elems {
				data = append(data, addend(rank*cubes+cube, i))
			}
		}
		// A host writes the sum of addends, not each: that is for their PEs to do.
		parts := torch.Must(ctx.FromSlice(data, torch.F16, torch.Shape{len(data)}, torch.On(pes...)))
		x := torch.Must(ctx.Empty(torch.F16, torch.Shape{f.elems}, torch.DPPolicy{Cube: torch.Partial, NumPEs: 1}))
		torch.Must(ctx.Launch("copy", func(t *tl.PE, to, from tl.Ptr) {
			t.Store(to, t.Load(from, tl.Shape{f.elems}, tl.F16))
		}, x, parts))
		torch.OK(dist.AllReduce(x, torch.SUM))
		torch.OK(ctx.Synchronize()) // also without values: slots in HBM lie behind parts
		torch.OK(ctx.Check(fmt.Sprintf("%d elements on SIP %d, slots in %s", f.elems, rank, f.kind), x, want))
		torch.OK(parts.Free())
		torch.OK(x.Free())
		return dist.DestroyProcessGroup()
	}, sips)
}

// addend is element i of an addend: of 96 such f16 holds every sum exactly.
func addend(a, i int) int { return (i*(a+3) + i/2039) % 22 }

// centerRootBound is a time that no algorithm beats.
func centerRootBound(ctx *torch.Context, elems int) torch.Time {
	spec := ctx.Topology().Spec()
	var pes []int
	for sip := range spec.System.SIPs.Count {
		for cube := range spec.CubesPerSIP() {
			pes = append(pes, ctx.PE(sip, cube, 0))
		}
	}
	plan := ccl.Plan{Collective: ccl.AllReduce, Ranks: len(pes), DType: torch.F16, Counts: []int{elems}}
	return ccl.Bound(ctx.Topology(), pes, &plan).Time
}
