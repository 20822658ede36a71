package builtin

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// gemmSubtitle describes what all products have in common.
const gemmSubtitle = "products of f16, M × K by K × N, as composite commands"

// namedFigure is a figure with the beginning of its file name and a caption.
type namedFigure struct {
	name, caption string
	draw.Figure
}

// figures returns the figures of a sweep. There are none for a system whose arithmetic or
// memory takes no time.
func (s *gemmSweep) figures() []namedFigure {
	if !s.roofline.finite() {
		return nil
	}
	list := []namedFigure{
		{"roofline", "What the variants reach, by how much they compute for each byte that they move. Nothing can be above the dashed lines.", s.drawRoofline()},
		{"time", "Simulated times, and the theory of each variant in its colour.", s.drawTimes()},
	}
	for _, o := range operandVariants {
		caption := fmt.Sprintf("How much of the time the GEMM engine works, %s.", o.name)
		if f := s.drawUtilization(o); f != nil {
			list = append(list, namedFigure{"utilization_" + o.name, caption, f})
		}
	}
	return append(list, namedFigure{"stages", "How much of the time each stage works. Stages overlap: a bar above 100 % is more than one at work at a time.", s.drawStages()})
}

// drawRoofline draws a roofline chart: operations per second of each product over its
// operations per byte, below the ceilings of the system.
func (s *gemmSweep) drawRoofline() draw.Figure {
	r := s.roofline
	low, high := math.Inf(1), r.ridge()*2
	f := draw.Lines{
		Title:    fmt.Sprintf("Matrix products on %s and the roofline", s.title),
		Subtitle: gemmSubtitle,
		Note:     r.formula(),
		X:        draw.Axis{Label: "operations for each byte moved", Unit: "FLOP/B", Log: true},
		Y:        draw.Axis{Label: "performance", Unit: "TFLOP/s", Log: true, Format: func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }},
	}
	for _, o := range operandVariants {
		series := draw.Series{Name: o.name, Scatter: true}
		for _, row := range s.rows {
			if row.operands != o {
				continue
			}
			series.X = append(series.X, row.Intensity)
			series.Y = append(series.Y, row.GFlops/1000)
			low, high = min(low, row.Intensity), max(high, row.Intensity)
		}
		f.Series = append(f.Series, series)
	}
	f.Series = append(f.Series,
		draw.Series{Name: "roofline (theory)", Bound: true, X: []float64{low, r.ridge(), high}, Y: []float64{min(r.flops, low*r.bandwidth()) / 1e12, r.flops / 1e12, r.flops / 1e12}},
		draw.Series{Name: "with the filling of the array (theory)", Bound: true, X: []float64{r.filled / r.bandwidth(), high}, Y: []float64{r.filled / 1e12, r.filled / 1e12}},
	)
	return f
}

// drawTimes draws the simulated time and the lower bound of products over m, with a line
// for each variant. The function s.curve returns the sizes of the product for each m.
func (s *gemmSweep) drawTimes() draw.Figure {
	f := draw.Lines{
		Title:    fmt.Sprintf("Time of matrix products on %s", s.title),
		Subtitle: gemmSubtitle,
		Note:     s.roofline.formula(),
		X:        draw.Axis{Label: s.curveLabel, Log: true, Format: formatInteger},
		Y:        draw.Axis{Label: "time", Log: true, Format: table.Unit("ns").Format},
	}
	var bounds []draw.Series
	for _, o := range operandVariants {
		line, bound := draw.Series{Name: o.name}, draw.Series{Name: o.name + " (theory)", Bound: true}
		for _, m := range s.m {
			if row := s.row(o, s.curve(m)); row != nil {
				line.X, line.Y = append(line.X, float64(m)), append(line.Y, row.Crit.NS())
				bound.X, bound.Y = append(bound.X, float64(m)), append(bound.Y, row.Roofline.NS())
			}
		}
		if len(line.X) > 0 {
			f.Series, bounds = append(f.Series, line), append(bounds, bound)
		}
	}
	f.Series = append(f.Series, bounds...)
	return f
}

// drawUtilization draws the utilization of the GEMM engines with the given variant, by m
// and n. It returns nil if none of the products fit into TCM.
func (s *gemmSweep) drawUtilization(o operands) draw.Figure {
	f := draw.HeatMap{
		Title:    fmt.Sprintf("Utilization of the GEMM engine on %s, %s", s.title, o.name),
		Subtitle: gemmSubtitle,
		Note:     fmt.Sprintf("K = %d. The share of the critical path that the GEMM engines of all PEs work; – where operands do not fit into TCM", s.fixedK),
		X:        "N", Y: "M", Unit: "%", Max: 100,
		Format: formatInteger,
	}
	for _, n := range s.n {
		f.Columns = append(f.Columns, strconv.Itoa(n))
	}
	some := false
	for _, m := range s.m {
		values := make([]float64, len(s.n))
		for i, n := range s.n {
			values[i] = math.NaN()
			if row := s.row(o, topology.Dims3{M: m, K: s.fixedK, N: n}); row != nil {
				values[i], some = 100*row.Utilization, true
			}
		}
		f.Rows, f.Values = append(f.Rows, strconv.Itoa(m)), append(f.Values, values)
	}
	if !some {
		return nil
	}
	return f
}

// drawStages draws, for a few sizes and all variants, the share of a product's time in
// which each stage is busy.
func (s *gemmSweep) drawStages() draw.Figure {
	f := draw.Bars{
		Title:    fmt.Sprintf("Stages of matrix products on %s", s.title),
		Subtitle: gemmSubtitle,
		Note:     "Busy times of the PE that ends last, in % of the time that the product takes. Stages overlap.",
		X:        s.curveLabel + ", by how operands are given",
		Y:        draw.Axis{Label: "busy", Unit: "% of the time"},
	}
	for _, stage := range []string{"DMA read", "fetch", "GEMM", "math", "store", "DMA write"} {
		f.Series = append(f.Series, draw.BarSeries{Name: stage})
	}
	is, _, _ := strings.Cut(s.curveLabel, ",")
	for _, m := range s.stages {
		for _, o := range operandVariants {
			row := s.row(o, s.curve(m))
			if row == nil {
				continue
			}
			f.Groups = append(f.Groups, fmt.Sprintf("%s = %d %s", is, m, o.name))
			for i, busy := range []torch.Time{row.DMARead, row.Fetch, row.GEMM, row.Math, row.Store, row.DMAWrite} {
				f.Series[i].Values = append(f.Series[i].Values, 100*float64(busy)/float64(row.Crit))
			}
		}
	}
	f.Series = slices.DeleteFunc(f.Series, func(b draw.BarSeries) bool { return slices.Max(b.Values) == 0 })
	return f
}

// formatInteger formats a number without a fraction.
func formatInteger(v float64) string { return strconv.Itoa(int(math.Round(v))) }

// roofline is the peak rates of some PEs of a system, from its topology: operations on
// their MAC arrays, and bytes between their HBM slices and TCM. A rate of +Inf means that
// the work takes no time.
type roofline struct {
	pes      int
	flops    float64 // operations per second of all arrays
	filled   float64 // flops reduced by the time to fill the array for every tile
	channels float64 // bytes per second of the HBM channels, reads and writes together
	port     float64 // bytes per second in each direction: the slower of slice link and DMA port
}

// newRoofline returns the roofline of the given number of PEs.
func newRoofline(s *topology.Spec, pes int) roofline {
	g, hbm := s.PE.GEMM, s.Cube.HBM
	r := roofline{
		pes: pes, flops: math.Inf(1), filled: math.Inf(1),
		channels: float64(hbm.Channels) * perSecond(hbm.ChannelBandwidth),
		port:     min(perSecond(hbm.Bandwidth), perSecond(s.PE.DMA.Bandwidth)),
	}
	if peak, ok := g.Peak(); ok {
		t := g.Tile
		r.flops = peak
		r.filled = 2 * float64(t.M) * float64(t.K) * float64(t.N) / (pe.GemmTime(g, t.M, t.K, t.N).NS() / 1e9)
	}
	for _, f := range []*float64{&r.flops, &r.filled, &r.channels, &r.port} {
		*f *= float64(pes)
	}
	return r
}

// perSecond returns a bandwidth as a number, +Inf if it is unlimited.
func perSecond(bw topology.BytesPerSec) float64 {
	if bw == topology.Unlimited {
		return math.Inf(1)
	}
	return float64(bw)
}

// bandwidth returns the memory ceiling: the maximum number of bytes per second that can
// move, for the best mix of reads and writes.
func (r roofline) bandwidth() float64 { return min(r.channels, 2*r.port) }

// finite reports whether both the peak rate and the bandwidth are finite, so that a
// roofline can be drawn.
func (r roofline) finite() bool { return !math.IsInf(r.flops, 1) && !math.IsInf(r.bandwidth(), 1) }

// ridge returns the number of operations per byte above which arithmetic, and not memory,
// is the limit.
func (r roofline) ridge() float64 { return r.flops / r.bandwidth() }

// minTime returns a lower bound on the time of a product: the time that the MAC arrays need
// for its operations, or the time to move its bytes between memory and TCM, whichever is
// longer.
func (r roofline) minTime(flops float64, read, written topology.Bytes) torch.Time {
	in, out := float64(read), float64(written)
	return torch.Time(math.Round(1e15 * max(flops/r.flops, (in+out)/r.channels, max(in, out)/r.port)))
}

// String returns the ceilings as text.
func (r roofline) String() string {
	if !r.finite() {
		return "arithmetic or memory that takes no time"
	}
	return fmt.Sprintf("%.4g TFLOP/s and %g GB/s, %.3g operations for each byte", r.flops/1e12, r.bandwidth()/1e9, r.ridge())
}

// formula returns the formula of the lower bound as text.
func (r roofline) formula() string {
	return fmt.Sprintf("Theory: max(2·M·K·N / %.4g TFLOP/s, bytes / %g GB/s), of the bytes that move between HBM and TCM", r.flops/1e12, r.bandwidth()/1e9)
}

// rounding is the relative amount by which a simulated time may be below the lower bound.
// The time of every flit is rounded to a femtosecond, which is 0.01 % of a flit's time on a
// link of 10 TB/s.
const rounding = 1e-4

// checkAboveRoofline returns a check that fails if a simulated time is below its lower
// bound.
func checkAboveRoofline(rows []gemmResult) torch.Check {
	check := torch.Check{Name: "no time below the roofline"}
	for _, r := range rows {
		if check.Wrong == "" && float64(r.Crit) < float64(r.Roofline)*(1-rounding) {
			check.Wrong = fmt.Sprintf("%v took %v, and the theory says at least %v", r.gemmPoint, r.Crit, r.Roofline)
		}
	}
	return check
}

// traffic returns the bytes that a PE reads from HBM and writes to HBM for its part of a
// product. A loaded operand is read once. A streamed operand is read again for every tile
// of the result that needs its rows or columns.
func traffic(tile topology.Dims3, o operands, part topology.Dims3) (read, written topology.Bytes) {
	elem := topology.Bytes(torch.F16.Size())
	a := elem * topology.Bytes(part.M) * topology.Bytes(part.K)
	b := elem * topology.Bytes(part.K) * topology.Bytes(part.N)
	if !o.loadA {
		a *= topology.Bytes(tl.CDiv(part.N, tile.N))
	}
	if !o.loadB {
		b *= topology.Bytes(tl.CDiv(part.M, tile.M))
	}
	return a + b, elem * topology.Bytes(part.M) * topology.Bytes(part.N)
}
