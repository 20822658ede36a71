package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/torch"
)

// squares is an experiment that squares numbers. The point of an odd number has no row.
type squares struct {
	reported []int
	fail     bool
	report   func(e *E) error // called instead of writing the table; may be nil
}

type number struct {
	N int `json:"n" table:",setting"`
}

type square struct {
	Square int `json:"square" table:",lower"`
	Hidden int `json:"hidden"`
}

func (s *squares) Points() []number      { return []number{{2}, {3}, {4}} }
func (s *squares) Cost(p number) float64 { return float64(p.N) }

func (s *squares) Measure(e *E, p number) ([]square, error) {
	on, err := e.Machine(e.Topology)
	if err != nil {
		return nil, err
	}
	defer on.Close()
	switch {
	case s.fail && p.N == 3:
		torch.OK(errors.New("no room"))
	case p.N%2 == 1:
		return []square{}, nil
	}
	return []square{{p.N * p.N, 7}}, nil
}

func (s *squares) Report(e *E, points []number, found [][]square) error {
	for _, rows := range found {
		for _, r := range rows {
			s.reported = append(s.reported, r.Square, r.Hidden)
		}
	}
	e.AddCheck(torch.Check{Name: "fine"})
	if s.report != nil {
		return s.report(e)
	}
	return e.WriteTable("squares.csv", e.Table())
}

func squaresBench(t *testing.T, s *squares) Bench {
	return Bench{
		Name: "squares", Folder: t.TempDir(), Files: []string{"points.jsonl", "squares.csv"},
		Experiment: NewExperiment(func(*E) (*squares, error) { return s, nil }),
	}
}

// TestExperiment checks that rows consist of the settings and the results of points,
// measured now or in an earlier run. It also checks that an experiment creates no machines
// other than those that points create.
func TestExperiment(t *testing.T) {
	s := &squares{}
	b := squaresBench(t, s)
	first := execute(t, b, Options{})
	const table = "#role,setting,lower\nn,square\n2,4\n4,16\n"
	text, err := os.ReadFile(filepath.Join(b.Folder, "squares.csv"))
	if err != nil || string(text) != table {
		t.Errorf("%v, got the table\n%swant\n%s", err, text, table)
	}
	points, err := os.ReadFile(filepath.Join(b.Folder, "points.jsonl"))
	if err != nil || !strings.Contains(string(points), `"schema":{"row":[{"name":"square","role":"lower"}],"settings":[{"name":"n","role":"setting"}]}`) ||
		!strings.Contains(string(points), `{"point":1,"settings":{"n":"3"},"row":[],`) {
		t.Errorf("%v, got the points\n%s", err, points)
	}
	if want := []int{4, 7, 16, 7}; !cmp.Equal(s.reported, want) || first.Crit != 0 || !first.OK || len(first.Checks) != 1 {
		t.Errorf("reported %v, crit %v, ok %v of %v, want %v, 0, true of one check", s.reported, first.Crit, first.OK, first.Checks, want)
	}
	again := execute(t, b, Options{Resume: true})
	if diff := cmp.Diff(first, again, cmp.AllowUnexported(Result{})); diff != "" {
		t.Errorf("resumed (-first +again):\n%s", diff)
	}
}

// dot is a figure whose Encode may fail for a PNG.
type dot struct{ png error }

func (d dot) Encode(name string) ([]byte, error) {
	if filepath.Ext(name) == ".svg" {
		return []byte(`<svg id="dot"/>`), nil
	}
	return []byte("PNG"), d.png
}

// TestPage checks that a page has its facts, sections, figures and tables, and the command
// that reproduces it.
func TestPage(t *testing.T) {
	b := squaresBench(t, &squares{report: func(e *E) error {
		p := e.Page("Squares", "All of them.")
		p.Fact("sides", "equal")
		p.Section("Dots", "First.\n\nSecond.")
		p.Table("rows", e.Table())
		if err := p.Figure("bad", "", dot{errors.New("no ink")}); err == nil || err.Error() != "no ink" {
			t.Errorf("figure that fails: got %v", err)
		}
		torch.OK(p.Figure("dot", "A dot.", dot{}))
		return p.Write()
	}})
	r := execute(t, b, Options{Options: torch.Options{NoData: true}})
	var names []string
	for _, file := range r.Artifacts {
		names = append(names, filepath.Base(file))
	}
	if diff := cmp.Diff([]string{"points.jsonl", "dot.svg", "dot.png", "topology.yaml", "report.html"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join(b.Folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<h1>Squares</h1>\n<p class=\"lead\">All of them.</p>", "<th scope=\"row\">rows</th><td>2</td></tr>\n", "<th scope=\"row\">sides</th><td>equal</td></tr>\n",
		"# next to this page:\nkernbench run squares --out . --topology topology.yaml --data=off\n",
		"<h2>Dots</h2>\n<p>First.</p>\n<p>Second.</p>\n<figure>\n<svg id=\"f1-dot\"/><figcaption>A dot.</figcaption>", "<caption>rows</caption>", "<summary>topology.yaml</summary>",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	b = squaresBench(t, &squares{report: func(e *E) error { return e.Page("", "").Figure("dot", "", dot{}) }})
	if _, err := b.Execute(t.Context(), Options{}); err == nil || !strings.HasSuffix(err.Error(), ": torch: Figure: the page has no section yet: call Section first") {
		t.Errorf("figure outside of sections: got %v", err)
	}
}

// TestExperimentPanics checks that a panic in a point makes the point fail.
func TestExperimentPanics(t *testing.T) {
	_, err := squaresBench(t, &squares{fail: true}).Execute(t.Context(), Options{})
	var failed *experiment.Failed
	if !errors.As(err, &failed) || len(failed.Points) != 1 || !strings.Contains(err.Error(), "n=3): no room") {
		t.Errorf("got %v, want that n=3 failed for lack of room", err)
	}
}
