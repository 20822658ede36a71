package benches

import (
	"errors"
	"slices"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

var milestoneGEMM = milestone{"milestone-1h-gemm", []string{"gemm.csv", "device.csv"}}

func init() {
	bench.Register(bench.Bench{
		Name:    milestoneGEMM.name,
		Uses:    bench.UsesNothing,
		Summary: "every figure of matrix products on one PE and on a device: sizes and ways to give operands, beside the roofline",
		Doc: `Matrix products of f16, M × K by K × N, as composite commands in two sweeps: on one PE,
and cut over all PEs of a SIP, where each cube has rows of the result and each of its PEs
columns, with copies of what it needs in its own HBM. Each product is made in three ways:
ref_ref streams both operands from HBM tile by tile, load_ref has the first in TCM
beforehand, load_load both. Operands that TCM has no room for make no row, and a note says
how many.

Every point is a machine of its own, all cores run points, and every element is compared
bit for bit. That no time is below the roofline is a check as well.

composite_window_ns is from the first data that moves for a composite to the last that is
written, gemm_count the tile products of all PEs; both are from the op log and missing
without one (--data=off). The times of engines are how long those of the PE that ended
last worked; they overlap. gemm_utilization is how much of crit_ns the GEMM engines of all
PEs worked. bytes is what moves between HBM and TCM, intensity_flop_per_byte operations for
each of those, and roofline_ns the theory: the longer of all operations on the MAC arrays
and all bytes through the memories. roofline_share is roofline_ns of crit_ns. The metrics
best_gflops and best_roofline_share of a sweep are the largest of their columns, which may
be of different rows.

The folder then has gemm.csv and device.csv, all figures as SVG and PNG, report.html with
everything on one page, and points.jsonl, with which --resume takes over what is there.`,
		Params: []bench.Param{
			{Name: "sizes", Usage: "which sizes are multiplied: few is for a quick look", Default: "all", Values: []string{"all", "few"}},
		},
		Folder: "1H_milestone_output/gemm",
		Files:  []string{"points.jsonl", "gemm.csv", "device.csv", "*.svg", "*.png", "topology.yaml", "report.html"},
		Row:    gemmColumns{}, Metrics: gemmMetrics{},
		Run: runMilestoneGEMM,
	})
}

func runMilestoneGEMM(ctx *bench.B) error {
	m, err := runGemmSweeps(ctx, gemmGrids[ctx.Param("sizes")])
	if err != nil {
		return err
	}
	m.report(ctx)
	return errors.Join(m.writeTables(ctx), m.writeFigures(ctx))
}

// runGemmSweeps runs all points of the grids.
func runGemmSweeps(ctx *bench.B, grids []gemmGrid) (*gemmMilestone, error) {
	m := &gemmMilestone{system: ctx.Topology().Spec()}
	var points []experiment.Point
	var of []int // the sweep of each
	for i, g := range grids {
		m.sweeps = append(m.sweeps, gemmSweep{gemmGrid: g, roofline: newRoofline(m.system, g.pes(m.system)), tooLarge: map[string]int{}})
		points = append(points, g.points()...)
		of = append(of, slices.Repeat([]int{i}, len(points)-len(of))...)
	}
	references := gemmReferences{made: map[topology.Dims3]func() []float32{}}
	rows, err := runPoints(ctx, milestoneGEMM, points, func(point experiment.Point) ([]gemmRow, error) {
		on, err := beside(ctx, ctx.Topology())
		if err != nil {
			return nil, err
		}
		defer on.Close()
		return readGemmPoint(point).run(on, &references)
	})
	if err != nil {
		return nil, err
	}
	for i, found := range rows {
		m.sweeps[of[i]].add(readGemmPoint(points[i]), found)
	}
	return m, nil
}

// gemmMilestone is the sweeps over sizes, on one PE and on a device.
type gemmMilestone struct {
	system *topology.Spec
	sweeps []gemmSweep
}

// gemmSweep is a grid with what its points found out, in their order.
type gemmSweep struct {
	gemmGrid
	roofline roofline
	rows     []gemmRow
	tooLarge map[string]int // points whose operands do not fit into TCM, by variant
}

// add takes what a point found out: a row, or none.
func (s *gemmSweep) add(p gemmPoint, found []gemmRow) {
	if len(found) == 0 {
		s.tooLarge[p.operands.name]++
	}
	for _, r := range found {
		r.gemmPoint = p
		s.rows = append(s.rows, r)
	}
}

// row is that of a variant and of sizes; nil if there is none.
func (s *gemmSweep) row(o operands, d topology.Dims3) *gemmRow {
	i := slices.IndexFunc(s.rows, func(r gemmRow) bool { return r.operands == o && r.shape() == d })
	if i < 0 {
		return nil
	}
	return &s.rows[i]
}

type gemmMetrics struct {
	PEPoints     int     `json:"pe_points" table:",setting"`
	PEGFlops     float64 `json:"pe_best_gflops" table:"GFLOP/s,higher"`
	PEShare      float64 `json:"pe_best_roofline_share" table:",higher"`
	DevicePoints int     `json:"device_points" table:",setting"`
	DeviceGFlops float64 `json:"device_best_gflops" table:"GFLOP/s,higher"`
	DeviceShare  float64 `json:"device_best_roofline_share" table:",higher"`
}

// checks returns the check of each point, if there are values, and those of the sweeps.
func (m *gemmMilestone) checks(ctx *bench.B) (list torch.Checks) {
	for _, s := range m.sweeps {
		for _, r := range s.rows {
			if ctx.HasData() {
				list = append(list, torch.Check{Name: r.String(), Elems: r.Checked, Wrong: r.Wrong})
			}
		}
		list = append(list, aboveRoofline(s.rows))
	}
	return list
}

// report tells what the points found out, and checks it.
func (m *gemmMilestone) report(ctx *bench.B) {
	if !m.sweeps[0].roofline.finite() {
		ctx.Notef("%s", noRoofline)
	}
	for _, c := range m.checks(ctx) {
		ctx.AddCheck(c)
	}
	var metrics gemmMetrics
	for _, s := range m.sweeps {
		var gflops, share float64 // the best of all rows, each of its own
		for _, r := range s.rows {
			ctx.Row(r.columns())
			ctx.Found(r.Crit, r.Races)
			gflops, share = max(gflops, r.GFlops), max(share, r.Share)
		}
		switch points := len(s.rows); s.name {
		case "pe":
			metrics.PEPoints, metrics.PEGFlops, metrics.PEShare = points, gflops, share
		case "device":
			metrics.DevicePoints, metrics.DeviceGFlops, metrics.DeviceShare = points, gflops, share
		}
		for _, o := range operandVariants {
			if n := s.tooLarge[o.name]; n > 0 {
				ctx.Notef("%s %s: without a row, as TCM (%v) does not hold what is to be loaded: %d of %d", s.name, o.name, m.system.PE.TCM.Size, n, len(s.m)*len(s.k)*len(s.n))
			}
		}
	}
	ctx.Metrics(metrics)
}
