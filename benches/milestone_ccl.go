package benches

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
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
		Run:    runMilestoneCCL,
	})
}

func runMilestoneCCL(ctx *torch.Context) error {
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
func (m *cclMilestone) report(ctx *torch.Context) {
	for _, a := range m.arrangements() {
		ctx.Notef("%v with 4×4 cubes each (hash %s)", a, m.systems[a].Spec().Hash())
	}
	for _, p := range m.points {
		ctx.Row(
			torch.Col("sweep", p.sweep),
			torch.Col("sip_topology", string(p.at.shape)),
			torch.Col("sips", p.at.size()),
			torch.Col("buffer_kind", string(p.kind)),
			torch.Col("n_elem", p.elems),
			torch.Col("bytes_per_pe", p.row.BytesPerPE),
			torch.Col("latency_ns", p.row.Latency),
			torch.Col("bound_ns", p.row.Bound),
			torch.Col("wrong", p.row.wrong()),
		)
		ctx.Report.Crit = max(ctx.Report.Crit, torch.Time(p.row.Crit))
		for _, r := range p.row.Races {
			ctx.AddRace(r)
		}
	}
	ctx.Report.Checks = append(ctx.Report.Checks, m.checks()...)
	ctx.Collective = torch.Collective{Name: ccl.AllReduce.String(), Algorithm: ccl.CenterRoot.Name}
	ctx.Metric("points", len(m.points))
	if m.timeless() {
		return
	}
	least, most := math.Inf(1), 0.0
	for _, p := range m.points {
		least, most = min(least, p.overBound()), max(most, p.overBound())
	}
	ctx.Metric("least_over_bound", math.Round(1000*least)/1000)
	ctx.Metric("most_over_bound", math.Round(1000*most)/1000)
}
