package benches

import (
	"math"
	"slices"

	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// gemmRow is what a point found out. Its JSON has times in ns.
type gemmRow struct {
	gemmPoint `json:"-"`

	PEs         int         `json:"pes"`
	Crit        torch.Time  `json:"crit_ns"`
	Window      *torch.Time `json:"composite_window_ns"` // nil without an op log
	Count       *int        `json:"gemm_count"`
	DMARead     torch.Time  `json:"dma_read_ns"` // of the PE that ended last, as all engines
	Fetch       torch.Time  `json:"fetch_ns"`
	GEMM        torch.Time  `json:"gemm_ns"`
	Math        torch.Time  `json:"math_ns"`
	Store       torch.Time  `json:"store_ns"`
	DMAWrite    torch.Time  `json:"dma_write_ns"`
	Utilization float64     `json:"gemm_utilization"`
	Flops       int64       `json:"flops"`
	Bytes       int64       `json:"bytes"`
	Intensity   float64     `json:"intensity_flop_per_byte"`
	GFlops      float64     `json:"gflops"`
	Roofline    torch.Time  `json:"roofline_ns"`
	Share       float64     `json:"roofline_share"`

	Checked int      `json:"checked"` // elements compared
	Wrong   string   `json:"wrong,omitempty"`
	Races   []string `json:"races,omitempty"`
}

// measure is the row of a product that has run. Its parts are what PEs had of the result.
func (p gemmPoint) measure(on *torch.Context, l *torch.Launched, parts []torch.Shard) gemmRow {
	spec := on.Topology().Spec()
	last := slices.Index(l.Exec(), l.Crit())
	row := gemmRow{gemmPoint: p, PEs: len(parts), Crit: l.Crit(), Flops: 2 * int64(p.m) * int64(p.k) * int64(p.n)}
	var read, written topology.Bytes
	var busy torch.Time
	for i, s := range parts {
		e := on.Engines(on.PE(s.SIP, s.Cube, s.PE))
		busy += e.GEMM
		in, out := traffic(spec.PE.GEMM.Tile, p.operands, topology.Dims3{M: s.Extent[0], K: p.k, N: s.Extent[1]})
		read, written = read+in, written+out
		if i == last {
			row.DMARead, row.Fetch, row.GEMM = e.DMARead, e.Fetch, e.GEMM
			row.Math, row.Store, row.DMAWrite = e.Math, e.Store, e.DMAWrite
		}
	}
	row.Bytes = int64(read + written)
	row.Intensity = rounded(float64(row.Flops)/float64(row.Bytes), 3)
	row.Roofline = torch.Time(newRoofline(spec, row.PEs).least(float64(row.Flops), read, written))
	if row.Crit > 0 { // a system may take no time at all
		row.Utilization = rounded(float64(busy)/float64(row.Crit)/float64(row.PEs), 4)
		row.GFlops = rounded(float64(row.Flops)/row.Crit.NS(), 3)
		row.Share = rounded(float64(row.Roofline)/float64(row.Crit), 4)
	}
	row.composites(on.Composites())
	return row
}

// composites notes what the op log has of the commands.
func (row *gemmRow) composites(all []torch.Composite) {
	if len(all) == 0 {
		return
	}
	count, first, end := 0, torch.Time(math.MaxInt64), torch.Time(0)
	for _, c := range all {
		count += c.Tiles
		first, end = min(first, c.Start), max(end, c.End)
	}
	window := torch.Time(end - first)
	row.Count, row.Window = &count, &window
}

// rounded is a number with so many digits behind the point.
func rounded(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}

// gemmColumns is the row as tables have it. Count and Window are unknown without an op log.
type gemmColumns struct {
	Sweep       string      `json:"sweep" table:",setting"`
	Operands    string      `json:"operands" table:",setting"`
	M           int         `json:"m" table:",setting,M"`
	K           int         `json:"k" table:",setting,K"`
	N           int         `json:"n" table:",setting,N"`
	PEs         int         `json:"pes" table:",setting,PEs"`
	Crit        torch.Time  `json:"crit_ns" table:"ns,lower,critical path"`
	Roofline    torch.Time  `json:"roofline_ns" table:"ns,bound"`
	Share       float64     `json:"roofline_share" table:",result"`
	GFlops      float64     `json:"gflops" table:"GFLOP/s,higher"`
	Utilization float64     `json:"gemm_utilization" table:",higher,GEMM utilization"`
	Count       *int        `json:"gemm_count" table:",result,GEMM count"`
	Window      *torch.Time `json:"composite_window_ns" table:"ns,lower"`
	engineTimes
	Flops     int64   `json:"flops" table:",result"`
	Bytes     int64   `json:"bytes" table:"B,result"`
	Intensity float64 `json:"intensity_flop_per_byte" table:"FLOP/B,result,intensity"`
}

func (row *gemmRow) columns() gemmColumns {
	return gemmColumns{
		row.sweep, row.operands.name, row.m, row.k, row.n, row.PEs, row.Crit, row.Roofline, row.Share, row.GFlops, row.Utilization, row.Count, row.Window,
		engineTimes{row.DMARead, row.Fetch, row.GEMM, row.Math, row.Store, row.DMAWrite}, row.Flops, row.Bytes, row.Intensity,
	}
}
