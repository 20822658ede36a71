package builtin

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "milestone-1h-ccl",
		Uses:    bench.UsesCollectives,
		Summary: "all figures of the center_root all-reduce over 6 SIPs: sizes, topologies, queue memories",
		Doc: `center_root all-reduce of f16 tensors with an addend on the first PE of each
cube, over 6 SIPs with 4×4 cubes each, every rank a SIP, in two sweeps: 12 sizes
on a ring_1d of 6, a torus_2d of 2×3 and a mesh_2d_no_wrap of 2×3; and 4 sizes
with queue slots in TCM, SRAM and HBM on a torus_2d of 3×2. All other numbers
come from --topology, --ccl and --set.

Every point runs on its own machine, and points run in parallel on all cores.
All 96 results of a point are compared bit for bit. The bench also checks that
latency never falls as the number of elements grows, and that no point takes
less than bound_ns, the lower bound of any algorithm.

The column latency_ns is the longest time of the all-reduce on a PE, n_elem is
the number of elements of an addend, and wrong is the number of SIPs with a
wrong result.

The folder has summary.csv and buffer_kind.csv, all figures as SVG and PNG,
report.html with everything on one page, and points.jsonl, from which --resume
continues.`,
		Params: []bench.Param{
			{Name: "max-elems", Usage: "skip sizes with more elements", Default: "49152"},
		},
		Folder:     "1H_milestone_output/ccl",
		Files:      []string{"points.jsonl", "summary.csv", "buffer_kind.csv", "*.svg", "*.png", "topology.yaml", "ccl.yaml", "report.html"},
		Metrics:    cclMetrics{},
		Experiment: bench.NewExperiment(newCCLMilestone),
	})
}

// The names of the two sweeps.
const (
	latencySweep = "latency"
	bufferSweep  = "buffer_kind"
)

var (
	latencyElems = []int{8, 32, 64, 128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 49152}
	bufferElems  = []int{128, 1024, 8192, 32768}

	latencySystems = []arrangement{{topology.Ring1D, 6, 1}, {topology.Torus2D, 2, 3}, {topology.Mesh2DNoWrap, 2, 3}}
	allSystems     = slices.Concat(latencySystems, []arrangement{torus3x2})
)

// cclPoint is an all-reduce to measure.
type cclPoint struct {
	Sweep string              `json:"sweep" table:",setting"`
	Shape topology.Shape      `json:"sip_topology" table:",setting,fabric"`
	Size  string              `json:"sips" table:",setting,SIPs"`
	Kind  topology.BufferKind `json:"buffer_kind" table:",setting,memory of queue slots"`
	Elems int                 `json:"n_elem" table:",setting,elements of an addend"`

	at arrangement // of the SIPs
}

// cclRow is the result of a point.
type cclRow struct {
	BytesPerPE  int        `json:"bytes_per_pe" table:"B,setting,data on each PE"`
	Latency     torch.Time `json:"latency_ns" table:"ns,lower"` // the longest time of the all-reduce on a PE
	Bound       torch.Time `json:"bound_ns" table:"ns,bound"`
	Wrong       *int       `json:"wrong" table:",check,SIPs with a wrong result"` // nil if values are not computed
	Algorithm   string     `json:"algorithm" table:",setting"`
	SIPs        int        `json:"n_sips" table:",setting,number of SIPs"`
	BytesPerSIP int        `json:"bytes_per_sip" table:"B,setting,data on each SIP"`

	Crit       torch.Time `json:"crit_ns"` // the longest critical path of a launch
	Makespan   torch.Time `json:"makespan_ns"`
	Compared   int        `json:"elems"`
	Difference string     `json:"difference,omitempty"`
	Races      []string   `json:"races,omitempty"`
}

// cclMetrics summarize all points. The ratios are nil on a system whose links take no time.
type cclMetrics struct {
	Points    int      `json:"points" table:",setting"`
	LeastOver *float64 `json:"least_over_bound" table:",result"`
	MostOver  *float64 `json:"most_over_bound" table:",result"`
}

// cclMilestone is a run of the milestone.
type cclMilestone struct {
	points  []cclPoint
	systems map[arrangement]*topology.Graph
}

// newCCLMilestone returns a milestone with all points that have at most --max-elems
// elements. It derives the systems of the points from the system of e.
func newCCLMilestone(e *bench.E) (*cclMilestone, error) {
	most, err := strconv.Atoi(e.Param("max-elems"))
	if err != nil || most < bufferElems[0] {
		return nil, &bench.ParamError{Name: "max-elems", Err: fmt.Errorf("%q: write a whole number, %d or more", e.Param("max-elems"), bufferElems[0])}
	}
	given := torch.Must(e.CCL.Named(""))
	m := &cclMilestone{systems: map[arrangement]*topology.Graph{}}
	add := func(sweep string, at arrangement, kind topology.BufferKind, sizes []int) {
		for _, n := range sizes {
			if n <= most {
				m.points = append(m.points, cclPoint{sweep, at.shape, at.size(), kind, n, at})
			}
		}
	}
	kind := cmp.Or(given.BufferKind, e.Topology.Spec().PE.IPCQ.BufferKind)
	for _, at := range latencySystems {
		add(latencySweep, at, kind, latencyElems)
	}
	for _, kind := range topology.BufferKinds {
		add(bufferSweep, torus3x2, kind, bufferElems)
	}
	for _, at := range allSystems {
		m.systems[at] = torch.Must(arrange(e.Topology, at))
	}
	return m, nil
}

// Points returns the points of both sweeps.
func (m *cclMilestone) Points() []cclPoint { return m.points }

// Cost returns the relative run time of a point. It grows with the number of elements,
// which move in chunks.
func (m *cclMilestone) Cost(p cclPoint) float64 { return float64(2048 + p.Elems) }

// Measure runs the all-reduce of a point on a new machine and returns its row.
func (m *cclMilestone) Measure(e *bench.E, p cclPoint) (row cclRow, err error) {
	g := m.systems[p.at]
	on := torch.Must(e.Machine(g))
	defer on.Close()
	latency := torch.Must(centerRootAllReduce(on, p.Kind, p.Elems))
	bytes := p.Elems * torch.F16.Size()
	row = cclRow{
		Algorithm: ccl.CenterRoot.Name, SIPs: p.at.sips(), BytesPerPE: bytes, BytesPerSIP: bytes * g.Spec().CubesPerSIP(),
		Latency: latency, Bound: centerRootBound(on, p.Elems), Crit: on.Crit(), Makespan: on.Makespan(),
	}
	if on.HasData() {
		row.Wrong = new(int)
	}
	for _, c := range on.Checks() {
		row.Compared += c.Elems
		if c.Wrong != "" {
			*row.Wrong++
			row.Difference = cmp.Or(row.Difference, c.Name+": "+c.Wrong)
		}
	}
	if on.LooksForRaces() {
		row.Races = torch.Must(on.Races())
	}
	return row, nil
}

// cclResult is a point and its result.
type cclResult struct {
	cclPoint
	cclRow
}

// Report checks the results of all points and writes tables, figures and the page. If a
// point takes no time, it writes only the tables.
func (m *cclMilestone) Report(e *bench.E, points []cclPoint, rows []cclRow) error {
	var found cclResults
	for i, p := range points {
		found = append(found, cclResult{p, rows[i]})
		e.Found(rows[i].Crit, rows[i].Makespan, rows[i].Races)
	}
	for _, a := range allSystems {
		e.Notef("%v with 4×4 cubes each (hash %s)", a, m.systems[a].Spec().Hash())
	}
	for _, c := range found.checks() {
		e.AddCheck(c)
	}
	e.Metrics(found.metrics())
	torch.OK(e.WriteTable("summary.csv", summaryTable(e.Table())))
	torch.OK(e.WriteTable("buffer_kind.csv", bufferTable(e.Table())))
	if found.timeless() {
		e.Notef("no figures: there are points that take no time, or could")
		return nil
	}
	return m.writePage(e, found)
}

// summaryTable returns the rows of table t that belong to the latency sweep.
func summaryTable(t *table.Table) *table.Table {
	return t.Where("sweep", latencySweep).Select("algorithm", "sip_topology", "n_sips", "n_elem", "bytes_per_pe", "bytes_per_sip", "latency_ns", "bound_ns", "wrong")
}

// bufferTable returns the rows of table t that belong to the sweep over memories of the
// queue slots.
func bufferTable(t *table.Table) *table.Table {
	return t.Where("sweep", bufferSweep).Select("buffer_kind", "n_elem", "bytes_per_pe", "latency_ns", "bound_ns", "wrong")
}

// cclResults are the results of all points, in the order of the points.
type cclResults []cclResult

// timeless reports whether any latency or bound is 0, as on a system whose links take no
// time. Results with a time of 0 have no ratios, and cannot be drawn on a logarithmic axis.
func (s cclResults) timeless() bool {
	return slices.ContainsFunc(s, func(p cclResult) bool { return min(p.Latency, p.Bound) <= 0 })
}

// metrics returns the number of points, and the smallest and largest ratio of a latency to
// its lower bound. The ratios are nil if a latency or bound is 0.
func (s cclResults) metrics() cclMetrics {
	m := cclMetrics{Points: len(s)}
	if s.timeless() {
		return m
	}
	least, most := math.Inf(1), 0.0
	for _, p := range s {
		least, most = min(least, p.overBound()), max(most, p.overBound())
	}
	m.LeastOver, m.MostOver = new(roundTo(least, 3)), new(roundTo(most, 3))
	return m
}

// overBound returns the latency of the point divided by its lower bound.
func (p *cclResult) overBound() float64 { return float64(p.Latency) / float64(p.Bound) }

// series returns the results of a sweep, grouped into series that differ only in the number
// of elements.
func (s cclResults) series(sweep string) (list [][]cclResult) {
	for i, p := range s {
		if p.Sweep != sweep {
			continue
		}
		if i == 0 || s[i-1].name() != p.name() {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], p)
	}
	return list
}

// name returns the name of the point's series: the settings other than the number of
// elements.
func (p *cclPoint) name() string {
	return fmt.Sprintf("%s on %v, slots in %s", p.Sweep, p.at, p.Kind)
}

// checks returns checks of three conditions: every value is right, no latency is below its
// bound, and latency does not fall as the number of elements grows.
func (s cclResults) checks() (list []torch.Check) {
	for _, p := range s {
		if p.Wrong != nil {
			name := fmt.Sprintf("sweep=%s sip_topology=%s sips=%s buffer_kind=%s n_elem=%d", p.Sweep, p.Shape, p.Size, p.Kind, p.Elems)
			list = append(list, torch.Check{Name: name, Elems: p.Compared, Wrong: p.Difference})
		}
	}
	for _, sweep := range []string{latencySweep, bufferSweep} {
		for _, line := range s.series(sweep) {
			above, rises := checkSeries(line)
			list = append(list, above, rises)
		}
	}
	return list
}

// checkSeries returns two checks of a series. The check `above` fails if a point is faster
// than its bound. The check `rises` fails if more elements take less time.
func checkSeries(s []cclResult) (above, rises torch.Check) {
	above.Name, rises.Name = s[0].name()+": latency_ns is at least bound_ns", s[0].name()+": latency_ns rises with n_elem"
	for i, p := range s {
		if above.Wrong == "" && p.Latency < p.Bound {
			above.Wrong = fmt.Sprintf("%d elements take %v, less than the bound of %v", p.Elems, p.Latency, p.Bound)
		}
		if fewer := s[max(0, i-1)]; rises.Wrong == "" && p.Latency < fewer.Latency {
			rises.Wrong = fmt.Sprintf("%d elements take %v, less than the %v of %d", p.Elems, p.Latency, fewer.Latency, fewer.Elems)
		}
	}
	return above, rises
}
