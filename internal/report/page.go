package report

import (
	_ "embed" // the template
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/version"
)

// Page is a page of results in one file: figures, tables, and what it takes to get
// them again.
type Page struct {
	Title, Lead string
	Reproduce   []string    // command lines
	Facts       [][2]string // names and values, at the top
	Sections    []PageSection
	Config      []PageFile // folded away at the end
}

// PageSection is a part of a [Page]. An empty line in its text begins a paragraph.
type PageSection struct {
	Heading, Text string
	Figures       []PageFigure
	Tables        []PageTable
}

// PageFigure is a picture, which becomes part of the page.
type PageFigure struct {
	Caption string
	SVG     []byte
}

// PageTable is rows of text. Columns of numbers are set to the right.
type PageTable struct {
	Caption string
	Columns []string
	Rows    [][]string
}

// PageFile is the text of a file, such as a configuration.
type PageFile struct{ Name, Text string }

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"paragraphs": paragraphs,
	"number":     func(i int) int { return i + 1 },
}).Parse(pageText))

// pageView is a page with its figures as parts of it.
type pageView struct {
	*Page
	Version  string
	Sections []sectionView
}

type sectionView struct {
	PageSection
	Figures []figureView
	Tables  []tableView
}

type figureView struct {
	Caption string
	SVG     template.HTML
}

type tableView struct {
	PageTable
	Numeric []bool // by column
}

// WriteHTML writes the page: no scripts, nothing outside of it, to be read by day and
// by night and printed. A picture that would bring in either is refused. What is not
// printable is escaped.
func (p *Page) WriteHTML(w io.Writer) error {
	view := pageView{Page: p, Version: version.Version}
	figures := 0
	for _, s := range p.Sections {
		part := sectionView{PageSection: s}
		for _, f := range s.Figures {
			figures++
			svg, err := inline(f.SVG, fmt.Sprintf("f%d-", figures))
			if err != nil {
				return fmt.Errorf("page %q, figure %d (%s): %w", p.Title, figures, f.Caption, err)
			}
			part.Figures = append(part.Figures, figureView{f.Caption, template.HTML(svg)})
		}
		for _, t := range s.Tables {
			numeric, err := t.numeric()
			if err != nil {
				return fmt.Errorf("page %q: %w", p.Title, err)
			}
			part.Tables = append(part.Tables, tableView{t, numeric})
		}
		view.Sections = append(view.Sections, part)
	}
	text := &printable.Writer{W: w}
	if err := pageTemplate.Execute(text, view); err != nil {
		return err
	}
	return text.Flush()
}

// numeric is which columns hold numbers, with or without a unit.
func (t PageTable) numeric() ([]bool, error) {
	numeric := make([]bool, len(t.Columns))
	for c := range numeric {
		for r, row := range t.Rows {
			if len(row) != len(t.Columns) {
				return nil, fmt.Errorf("table %q: row %d has %d cells for %d columns: give one for each", t.Caption, r+1, len(row), len(t.Columns))
			}
			cell := strings.TrimLeft(row[c], "+-−≈")
			if cell != "" && (cell[0] < '0' || cell[0] > '9') {
				numeric[c] = false
				break
			}
			numeric[c] = numeric[c] || cell != ""
		}
	}
	return numeric, nil
}

// paragraphs is a text cut at its empty lines.
func paragraphs(text string) []string {
	var ps []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			ps = append(ps, p)
		}
	}
	return ps
}
