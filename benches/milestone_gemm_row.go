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

	PEs         int        `json:"pes"`
	Crit        exactTime  `json:"crit_ns"`
	Window      *exactTime `json:"composite_window_ns"` // nil without an op log
	Count       *int       `json:"gemm_count"`
	DMARead     exactTime  `json:"dma_read_ns"` // of the PE that ended last, as all engines
	Fetch       exactTime  `json:"fetch_ns"`
	GEMM        exactTime  `json:"gemm_ns"`
	Math        exactTime  `json:"math_ns"`
	Store       exactTime  `json:"store_ns"`
	DMAWrite    exactTime  `json:"dma_write_ns"`
	Utilization float64    `json:"gemm_utilization"`
	Flops       int64      `json:"flops"`
	Bytes       int64      `json:"bytes"`
	Intensity   float64    `json:"intensity_flop_per_byte"`
	GFlops      float64    `json:"gflops"`
	Roofline    exactTime  `json:"roofline_ns"`
	Share       float64    `json:"roofline_share"`

	Checked int      `json:"checked"` // elements compared
	Wrong   string   `json:"wrong,omitempty"`
	Races   []string `json:"races,omitempty"`
}

// measure is the row of a product that has run. Its parts are what PEs had of the result.
func (p gemmPoint) measure(on *torch.Context, l *torch.Launched, parts []torch.Shard) gemmRow {
	spec := on.Topology().Spec()
	last := slices.Index(l.Exec(), l.Crit())
	row := gemmRow{gemmPoint: p, PEs: len(parts), Crit: exactTime(l.Crit()), Flops: 2 * int64(p.m) * int64(p.k) * int64(p.n)}
	var read, written topology.Bytes
	var busy torch.Time
	for i, s := range parts {
		e := on.Engines(on.PE(s.SIP, s.Cube, s.PE))
		busy += e.GEMM
		in, out := traffic(spec.PE.GEMM.Tile, p.operands, topology.Dims3{M: s.Extent[0], K: p.k, N: s.Extent[1]})
		read, written = read+in, written+out
		if i == last {
			row.DMARead, row.Fetch, row.GEMM = exactTime(e.DMARead), exactTime(e.Fetch), exactTime(e.GEMM)
			row.Math, row.Store, row.DMAWrite = exactTime(e.Math), exactTime(e.Store), exactTime(e.DMAWrite)
		}
	}
	row.Bytes = int64(read + written)
	row.Intensity = rounded(float64(row.Flops)/float64(row.Bytes), 3)
	row.Roofline = exactTime(newRoofline(spec, row.PEs).least(float64(row.Flops), read, written))
	if row.Crit > 0 { // a system may take no time at all
		row.Utilization = rounded(float64(busy)/float64(row.Crit)/float64(row.PEs), 4)
		row.GFlops = rounded(float64(row.Flops)/torch.Time(row.Crit).NS(), 3)
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
	window := exactTime(end - first)
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
		window, count = torch.Time(*row.Window), *row.Count
	}
	return []torch.Metric{
		torch.Col("sweep", row.sweep),
		torch.Col("operands", row.operands.name),
		torch.Col("m", row.m), torch.Col("k", row.k), torch.Col("n", row.n),
		torch.Col("pes", row.PEs),
		torch.Col("crit_ns", torch.Time(row.Crit)),
		torch.Col("roofline_ns", torch.Time(row.Roofline)),
		torch.Col("roofline_share", row.Share),
		torch.Col("gflops", row.GFlops),
		torch.Col("gemm_utilization", row.Utilization),
		torch.Col("gemm_count", count),
		torch.Col("composite_window_ns", window),
		torch.Col("dma_read_ns", torch.Time(row.DMARead)),
		torch.Col("fetch_ns", torch.Time(row.Fetch)),
		torch.Col("gemm_ns", torch.Time(row.GEMM)),
		torch.Col("math_ns", torch.Time(row.Math)),
		torch.Col("store_ns", torch.Time(row.Store)),
		torch.Col("dma_write_ns", torch.Time(row.DMAWrite)),
		torch.Col("flops", row.Flops),
		torch.Col("bytes", row.Bytes),
		torch.Col("intensity_flop_per_byte", row.Intensity),
	}
}
