package builtin

import (
	"errors"
	"slices"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "milestone-1h-gemm",
		Uses:    bench.UsesNothing,
		Summary: "all figures of matrix products on one PE and on a device: sizes, operands, roofline",
		Doc: `Matrix products of f16, M × K by K × N, as composite commands in two sweeps: on
one PE, and divided over all PEs of a SIP. On a SIP, each cube has rows of the
result, and each of its PEs has columns of these rows. A PE has copies of its
operands in its own HBM. Each product runs in three ways: ref_ref streams both
operands from HBM tile by tile, load_ref first loads the first operand into TCM,
load_load both operands. Operands that do not fit in TCM have no row; a note
counts them.

Every point runs on its own machine, points run in parallel on all cores, and
every element is compared bit for bit. The bench also checks that no time is
below the roofline.

composite_window_ns is the time from the first data that moves for a composite
to the last data written, gemm_count the tile products of all PEs; both come
from the op log and are missing without it (--data=off). The times of engines
are how long the engines of the PE that ended last worked; these times overlap.
gemm_utilization is the share of crit_ns in which the GEMM engines of all PEs
worked. The column bytes is the data moved between HBM and TCM,
intensity_flop_per_byte is the operations per byte, and roofline_ns is the
longer of all operations on the MAC arrays and all bytes through the memories.
roofline_share is roofline_ns divided by crit_ns. The metrics best_gflops and
best_roofline_share of a sweep are the largest of their columns, possibly of
different rows.

The folder has gemm.csv and device.csv, all figures as SVG and PNG, report.html
with everything on one page, and points.jsonl, from which --resume continues.`,
		Params: []bench.Param{
			{Name: "sizes", Usage: "sizes to multiply; few is a quick run", Default: "all", Values: []string{"all", "few"}},
		},
		Folder:     "1H_milestone_output/gemm",
		Files:      []string{"points.jsonl", "gemm.csv", "device.csv", "*.svg", "*.png", "topology.yaml", "report.html"},
		Metrics:    gemmMetrics{},
		Experiment: bench.NewExperiment(newGemmMilestone),
	})
}

// gemmMetrics are the best values of each sweep. They may come from different rows.
type gemmMetrics struct {
	PEPoints     int     `json:"pe_points" table:",setting"`
	PEGFlops     float64 `json:"pe_best_gflops" table:"GFLOP/s,higher"`
	PEShare      float64 `json:"pe_best_roofline_share" table:",higher"`
	DevicePoints int     `json:"device_points" table:",setting"`
	DeviceGFlops float64 `json:"device_best_gflops" table:"GFLOP/s,higher"`
	DeviceShare  float64 `json:"device_best_roofline_share" table:",higher"`
}

// gemmMilestone is a run of the milestone: the sweeps over sizes, on one PE and on a
// device.
type gemmMilestone struct {
	system     *topology.Spec
	sweeps     []gemmSweep
	references gemmReferences
}

// gemmSweep is a grid with the results of its points, in the order of the points.
type gemmSweep struct {
	gemmGrid
	roofline roofline
	rows     []gemmResult
	tooLarge map[string]int // points whose operands do not fit into TCM, by variant
}

// gemmResult is a point and its result.
type gemmResult struct {
	gemmPoint
	gemmRow
}

// newGemmMilestone returns a milestone with the sweeps that --sizes selects.
func newGemmMilestone(e *bench.E) (*gemmMilestone, error) {
	return newGemmSweeps(e.Topology.Spec(), gemmGrids[e.Param("sizes")]), nil
}

// newGemmSweeps returns a milestone with a sweep for each grid on system s.
func newGemmSweeps(s *topology.Spec, grids []gemmGrid) *gemmMilestone {
	m := &gemmMilestone{system: s}
	for _, g := range grids {
		m.sweeps = append(m.sweeps, gemmSweep{gemmGrid: g, roofline: newRoofline(s, g.pes(s)), tooLarge: map[string]int{}})
	}
	return m
}

// Points returns the points of all sweeps.
func (m *gemmMilestone) Points() (points []gemmPoint) {
	for _, s := range m.sweeps {
		points = append(points, s.points()...)
	}
	return points
}

// Cost returns the relative run time of a point. It grows with the number of operations,
// and so with the number of simulated tiles on all PEs.
func (m *gemmMilestone) Cost(p gemmPoint) float64 {
	return 1e6 + float64(p.M)*float64(p.K)*float64(p.N)
}

// Measure runs the product of a point on a new machine. It returns one row, or none if the
// operands do not fit into TCM.
func (m *gemmMilestone) Measure(e *bench.E, p gemmPoint) ([]gemmRow, error) {
	on := torch.Must(e.Machine(e.Topology))
	defer on.Close()
	return p.run(on.Main(), &m.references), nil
}

// Report checks the results of all points and writes tables, figures and the page.
func (m *gemmMilestone) Report(e *bench.E, points []gemmPoint, rows [][]gemmRow) error {
	m.addResults(points, rows)
	if !m.sweeps[0].roofline.finite() {
		e.Notef("%s", noRoofline)
	}
	for _, c := range m.checks(!e.Options.NoData) {
		e.AddCheck(c)
	}
	for _, s := range m.sweeps {
		for _, r := range s.rows {
			e.Found(r.Crit, r.Makespan, r.Races)
		}
		for _, o := range operandVariants {
			if n := s.tooLarge[o.name]; n > 0 {
				e.Notef("%s %s: without a row, as TCM (%v) does not hold what is to be loaded: %d of %d", s.name, o.name, m.system.PE.TCM.Size, n, len(s.m)*len(s.k)*len(s.n))
			}
		}
	}
	e.Metrics(m.metrics())
	return errors.Join(
		e.WriteTable("gemm.csv", e.Table().Where("sweep", "pe")), e.WriteTable("device.csv", e.Table().Where("sweep", "device")), m.writePage(e))
}

// addResults appends the row of each point to the sweep of the point. If a point has no
// row, addResults counts it as too large.
func (m *gemmMilestone) addResults(points []gemmPoint, rows [][]gemmRow) {
	for i, p := range points {
		s := &m.sweeps[slices.IndexFunc(m.sweeps, func(s gemmSweep) bool { return s.name == p.Sweep })]
		if len(rows[i]) == 0 {
			s.tooLarge[p.Operands]++
		}
		for _, r := range rows[i] {
			s.rows = append(s.rows, gemmResult{p, r})
		}
	}
}

// row returns the row with the given variant and sizes, or nil if there is none.
func (s *gemmSweep) row(o operands, d topology.Dims3) *gemmResult {
	i := slices.IndexFunc(s.rows, func(r gemmResult) bool { return r.operands == o && r.shape() == d })
	if i < 0 {
		return nil
	}
	return &s.rows[i]
}

// checks returns a check of the values of each point, if values are computed. For each
// sweep, it also returns a check that no time is below the roofline.
func (m *gemmMilestone) checks(values bool) (list torch.Checks) {
	for _, s := range m.sweeps {
		for _, r := range s.rows {
			if values {
				list = append(list, torch.Check{Name: r.String(), Elems: r.Checked, Wrong: r.Wrong})
			}
		}
		list = append(list, checkAboveRoofline(s.rows))
	}
	return list
}

// metrics returns, for each sweep, the number of rows, the highest rate and the highest
// share of the roofline.
func (m *gemmMilestone) metrics() (all gemmMetrics) {
	for _, s := range m.sweeps {
		var gflops, share float64
		for _, r := range s.rows {
			gflops, share = max(gflops, r.GFlops), max(share, r.Share)
		}
		switch points := len(s.rows); s.name {
		case "pe":
			all.PEPoints, all.PEGFlops, all.PEShare = points, gflops, share
		case "device":
			all.DevicePoints, all.DeviceGFlops, all.DeviceShare = points, gflops, share
		}
	}
	return all
}

// gemmGrid is the sizes of a sweep and the selection that figures show.
type gemmGrid struct {
	name    string // "pe" or "device"
	title   string
	m, k, n []int

	fixedK     int                        // value of k in figures over m and n
	curve      func(m int) topology.Dims3 // sizes of the product with a given m, in figures of times over m
	curveLabel string                     // label of the axis with m in figures of times over m
	stages     []int                      // values of m in the figure of stages
}

// gemmGrids maps the value of the parameter to the grids of the sweeps.
var gemmGrids = map[string][]gemmGrid{
	"all": {
		{
			name: "pe", title: "one PE",
			m: []int{16, 32, 64, 128, 256, 512}, k: []int{64, 256, 1024, 4096}, n: []int{16, 32, 64, 128, 256, 512},
			fixedK: 1024, curveLabel: "M = N, with K = 1024",
			curve:  func(m int) topology.Dims3 { return topology.Dims3{M: m, K: 1024, N: m} },
			stages: []int{16, 64, 256},
		},
		{
			name: "device", title: "a device",
			m: []int{128, 256, 512, 1024, 2048}, k: []int{512, 2048}, n: []int{1024, 2048, 4096},
			fixedK: 2048, curveLabel: "M, with K = N = 2048",
			curve:  func(m int) topology.Dims3 { return topology.Dims3{M: m, K: 2048, N: 2048} },
			stages: []int{128, 512, 2048},
		},
	},
	"few": {
		{
			name: "pe", title: "one PE", m: []int{16, 64}, k: []int{64, 256}, n: []int{16, 64},
			fixedK: 256, curveLabel: "M = N, with K = 256",
			curve:  func(m int) topology.Dims3 { return topology.Dims3{M: m, K: 256, N: m} },
			stages: []int{64},
		},
		{
			name: "device", title: "a device", m: []int{32, 64}, k: []int{64}, n: []int{128},
			fixedK: 64, curveLabel: "M, with K = 64 and N = 128",
			curve:  func(m int) topology.Dims3 { return topology.Dims3{M: m, K: 64, N: 128} },
			stages: []int{64},
		},
	},
}

// points returns the points of the grid, ordered by variant.
func (g gemmGrid) points() (points []gemmPoint) {
	for _, o := range operandVariants {
		for _, k := range g.k {
			for _, m := range g.m {
				for _, n := range g.n {
					points = append(points, newGemmPoint(g.name, o, m, k, n))
				}
			}
		}
	}
	return points
}

// pes returns the number of PEs that compute a product.
func (g gemmGrid) pes(s *topology.Spec) int {
	if g.name == "pe" {
		return 1
	}
	return s.CubesPerSIP() * s.PEsPerCube()
}
