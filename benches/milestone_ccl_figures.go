package benches

import (
	"fmt"
	"math"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/topology"
)

// latencyFigure is the latencies of some systems by size, and their bounds.
func latencyFigure(title, note string, systems ...[]cclPoint) draw.Lines {
	f := draw.Lines{
		Title: title, Note: note,
		X: draw.Axis{Label: "bytes on each PE", Log: true, Format: draw.Bytes},
		Y: draw.Axis{Label: "latency", Unit: "µs", Log: true, Format: draw.SI},
	}
	var bounds []draw.Series
	for _, s := range systems {
		line, bound := draw.Series{Name: "simulated"}, draw.Series{Name: "bound: no algorithm is faster", Bound: true}
		if len(systems) > 1 {
			line.Name, bound.Name = s[0].at.String(), fmt.Sprintf("bound of %s", s[0].at.shape)
		}
		for _, p := range s {
			x := float64(p.row.BytesPerPE)
			line.X, line.Y = append(line.X, x), append(line.Y, micros(p.row.Latency))
			bound.X, bound.Y = append(bound.X, x), append(bound.Y, micros(p.row.Bound))
		}
		f.Series, bounds = append(f.Series, line), append(bounds, bound)
	}
	f.Series = append(f.Series, bounds...)
	return f
}

// bufferFigure is the latencies by size and memory of the queue slots.
func bufferFigure(kinds [][]cclPoint, note string) draw.Bars {
	f := draw.Bars{
		Title: fmt.Sprintf("center_root all-reduce on a %v, by memory of the queue slots", kinds[0][0].at),
		Note:  note, X: "bytes on each PE", Y: draw.Axis{Label: "latency", Unit: "µs", Format: draw.SI},
	}
	for _, p := range kinds[0] {
		f.Groups = append(f.Groups, p.size())
	}
	for _, s := range kinds {
		bars := draw.BarSeries{Name: memoryName(s[0].kind)}
		for _, p := range s {
			bars.Values = append(bars.Values, micros(p.row.Latency))
		}
		f.Series = append(f.Series, bars)
	}
	return f
}

// fsimFigure is the latencies of the largest size beside an external figure.
func fsimFigure(systems [][]cclPoint, fsim float64, note string) draw.Bars {
	f := draw.Bars{
		Title: "center_root all-reduce of the model beside an external result",
		Note:  note, Y: draw.Axis{Label: "latency", Unit: "µs", Format: draw.SI},
	}
	last := len(systems[0]) - 1
	model := draw.BarSeries{Name: fmt.Sprintf("model, %s on each of 96 PEs", systems[0][last].size())}
	other := draw.BarSeries{Name: "FSIM, a single device, workload not known"}
	most := 0.0
	for _, s := range systems {
		f.Groups = append(f.Groups, s[0].at.String())
		most = max(most, micros(s[last].row.Latency))
		model.Values, other.Values = append(model.Values, micros(s[last].row.Latency)), append(other.Values, math.NaN())
	}
	f.Groups = append(f.Groups, "FSIM")
	model.Values, other.Values = append(model.Values, math.NaN()), append(other.Values, fsim)
	f.Series = []draw.BarSeries{model, other}
	// Above what is left out FSIM has as much room as the model below.
	if from, to := 5*math.Ceil(most*1.2/5), 5*math.Floor(fsim*0.99/5); from < to/2 {
		f.Break, f.Y.Max = [2]float64{from, to}, to+from
		f.Note += fmt.Sprintf(" Axis cut from %g to %g µs.", from, to)
	}
	return f
}

// systemsFigure draws the systems of the latency sweep: SIPs and the links between them.
func (m *cclMilestone) systemsFigure(note string) draw.Systems {
	f := draw.Systems{Title: "Systems of 6 SIPs with 4×4 cubes each", Note: note}
	for _, at := range latencySystems {
		f.Panels = append(f.Panels, draw.SystemPanel{Title: at.String(), Graph: m.systems[at]})
	}
	return f
}

func memoryName(kind topology.BufferKind) string { return strings.ToUpper(string(kind)) }
