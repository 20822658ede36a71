package bench

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/page"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

// Page is the page report.html of an experiment. It shows the configuration, whether the
// values are right, the command that reproduces the files, and sections with text, figures
// and tables.
type Page struct {
	e    *E
	page page.Page
}

// Figure is a picture for a [Page], such as a chart.Gantt.
type Figure interface {
	// Encode returns the picture in the format that the file name implies: .svg or .png.
	Encode(name string) ([]byte, error)
}

// Page returns an empty page.
func (e *E) Page(title, lead string) *Page { return &Page{e, page.Page{Title: title, Lead: lead}} }

// Fact adds a line to the table at the top of the page.
func (p *Page) Fact(name, value string) { p.page.Facts = append(p.page.Facts, [2]string{name, value}) }

// Section begins a new section. Later calls of Table and Figure add to it. An empty line in
// the text separates paragraphs.
func (p *Page) Section(heading, text string) {
	p.page.Sections = append(p.page.Sections, page.Section{Heading: heading, Text: text})
}

// section returns the current section. It panics with a *torch.Error if there is none.
func (p *Page) section(op string) *page.Section {
	if len(p.page.Sections) == 0 {
		panic(misuse(op, "the page has no section yet: call Section first"))
	}
	return &p.page.Sections[len(p.page.Sections)-1]
}

// Table adds a table to the current section. It panics with a *torch.Error if there is no
// section.
func (p *Page) Table(caption string, t *table.Table) {
	s := p.section("Table")
	s.Tables = append(s.Tables, page.Table{Caption: caption, Table: t})
}

// Figure adds a figure to the current section and writes it to NAME.svg and NAME.png. It
// panics with a *torch.Error if there is no section.
func (p *Page) Figure(name, caption string, f Figure) error {
	s := p.section("Figure")
	svg, err := f.Encode(name + ".svg")
	if err != nil {
		return err
	}
	png, err := f.Encode(name + ".png")
	if err != nil {
		return err
	}
	s.Figures = append(s.Figures, page.Figure{Caption: caption, SVG: svg})
	return errors.Join(p.e.Write(name+".svg", svg), p.e.Write(name+".png", png))
}

// Write writes the page, and next to it the files of the configuration.
func (p *Page) Write() error {
	e := p.e
	command := fmt.Sprintf("kernbench run %s --out . --topology topology.yaml", e.bench.Name)
	files := []page.File{{Name: "topology.yaml", Text: string(e.Topology.Spec().YAML())}}
	facts := [][2]string{{"kernbench", version.Version}, {"topology", topology.OriginOf(e.Topology.Spec()).String()}}
	if e.bench.Uses&UsesCollectives != 0 {
		command += " --ccl ccl.yaml"
		files = append(files, page.File{Name: "ccl.yaml", Text: string(e.CCL.YAML())})
		facts = append(facts, [2]string{"ccl", topology.OriginOf(e.CCL).String()})
	}
	facts = append(facts, [2]string{"rows", fmt.Sprint(len(e.result.Rows.Rows))}, [2]string{"values", Verdict(!e.Options.NoData, e.result.Checks)})
	for _, param := range e.bench.Params {
		command += fmt.Sprintf(" --%s %s", param.Name, e.Param(param.Name))
	}
	if e.Options.NoData {
		command += " --data=off"
	}
	if e.Options.Flit {
		command += " --fidelity=flit"
	}
	for _, f := range files {
		if err := e.Write(f.Name, []byte(f.Text)); err != nil {
			return err
		}
	}
	whole := p.page
	whole.Config, whole.Facts, whole.Reproduce = files, append(facts, whole.Facts...), []string{"# next to this page:", command}
	var b strings.Builder
	if err := whole.WriteHTML(&b); err != nil {
		return err
	}
	return e.Write("report.html", []byte(b.String()))
}
