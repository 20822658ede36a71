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

// columns is the row as tables have it.
func (row *gemmRow) columns() []torch.Metric {
	var window, count any // unknown without an op log
	if row.Window != nil {
		window, count = *row.Window, *row.Count
	}
	return []torch.Metric{
		torch.Col("sweep", row.sweep),
		torch.Col("operands", row.operands.name),
		torch.Col("m", row.m), torch.Col("k", row.k), torch.Col("n", row.n),
		torch.Col("pes", row.PEs),
		torch.Col("crit_ns", row.Crit),
		torch.Col("roofline_ns", row.Roofline),
		torch.Col("roofline_share", row.Share),
		torch.Col("gflops", row.GFlops),
		torch.Col("gemm_utilization", row.Utilization),
		torch.Col("gemm_count", count),
		torch.Col("composite_window_ns", window),
		torch.Col("dma_read_ns", row.DMARead),
		torch.Col("fetch_ns", row.Fetch),
		torch.Col("gemm_ns", row.GEMM),
		torch.Col("math_ns", row.Math),
		torch.Col("store_ns", row.Store),
		torch.Col("dma_write_ns", row.DMAWrite),
		torch.Col("flops", row.Flops),
		torch.Col("bytes", row.Bytes),
		torch.Col("intensity_flop_per_byte", row.Intensity),
	}
}
