package benches

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// gemmSubtitle is what all products have in common.
const gemmSubtitle = "products of f16, M × K by K × N, as composite commands"

// namedFigure is a figure with the beginning of its file's name and what it shows.
type namedFigure struct {
	name, caption string
	draw.Figure
}

// figures returns those of a sweep, none of a system whose arithmetic or memory takes no time.
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

// drawRoofline draws operations a second over operations a byte.
func (s *gemmSweep) drawRoofline() draw.Figure {
	r := s.roofline
	low, high := math.Inf(1), r.ridge()*2
	f := draw.Lines{
		Title:    fmt.Sprintf("Matrix products on %s beside the roofline", s.title),
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
		draw.Series{Name: "roofline (theory)", Bound: true, X: []float64{low, r.ridge(), high}, Y: []float64{r.ceiling(low) / 1e12, r.flops / 1e12, r.flops / 1e12}},
		draw.Series{Name: "with the filling of the array (theory)", Bound: true, X: []float64{r.filled / r.bandwidth(), high}, Y: []float64{r.filled / 1e12, r.filled / 1e12}},
	)
	return f
}

// drawTimes draws times along the curve of the grid.
func (s *gemmSweep) drawTimes() draw.Figure {
	f := draw.Lines{
		Title:    fmt.Sprintf("Time of matrix products on %s", s.title),
		Subtitle: gemmSubtitle,
		Note:     s.roofline.formula(),
		X:        draw.Axis{Label: s.along, Log: true, Format: whole},
		Y:        draw.Axis{Label: "time", Log: true, Format: table.Unit("ns").Format},
	}
	for _, theory := range []bool{false, true} {
		for _, o := range operandVariants {
			series := draw.Series{Name: o.name, Bound: theory}
			for _, m := range s.m {
				row := s.row(o, s.curve(m))
				if row == nil {
					continue
				}
				series.X = append(series.X, float64(m))
				if theory {
					series.Name = o.name + " (theory)"
					series.Y = append(series.Y, row.Roofline.NS())
				} else {
					series.Y = append(series.Y, row.Crit.NS())
				}
			}
			if len(series.X) > 0 {
				f.Series = append(f.Series, series)
			}
		}
	}
	return f
}

// drawUtilization draws how much the GEMM engines of a variant work, by m and n; nil if none
// of the products fit.
func (s *gemmSweep) drawUtilization(o operands) draw.Figure {
	f := draw.HeatMap{
		Title:    fmt.Sprintf("Utilization of the GEMM engine on %s, %s", s.title, o.name),
		Subtitle: gemmSubtitle,
		Note:     fmt.Sprintf("K = %d. The share of the critical path that the GEMM engines of all PEs work; – where operands do not fit into TCM", s.slice),
		X:        "N", Y: "M", Unit: "%", Max: 100,
		Format: whole,
	}
	for _, n := range s.n {
		f.Columns = append(f.Columns, strconv.Itoa(n))
	}
	some := false
	for _, m := range s.m {
		values := make([]float64, len(s.n))
		for i, n := range s.n {
			values[i] = math.NaN()
			if row := s.row(o, topology.Dims3{M: m, K: s.slice, N: n}); row != nil {
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

// drawStages draws how much of the time each stage of chosen products works.
func (s *gemmSweep) drawStages() draw.Figure {
	f := draw.Bars{
		Title:    fmt.Sprintf("Stages of matrix products on %s", s.title),
		Subtitle: gemmSubtitle,
		Note:     "Busy times of the PE that ends last, in % of the time that the product takes. Stages overlap.",
		X:        s.along + ", by how operands are given",
		Y:        draw.Axis{Label: "busy", Unit: "% of the time"},
	}
	stages := []struct {
		name string
		of   func(*gemmFound) torch.Time
	}{
		{"DMA read", func(r *gemmFound) torch.Time { return r.DMARead }},
		{"fetch", func(r *gemmFound) torch.Time { return r.Fetch }},
		{"GEMM", func(r *gemmFound) torch.Time { return r.GEMM }},
		{"math", func(r *gemmFound) torch.Time { return r.Math }},
		{"store", func(r *gemmFound) torch.Time { return r.Store }},
		{"DMA write", func(r *gemmFound) torch.Time { return r.DMAWrite }},
	}
	for _, stage := range stages {
		f.Series = append(f.Series, draw.BarSeries{Name: stage.name})
	}
	is, _, _ := strings.Cut(s.along, ",")
	for _, m := range s.stages {
		for _, o := range operandVariants {
			row := s.row(o, s.curve(m))
			if row == nil {
				continue
			}
			f.Groups = append(f.Groups, fmt.Sprintf("%s = %d %s", is, m, o.name))
			for i, stage := range stages {
				f.Series[i].Values = append(f.Series[i].Values, 100*float64(stage.of(row))/float64(row.Crit))
			}
		}
	}
	f.Series = slices.DeleteFunc(f.Series, func(b draw.BarSeries) bool { return slices.Max(b.Values) == 0 })
	return f
}

// whole returns a number without a fraction.
func whole(v float64) string { return strconv.Itoa(int(math.Round(v))) }
