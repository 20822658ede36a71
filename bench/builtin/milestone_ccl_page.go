package builtin

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/compare"
	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// writePage writes the figures as files, and the page report.html that shows all figures.
func (m *cclMilestone) writePage(e *bench.E, found cclResults) error {
	p := e.Page("Milestone 1H: collectives",
		"All-reduce by center_root over 6 SIPs of 4×4 cubes, simulated: f16 tensors that have an addend on the first PE of each cube, "+
			"every rank a SIP. Latency is the longest that the all-reduce ran on a PE. No algorithm takes less time than the bound.")
	systems := found.series(latencySweep)
	latencySection(p, systems, e.Table())
	kinds := found.series(bufferSweep)
	p.Section("Memory of the queue slots", bufferText(kinds))
	p.Table("buffer_kind.csv", bufferTable(e.Table()))
	torch.OK(p.Figure("buffer_kind", "Latency by size, for queue slots in each of the memories.", pageFigure{bufferFigure(kinds)}))
	m.systemSection(p)
	fsimSection(p, systems)
	return p.Write()
}

// pageFigure is a figure of internal/draw on a page.
type pageFigure struct{ figure draw.Figure }

func (d pageFigure) Encode(name string) ([]byte, error) { return draw.Encode(name, d.figure) }

// latencySection adds the section about the latency sweep: text, a table, a figure of all
// systems and a figure of each system.
func latencySection(p *bench.Page, systems [][]cclResult, t *table.Table) {
	p.Section("Latency by size and topology", latencyText(systems))
	p.Table("summary.csv", summaryTable(t))
	f := latencyFigure("center_root all-reduce over 6 SIPs", systems...)
	f.Note = strings.TrimSpace("No algorithm is faster than the bound. " + sameText(systems))
	torch.OK(p.Figure("latency_topologies", "The three systems, with the bound of each.", pageFigure{f}))
	for _, line := range systems {
		at := line[0].at
		f := latencyFigure(fmt.Sprintf("center_root all-reduce on a %v", at), line)
		torch.OK(p.Figure("latency_"+string(at.shape), fmt.Sprintf("%v alone.", at), pageFigure{f}))
	}
}

// systemSection adds a section with a table and a figure of the measured systems.
func (m *cclMilestone) systemSection(p *bench.Page) {
	t := &table.Table{Columns: []table.Column{{Name: "sweep"}, {Name: "system"}, {Name: "cubes of a SIP"}, {Name: "hash"}}}
	for _, at := range allSystems {
		name := latencySweep
		if at == torus3x2 {
			name = bufferSweep
		}
		t.Rows = append(t.Rows, []any{name, at.String(), "4×4", m.systems[at].Spec().Hash()})
	}
	p.Section("Systems", "")
	p.Table("SIPs and cubes are as here; all other numbers are those of topology.yaml, below.", t)
	torch.OK(p.Figure("topology", "The systems of the latency sweep. That of the queue slots is the torus with 3 columns and 2 rows.", pageFigure{m.systemsFigure()}))
}

// fsimSection adds a section that shows the measured latencies together with the time of
// FSIM, an external result.
func fsimSection(p *bench.Page, systems [][]cclResult) {
	fsim := torch.Must(compare.GetReference("fsim"))
	us := fsim.Number(0, "latency_us")
	p.Section("Next to FSIM", fmt.Sprintf("FSIM says %g µs: %s What FSIM did in its time is not known, nor for which size: its line has no place along the sizes. "+
		"The figure shows the two together and does not say that one machine is faster than the other.", us, describeFSIM(fsim)))
	f := latencyFigure("center_root all-reduce of the model and an external result", systems...)
	first, last := float64(systems[0][0].BytesPerPE), float64(systems[0][len(systems[0])-1].BytesPerPE)
	f.Series = append(f.Series, draw.Series{Name: fmt.Sprintf("FSIM: %g µs", us), Bound: true, X: []float64{first, last}, Y: []float64{us, us}})
	f.Note = "FSIM: " + describeFSIM(fsim)
	torch.OK(p.Figure("fsim", "Latency of the model over sizes with its bounds, and the time of FSIM, whose workload is not known.", pageFigure{f}))
}

// describeFSIM returns text about the external result r: what is known about it and what is
// not.
func describeFSIM(r *compare.Reference) string {
	return strings.Join(r.About, "; ") + ". Not known: " + strings.Join(r.Unknown, "; ") + "."
}

// latencyText returns a paragraph for each system. The paragraph compares the latencies of
// the smallest and the largest size with their bounds. A last paragraph names systems with
// equal latencies.
func latencyText(systems [][]cclResult) string {
	var paragraphs []string
	for _, s := range systems {
		first, last := s[0], s[len(s)-1]
		paragraphs = append(paragraphs, fmt.Sprintf("On a %v, latency rises from %.2f µs for %s on each PE to %.2f µs for %s: %.1f and %.1f times the bound.",
			first.at, micros(first.Latency), first.size(), micros(last.Latency), last.size(), first.overBound(), last.overBound()))
	}
	if text := sameText(systems); text != "" {
		paragraphs = append(paragraphs, text)
	}
	return strings.Join(paragraphs, "\n\n")
}

// sameText returns a sentence for each pair of systems whose latencies are equal for the
// smallest sizes. The sentence says up to which size they are equal. In the figure, the
// lines of the two systems cover each other there.
func sameText(systems [][]cclResult) string {
	var sentences []string
	for i, a := range systems {
		for _, b := range systems[:i] {
			same := 0
			for same < len(a) && a[same].Latency == b[same].Latency {
				same++
			}
			if same > 0 {
				sentences = append(sentences, fmt.Sprintf("%s and %s take the same time up to %s.", b[0].Shape, a[0].Shape, a[same-1].size()))
			}
		}
	}
	return strings.Join(sentences, " ")
}

// bufferText returns text about the memory of the queue slots. The text compares the
// latency for each memory with the latency for the first memory.
func bufferText(kinds [][]cclResult) string {
	var sentences []string
	for _, s := range kinds[1:] {
		var sizes []string
		for i, p := range s {
			more := float64(p.Latency)/float64(kinds[0][i].Latency) - 1
			sizes = append(sizes, fmt.Sprintf("%+.1f %% for %s", 100*more, p.size()))
		}
		sentences = append(sentences, fmt.Sprintf("Compared with slots in %s, those in %s change latency by %s.",
			memoryName(kinds[0][0].Kind), memoryName(s[0].Kind), strings.Join(sizes, ", ")))
	}
	return strings.Join(sentences, " ")
}

// cclSubtitle describes what all points have in common.
const cclSubtitle = "all_reduce of f16, an addend on the first PE of each of 96 cubes"

// latencyFigure draws the latencies of the given systems over the size, together with their
// bounds.
func latencyFigure(title string, systems ...[]cclResult) draw.Lines {
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

// bufferFigure draws the latencies as bars, by size and by memory of the queue slots.
func bufferFigure(kinds [][]cclResult) draw.Bars {
	f := draw.Bars{
		Title:    fmt.Sprintf("center_root all-reduce on a %v, by memory of slots", kinds[0][0].at),
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

// memoryName returns the name of a memory in figures and text.
func memoryName(kind topology.BufferKind) string { return strings.ToUpper(string(kind)) }

// size returns the size of an addend as text.
func (p *cclResult) size() string { return table.Unit("B").Format(float64(p.BytesPerPE)) }

// micros returns a time in microseconds, for figures.
func micros(t torch.Time) float64 { return t.NS() / 1000 }
