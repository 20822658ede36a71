package benches

import (
	"math"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/compare"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "center_root_buffers",
		Uses:    bench.UsesCollectives,
		Summary: "center_root all-reduce over 6 SIPs by memory of the queue slots, beside published figures",
		Doc: `All-reduce by center_root of f16 tensors that have an addend on the first PE of each
cube, with queue slots in TCM, SRAM and HBM, on a torus_2d of 3×2 SIPs with 4×4 cubes
each. All 96 results of a point are compared bit for bit.

The system is the torus, with all other numbers, of links, cubes and PEs, from
--topology and --set: one that is no such torus is the numbers only, and the bench
makes a machine of its own. --log has no operations of that.

latency_ns is the longest that the all-reduce ran on a PE. reference_ns is what
another simulator says of its own machine (kernbench compare --reference tells of it), a
point of comparison and not a truth to hit; ratio is latency_ns of that. No
algorithm takes less than bound_ns.`,
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

func runCenterRoot(b *bench.B) error {
	published := torch.Must(compare.GetReference("torus6_buffer_kind"))
	g := torch.Must(arranged(b.Topology(), torus3x2))
	b.Notef("%v with 4×4 cubes each (hash %s)", torus3x2, g.Spec().Hash())
	run := func(on *bench.B) error {
		for i := range published.Table.Rows {
			kind, elems := topology.BufferKind(published.Text(i, "buffer_kind")), int(published.Number(i, "n_elem"))
			if only := b.Param("elems"); only != "all" && only != strconv.Itoa(elems) {
				continue
			}
			torch.OK(centerRootAllReduce(on.Context, kind, elems))
			latency, reference := on.Collective.Crit, torch.Time(math.Round(published.Number(i, "latency_ns")*1e6))
			on.Row(centerRootRow{
				BufferKind: kind, Elems: elems, Bytes: elems * torch.F16.Size(),
				Latency: latency, Reference: reference, Ratio: math.Round(1000*float64(latency)/float64(reference)) / 1000,
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
