package benches

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/reference"
	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/internal/results"
	"github.com/kernbench/kernbench/torch"
)

// writePage writes the figures, and report.html with all of them.
func (m *cclMilestone) writePage(ctx *torch.Context) error {
	page := report.Page{
		Title: "Milestone 1H: collectives",
		Lead: "All-reduce by center_root over 6 SIPs of 4×4 cubes, simulated: f16 tensors that have an addend on the first PE of each cube, " +
			"every rank a SIP. Latency is the longest that the all-reduce ran on a PE. No algorithm takes less time than the bound.",
		Reproduce: []string{"# beside this page:", "kernbench run milestone-1h-ccl --out . --topology topology.yaml --ccl ccl.yaml --max-elems " + ctx.Param("max-elems") + flags(ctx)},
		Facts:     m.facts(ctx),
		Config: []report.PageFile{
			{Name: "topology.yaml", Text: string(ctx.Topology().Spec().YAML())},
			{Name: "ccl.yaml", Text: string(ctx.CCL().YAML())},
		},
	}
	for _, section := range []func(*torch.Context) (report.PageSection, error){m.latencySection, m.bufferSection, m.systemSection, m.fsimSection} {
		s, err := section(ctx)
		if err != nil {
			return err
		}
		page.Sections = append(page.Sections, s)
	}
	return writePage(ctx, &page)
}

// facts is what the results were made with, and how the checks came out.
func (m *cclMilestone) facts(ctx *torch.Context) [][2]string {
	used := report.UsedBy(ctx.Topology().Spec())
	return [][2]string{
		{"kernbench", report.Version},
		{"topology", fmt.Sprintf("%s (hash %s)", used.Source, used.Hash)},
		{"ccl", fmt.Sprintf("%s (hash %s)", ctx.CCL().Source(), ctx.CCL().Hash())},
		{"points", fmt.Sprint(len(m.points))},
		{"values", bench.Verdict(ctx.HasData(), ctx.Report.Checks)},
	}
}

func (m *cclMilestone) latencySection(ctx *torch.Context) (s report.PageSection, err error) {
	systems := m.series(latencySweep)
	var list []sectionFigure
	note := fmt.Sprintf("f16, an addend on the first PE of each of 96 cubes, queue slots in %s.", memoryName(systems[0][0].kind))
	list = append(list, sectionFigure{"latency_topologies", "The three systems, with the bound of each.",
		latencyFigure("center_root all-reduce over 6 SIPs", strings.Join([]string{note, "No algorithm is faster than the bound.", sameText(systems)}, " "), systems...)})
	for _, line := range systems {
		list = append(list, sectionFigure{"latency_" + string(line[0].at.shape), fmt.Sprintf("%v alone.", line[0].at),
			latencyFigure(fmt.Sprintf("center_root all-reduce on a %v", line[0].at), note, line)})
	}
	s = report.PageSection{Heading: "Latency by size and topology", Text: latencyText(systems), Tables: []report.PageTable{pageTable("summary.csv", m.summary())}}
	s.Figures, err = writeFigures(ctx, list)
	return s, err
}

func (m *cclMilestone) bufferSection(ctx *torch.Context) (s report.PageSection, err error) {
	kinds := m.series(bufferSweep)
	s = report.PageSection{Heading: "Memory of the queue slots", Text: bufferText(kinds), Tables: []report.PageTable{pageTable("buffer_kind.csv", m.bufferKinds())}}
	s.Figures, err = writeFigures(ctx, []sectionFigure{{"buffer_kind", "Latency by size, for queue slots in each of the memories.",
		bufferFigure(kinds, "f16, an addend on the first PE of each of 96 cubes.")}})
	return s, err
}

func (m *cclMilestone) systemSection(ctx *torch.Context) (s report.PageSection, err error) {
	table := report.PageTable{Caption: "SIPs and cubes are as here; all other numbers are those of topology.yaml, below.", Columns: []string{"sweep", "system", "cubes of a SIP", "hash"}}
	for _, at := range m.arrangements() {
		name := latencySweep
		if at == torus3x2 {
			name = bufferSweep
		}
		table.Rows = append(table.Rows, []string{name, at.String(), "4×4", m.systems[at].Spec().Hash()})
	}
	link := m.systems[torus3x2].Spec().System.SIPs.Link
	note := fmt.Sprintf("Links between neighbours: %d × %s each way, %s.", link.Links,
		strings.Replace(link.Bandwidth.String(), "GB/s", " GB/s", 1), draw.Nanoseconds(link.Latency.NS()))
	s = report.PageSection{Heading: "Systems", Tables: []report.PageTable{table}}
	s.Figures, err = writeFigures(ctx, []sectionFigure{{"topology", "The systems of the latency sweep. That of the queue slots is the torus with 3 columns and 2 rows.", m.systemsFigure(note)}})
	return s, err
}

func (m *cclMilestone) fsimSection(ctx *torch.Context) (s report.PageSection, err error) {
	fsim, err := reference.Get("fsim")
	if err != nil {
		return s, err
	}
	systems := m.series(latencySweep)
	s = report.PageSection{Heading: "Beside FSIM", Text: fsimText(fsim, systems)}
	s.Figures, err = writeFigures(ctx, []sectionFigure{{"fsim", "The largest size on each system, and FSIM, whose workload is not known.",
		fsimFigure(systems, fsim.Number(0, "latency_us"), "FSIM: "+fsimKnown(fsim))}})
	return s, err
}

// sectionFigure is a figure of a section, by the name of its files.
type sectionFigure struct {
	name, caption string
	figure        draw.Figure
}

func writeFigures(ctx *torch.Context, list []sectionFigure) (figures []report.PageFigure, err error) {
	for _, f := range list {
		figure, err := writeFigure(ctx, f.name, f.caption, f.figure)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure)
	}
	return figures, nil
}

func pageTable(caption string, t *results.Table) report.PageTable {
	return report.PageTable{Caption: caption, Columns: t.Columns, Rows: t.Rows}
}
