package benches

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// The two sweeps.
const (
	latencySweep = "latency"
	bufferSweep  = "buffer_kind"
)

var (
	latencyElems = []int{8, 32, 64, 128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 49152}
	bufferElems  = []int{128, 1024, 8192, 32768}

	latencySystems = []arrangement{{topology.Ring1D, 6, 1}, {topology.Torus2D, 2, 3}, {topology.Mesh2DNoWrap, 2, 3}}
)

// cclMilestone is all points, and the systems that they run on.
type cclMilestone struct {
	points  []cclPoint
	systems map[arrangement]*topology.Graph
}

// cclPoint is an all-reduce, and what it found out.
type cclPoint struct {
	sweep string
	at    arrangement
	kind  topology.BufferKind // of queue slots
	elems int                 // of an addend
	row   cclRow
}

// cclRow is what points.jsonl keeps of a point.
type cclRow struct {
	Algorithm   string     `json:"algorithm"`
	SIPs        int        `json:"n_sips"`
	BytesPerPE  int        `json:"bytes_per_pe"`
	BytesPerSIP int        `json:"bytes_per_sip"`
	Latency     torch.Time `json:"latency_ns"` // the longest that the all-reduce ran on a PE
	Bound       torch.Time `json:"bound_ns"`
	Crit        torch.Time `json:"crit_ns"` // of all launches
	Elems       int        `json:"elems"`   // compared
	Wrong       *int       `json:"wrong"`   // SIPs with a wrong result; null without values
	Difference  string     `json:"difference,omitempty"`
	Races       []string   `json:"races,omitempty"`
}

// wrong is a cell of a table.
func (r *cclRow) wrong() any {
	if r.Wrong == nil {
		return nil
	}
	return *r.Wrong
}

// newCCLMilestone is all points up to a number of elements, on systems made of the
// given one.
func newCCLMilestone(ctx *bench.B, most int) (*cclMilestone, error) {
	given, err := ctx.CCL().Named("")
	if err != nil {
		return nil, err
	}
	m := &cclMilestone{systems: map[arrangement]*topology.Graph{}}
	add := func(sweep string, at arrangement, kind topology.BufferKind, sizes []int) {
		for _, n := range sizes {
			if n <= most {
				m.points = append(m.points, cclPoint{sweep: sweep, at: at, kind: kind, elems: n})
			}
		}
	}
	kind := cmp.Or(given.BufferKind, ctx.Topology().Spec().PE.IPCQ.BufferKind)
	for _, at := range latencySystems {
		add(latencySweep, at, kind, latencyElems)
	}
	for _, kind := range topology.BufferKinds {
		add(bufferSweep, torus3x2, kind, bufferElems)
	}
	for _, at := range m.arrangements() {
		if m.systems[at], err = arranged(ctx.Topology(), at); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// arrangements is those of all points, each once.
func (m *cclMilestone) arrangements() (list []arrangement) {
	for _, p := range m.points {
		if !slices.Contains(list, p.at) {
			list = append(list, p.at)
		}
	}
	return list
}

// series is the points of a sweep that differ in elements alone, in their order.
func (m *cclMilestone) series(sweep string) (list [][]cclPoint) {
	for i, p := range m.points {
		if p.sweep != sweep {
			continue
		}
		if i == 0 || m.points[i-1].name() != p.name() {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], p)
	}
	return list
}

// name is of all points of a series.
func (p *cclPoint) name() string {
	return fmt.Sprintf("%s on %v, slots in %s", p.sweep, p.at, p.kind)
}

func (p *cclPoint) setting() experiment.Point {
	return experiment.Point{
		{Name: "sweep", Value: p.sweep}, {Name: "sip_topology", Value: string(p.at.shape)}, {Name: "sips", Value: p.at.size()},
		{Name: "buffer_kind", Value: string(p.kind)}, {Name: "n_elem", Value: strconv.Itoa(p.elems)},
	}
}

// run fills in the rows of all points.
func (m *cclMilestone) run(ctx *bench.B) error {
	points, of := make([]experiment.Point, len(m.points)), map[string]*cclPoint{}
	for i := range m.points {
		points[i] = m.points[i].setting()
		of[points[i].String()] = &m.points[i]
	}
	rows, err := runPoints(ctx, milestoneCCL, points, func(p experiment.Point) (cclRow, error) {
		point := of[p.String()]
		return point.measure(ctx, m.systems[point.at])
	})
	if err != nil {
		return err
	}
	for i := range m.points {
		m.points[i].row = rows[i]
	}
	return nil
}

// measure runs a point on a machine of its own.
func (p *cclPoint) measure(ctx *bench.B, g *topology.Graph) (row cclRow, err error) {
	on, err := beside(ctx, g)
	if err != nil {
		return row, err
	}
	defer on.Close()
	if err := centerRootAllReduce(on, p.kind, p.elems); err != nil {
		return row, err
	}
	bytes := p.elems * torch.F16.Size()
	row = cclRow{
		Algorithm: ccl.CenterRoot.Name, SIPs: p.at.sips(), BytesPerPE: bytes, BytesPerSIP: bytes * g.Spec().CubesPerSIP(),
		Latency: on.Collective.Crit, Bound: centerRootBound(on, p.elems), Crit: on.Crit(),
	}
	if on.HasData() {
		row.Wrong = new(int)
	}
	for _, c := range on.Checks() {
		row.Elems += c.Elems
		if c.Wrong != "" {
			*row.Wrong++
			row.Difference = cmp.Or(row.Difference, c.Name+": "+c.Wrong)
		}
	}
	if on.LooksForRaces() {
		row.Races, err = on.Races()
	}
	return row, err
}
