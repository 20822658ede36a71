package builtin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// gemmPoint is a product of M × K by K × N on one PE or on a device, with one way to give
// composites their operands.
type gemmPoint struct {
	Sweep    string `json:"sweep" table:",setting"` // "pe" or "device"
	Operands string `json:"operands" table:",setting"`
	M        int    `json:"m" table:",setting,M"`
	K        int    `json:"k" table:",setting,K"`
	N        int    `json:"n" table:",setting,N"`

	operands operands
}

func newGemmPoint(sweep string, o operands, m, k, n int) gemmPoint {
	return gemmPoint{sweep, o.name, m, k, n, o}
}

// shape returns the sizes of a product.
func (p gemmPoint) shape() topology.Dims3 { return topology.Dims3{M: p.M, K: p.K, N: p.N} }

// placements returns the placements of the operands and the result of a point. On a device,
// each cube has rows of the result and each PE of the cube has columns of these rows. Every
// PE has copies of the operands that it needs in its own HBM.
func (p gemmPoint) placements() (a, b, c torch.DPPolicy) {
	a = torch.DPPolicy{Cube: torch.RowWise, PE: torch.Replicate}
	b = torch.DPPolicy{Cube: torch.Replicate, PE: torch.ColumnWise}
	c = torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise}
	if p.Sweep == "pe" {
		for _, on := range []*torch.DPPolicy{&a, &b, &c} {
			on.NumCubes, on.NumPEs = 1, 1
		}
	}
	return a, b, c
}

// run computes the product on a machine and returns one row. It returns no row if the
// operands to load do not fit into TCM. want holds the expected products.
func (p gemmPoint) run(r *torch.Rank, want *gemmReferences) []gemmRow {
	onA, onB, onC := p.placements()
	x, y := values(p.M*p.K, 7), values(p.K*p.N, 11)
	a := torch.Must(r.FromSlice(x, torch.F16, torch.Shape{p.M, p.K}, onA))
	b := torch.Must(r.FromSlice(y, torch.F16, torch.Shape{p.K, p.N}, onB))
	c := torch.Must(r.Zeros(torch.F16, torch.Shape{p.M, p.N}, onC))
	l := torch.Must(r.Launch(p.operands.name, composite, a, b, c, p.operands.loadA, p.operands.loadB))
	err := l.Wait()
	if errors.As(err, new(*pe.Overflow)) {
		return []gemmRow{}
	}
	torch.OK(err)
	row := p.measure(r, l, c.Shards())
	if r.HasData() {
		torch.OK(r.Check(p.String(), c, want.product(p.shape(), x, y)))
		check := r.Checks()[0]
		row.Checked, row.Wrong = check.Elems, check.Wrong
	}
	if r.LooksForRaces() {
		row.Races = torch.Must(r.Races())
	}
	row.Makespan = r.Makespan()
	return []gemmRow{row}
}

// String returns the name of the point in checks and notes.
func (p gemmPoint) String() string {
	return fmt.Sprintf("%s %v %s", p.Sweep, p.shape(), p.operands.name)
}

// gemmRow is the result of a point. Count and Window are nil without an op log.
type gemmRow struct {
	PEs         int         `json:"pes" table:",setting,PEs"`
	Crit        torch.Time  `json:"crit_ns" table:"ns,lower,critical path"`
	Roofline    torch.Time  `json:"roofline_ns" table:"ns,bound"`
	Share       float64     `json:"roofline_share" table:",result"`
	GFlops      float64     `json:"gflops" table:"GFLOP/s,higher,performance"`
	Utilization float64     `json:"gemm_utilization" table:",higher,GEMM utilization"`
	Count       *int        `json:"gemm_count" table:",result,tile products"`
	Window      *torch.Time `json:"composite_window_ns" table:"ns,lower"`
	engineTimes             // times of the PE that ended last
	Flops       int64       `json:"flops" table:",result"`
	Bytes       int64       `json:"bytes" table:"B,result"`
	Intensity   float64     `json:"intensity_flop_per_byte" table:"FLOP/B,result,intensity"`

	Makespan torch.Time `json:"makespan_ns"`
	Checked  int        `json:"checked"` // elements compared
	Wrong    string     `json:"wrong,omitempty"`
	Races    []string   `json:"races,omitempty"`
}

// measure returns the row of a product that launch l has computed. `parts` lists the shards
// of the result.
func (p gemmPoint) measure(r *torch.Rank, l *torch.Launched, parts []torch.Shard) gemmRow {
	spec := r.Topology().Spec()
	last := slices.Index(l.Exec(), l.Crit())
	row := gemmRow{PEs: len(parts), Crit: l.Crit(), Flops: 2 * int64(p.M) * int64(p.K) * int64(p.N)}
	var read, written topology.Bytes
	var busy torch.Time
	for i, s := range parts {
		e := r.Engines(r.PE(s.SIP, s.Cube, s.PE))
		busy += e.GEMM
		in, out := traffic(spec.PE.GEMM.Tile, p.operands, topology.Dims3{M: s.Extent[0], K: p.K, N: s.Extent[1]})
		read, written = read+in, written+out
		if i == last {
			row.engineTimes = engineTimes{e.DMARead, e.Fetch, e.GEMM, e.Math, e.Store, e.DMAWrite}
		}
	}
	row.Bytes = int64(read + written)
	row.Intensity = roundTo(float64(row.Flops)/float64(row.Bytes), 3)
	row.Roofline = torch.Time(newRoofline(spec, row.PEs).minTime(float64(row.Flops), read, written))
	if row.Crit > 0 { // a system may take no time at all
		row.Utilization = roundTo(float64(busy)/float64(row.Crit)/float64(row.PEs), 4)
		row.GFlops = roundTo(float64(row.Flops)/row.Crit.NS(), 3)
		row.Share = roundTo(float64(row.Roofline)/float64(row.Crit), 4)
	}
	row.Window, row.Count = window(r.Composites())
	return row
}

// window returns the time from the start of the first composite command to the end of the
// last, and the total number of tile products of all commands. Both are nil if there are no
// commands, which is the case without an op log.
func window(all []torch.Composite) (took *torch.Time, tiles *int) {
	if len(all) == 0 {
		return nil, nil
	}
	count, first, end := 0, all[0].Start, torch.Time(0)
	for _, c := range all {
		count += c.Tiles
		first, end = min(first, c.Start), max(end, c.End)
	}
	return new(end - first), &count
}

// roundTo rounds x to the given number of digits after the decimal point.
func roundTo(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}

// gemmReferences are the expected products by size. Each product is computed once and
// shared by all points, which run in parallel.
type gemmReferences struct{ products sync.Map }

// product returns a × b for sizes d. It computes the product once for each d, because all
// points of the same sizes have the same operands.
func (r *gemmReferences) product(d topology.Dims3, a, b []float32) []float32 {
	product, _ := r.products.LoadOrStore(d, sync.OnceValue(func() []float32 { return matmul(a, b, d.M, d.K, d.N) }))
	return product.(func() []float32)()
}
