package benches

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// cclSubtitle is what all points have in common.
const cclSubtitle = "all_reduce of f16, an addend on the first PE of each of 96 cubes"

// latencyFigure draws the latencies of some systems by size, and their bounds.
func latencyFigure(title string, systems ...[]cclFound) draw.Lines {
	f := draw.Lines{
		Title: title, Subtitle: fmt.Sprintf("%s, queue slots in %s", cclSubtitle, memoryName(systems[0][0].Kind)),
		X: draw.Axis{Label: "data on each PE", Log: true, Format: table.Unit("B").Format},
		Y: draw.Axis{Label: "latency", Unit: "µs", Log: true, Format: draw.SI},
	}
	var bounds []draw.Series
	for _, s := range systems {
		line, bound := draw.Series{Name: "simulated"}, draw.Series{Name: "bound", Bound: true}
		if len(systems) > 1 {
			line.Name, bound.Name = s[0].at.String(), fmt.Sprintf("bound of %s", s[0].Shape)
		}
		for _, p := range s {
			x := float64(p.BytesPerPE)
			line.X, line.Y = append(line.X, x), append(line.Y, micros(p.Latency))
			bound.X, bound.Y = append(bound.X, x), append(bound.Y, micros(p.Bound))
		}
		f.Series, bounds = append(f.Series, line), append(bounds, bound)
	}
	f.Series = append(f.Series, bounds...)
	return f
}

// bufferFigure draws the latencies by size and memory of the queue slots.
func bufferFigure(kinds [][]cclFound) draw.Bars {
	f := draw.Bars{
		Title:    fmt.Sprintf("center_root all-reduce on a %v, by memory of the queue slots", kinds[0][0].at),
		Subtitle: cclSubtitle, X: "data on each PE", Y: draw.Axis{Label: "latency", Unit: "µs", Format: draw.SI},
	}
	bound := draw.BarSeries{Name: "bound", Bound: true}
	for _, p := range kinds[0] {
		f.Groups = append(f.Groups, p.size())
		bound.Values = append(bound.Values, micros(p.Bound))
	}
	for _, s := range kinds {
		bars := draw.BarSeries{Name: memoryName(s[0].Kind)}
		for _, p := range s {
			bars.Values = append(bars.Values, micros(p.Latency))
		}
		f.Series = append(f.Series, bars)
	}
	f.Series = append(f.Series, bound)
	return f
}

// systemsFigure draws the systems of the latency sweep: SIPs and the links between them.
func (m *cclMilestone) systemsFigure() draw.Systems {
	f := draw.Systems{Title: "Systems of 6 SIPs with 4×4 cubes each"}
	for _, at := range latencySystems {
		f.Panels = append(f.Panels, draw.SystemPanel{Title: at.String(), Graph: m.systems[at]})
	}
	return f
}

func memoryName(kind topology.BufferKind) string { return strings.ToUpper(string(kind)) }

// size returns the size of an addend as text.
func (p *cclFound) size() string { return table.Unit("B").Format(float64(p.BytesPerPE)) }

// micros returns a time as figures have it.
func micros(t torch.Time) float64 { return t.NS() / 1000 }
