package benches

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

var milestoneCCL = milestone{"milestone-1h-ccl", []string{"summary.csv", "buffer_kind.csv"}}

func init() {
	bench.Register(bench.Bench{
		Name:    milestoneCCL.name,
		Uses:    bench.UsesCollectives,
		Summary: "every figure of the center_root all-reduce over 6 SIPs: sizes by topology, and memories of queue slots",
		Doc: `All-reduce by center_root of f16 tensors that have an addend on the first PE of each
cube, of 6 SIPs with 4×4 cubes each, every rank a SIP, in two sweeps: 12 sizes on a
ring_1d of 6, a torus_2d of 2×3 and a mesh_2d_no_wrap of 2×3; and 4 sizes with queue
slots in TCM, SRAM and HBM on a torus_2d of 3×2. All other numbers, of links, cubes and
PEs, are from --topology and --set, --ccl and --set ccl.…

Every point is a machine of its own, all cores run points, and all 96 results of a
point are compared bit for bit. That latency never falls as elements become more, and
that no point takes less than bound_ns, which no algorithm does, are checks as well.

latency_ns is the longest that the all-reduce ran on a PE; n_elem is the elements of an
addend. wrong is the SIPs with a wrong result.

The folder then has summary.csv and buffer_kind.csv, all figures as SVG and PNG,
report.html with everything on one page, and points.jsonl, with which --resume takes
over what is there.`,
		Params: []bench.Param{
			{Name: "max-elems", Usage: "leave out sizes of more elements than this", Default: "49152"},
		},
		Folder: "1H_milestone_output/ccl",
		Files:  []string{"points.jsonl", "summary.csv", "buffer_kind.csv", "*.svg", "*.png", "topology.yaml", "ccl.yaml", "report.html"},
		Row:    cclColumns{}, Metrics: cclMetrics{},
		Run: runMilestoneCCL,
	})
}

type cclColumns struct {
	Sweep      string              `json:"sweep" table:",setting"`
	Shape      topology.Shape      `json:"sip_topology" table:",setting"`
	SIPs       string              `json:"sips" table:",setting,SIPs"`
	BufferKind topology.BufferKind `json:"buffer_kind" table:",setting"`
	Elems      int                 `json:"n_elem" table:",setting,elements"`
	Bytes      int                 `json:"bytes_per_pe" table:"B,setting"`
	Latency    torch.Time          `json:"latency_ns" table:"ns,lower"`
	Bound      torch.Time          `json:"bound_ns" table:"ns,bound"`
	Wrong      *int                `json:"wrong" table:",check"`
}

type cclMetrics struct {
	Points int      `json:"points" table:",setting"`
	Least  *float64 `json:"least_over_bound" table:",lower"`
	Most   *float64 `json:"most_over_bound" table:",lower"`
}

func runMilestoneCCL(ctx *bench.B) error {
	most, err := strconv.Atoi(ctx.Param("max-elems"))
	if err != nil || most < bufferElems[0] {
		return &bench.ParamError{Name: "max-elems", Err: fmt.Errorf("%q: write a whole number, %d or more", ctx.Param("max-elems"), bufferElems[0])}
	}
	m, err := newCCLMilestone(ctx, most)
	if err != nil {
		return err
	}
	if err := m.run(ctx); err != nil {
		return err
	}
	m.report(ctx)
	if err := m.writeTables(ctx); err != nil {
		return err
	}
	if m.timeless() {
		ctx.Notef("no figures: there are points that take no time, or could")
		return nil
	}
	return m.writePage(ctx)
}

// timeless reports whether a latency or a bound is 0, as in a system whose links are free:
// there is nothing to compare with, and no place on an axis.
func (m *cclMilestone) timeless() bool {
	return slices.ContainsFunc(m.points, func(p cclPoint) bool { return min(p.row.Latency, p.row.Bound) <= 0 })
}

// report tells what the points found out, and checks it.
func (m *cclMilestone) report(ctx *bench.B) {
	for _, a := range m.arrangements() {
		ctx.Notef("%v with 4×4 cubes each (hash %s)", a, m.systems[a].Spec().Hash())
	}
	for _, p := range m.points {
		ctx.Row(cclColumns{p.sweep, p.at.shape, p.at.size(), p.kind, p.elems, p.row.BytesPerPE, p.row.Latency, p.row.Bound, p.row.Wrong})
		ctx.Found(p.row.Crit, p.row.Races)
	}
	for _, c := range m.checks() {
		ctx.AddCheck(c)
	}
	metrics := cclMetrics{Points: len(m.points)}
	if !m.timeless() {
		least, most := math.Inf(1), 0.0
		for _, p := range m.points {
			least, most = min(least, p.overBound()), max(most, p.overBound())
		}
		metrics.Least, metrics.Most = new(math.Round(1000*least)/1000), new(math.Round(1000*most)/1000)
	}
	ctx.Metrics(metrics)
}
