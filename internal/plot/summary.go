package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/page"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
)

// Summary describes a figure that was drawn. Its JSON is the output of `kernbench plot
// --format json`.
type Summary struct {
	Version string   `json:"version"` // version of kernbench
	File    string   `json:"file"`
	Kind    string   `json:"kind"`
	X       string   `json:"x"`
	Y       []string `json:"y"`
	By      []string `json:"by,omitempty"`
	Log     string   `json:"log"` // logarithmic axes, or none
	Out     string   `json:"out"`
	NotOK   int      `json:"not_ok"` // number of points of rows whose checks failed
	Series  []Series `json:"series"`
	chosen  []string
}

// Summary returns the summary of a figure that was drawn from the results in `file` and
// written to `out`.
func (f *Figure) Summary(file, out string) *Summary {
	return &Summary{version.Version, file, f.Kind, f.X, f.Y, f.By, f.Log, out, f.NotOK, f.Series, f.Chosen}
}

// WriteText writes the number of series and points, and the flags that were chosen.
func (s *Summary) WriteText(w io.Writer) error {
	points := collect(s.Series, func(_ Series, p Point) float64 { return p.Y })
	_, err := fmt.Fprintf(w, "%s: %d series, %d points\n", s.Out, len(s.Series), len(points))
	if len(s.chosen) > 0 {
		_, err = fmt.Fprintf(w, "chosen: %s\n", strings.Join(s.chosen, " "))
	}
	return err
}

// Results adds to a page the table t, figures of the table, and the command line that
// produced the table. It returns the page as HTML.
func Results(p page.Page, t *table.Table, command string) ([]byte, error) {
	results := page.Section{Heading: "Results", Tables: []page.Table{{Caption: "All rows. A click on a name sorts by that column.", Table: t}}}
	for _, f := range Figures(t, Request{About: cmp.Or(p.Lead, p.Title)}) {
		svg, err := draw.SVG(f)
		if err != nil {
			return nil, err
		}
		results.Figures = append(results.Figures, page.Figure{Caption: f.Title, SVG: svg})
	}
	p.Sections = append(p.Sections, results)
	p.Facts = append([][2]string{{"kernbench", version.Version}, {"rows", fmt.Sprint(len(t.Rows))}}, p.Facts...)
	p.Reproduce = []string{command}
	var b bytes.Buffer
	err := p.WriteHTML(&b)
	return b.Bytes(), err
}
