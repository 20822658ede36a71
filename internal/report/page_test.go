package report

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/version"
)

const arrowSVG = `<?xml version="1.0"?>
<!-- made by hand -->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">
<defs><marker id="arrow"><path d="M0 0"/></marker></defs>
<path marker-end="url(#arrow)" d="M0 0L9 9"/><use href="#arrow"/>
</svg>
`

func examplePage() *Page {
	return &Page{
		Title: "All-reduce <milestone>", Lead: "First paragraph.\n\nSecond, with a & b.",
		Reproduce: []string{"kernbench run --bench milestone-1h-ccl", "kernbench plot summary.csv -x n_elem -y latency_ns -o fig.svg"},
		Facts:     [][2]string{{"version", "0.1.0"}, {"topology", "preset ring6"}},
		Sections: []PageSection{
			{Heading: "Latency", Text: "Grows with size.", Figures: []PageFigure{{"by topology", []byte(arrowSVG)}, {"", []byte(arrowSVG)}}},
			{Heading: "Numbers", Tables: []PageTable{{"latencies", []string{"topology", "latency", "share"}, [][]string{{"ring_1d", "5.2 µs", "1"}, {"torus_2d", "3.9 µs", ""}}}}},
			{Heading: "Rest"},
		},
		Config: []PageFile{{"topology.yaml", "system:\n  sips: {count: 6} # <six>\n"}},
	}
}

func writePage(t *testing.T, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	html := writePage(t, examplePage())
	for _, want := range []string{
		"<!DOCTYPE html>\n<html lang=\"en\">\n",
		"<title>All-reduce &lt;milestone&gt;</title>",
		"<p class=\"lead\">First paragraph.</p>\n<p class=\"lead\">Second, with a &amp; b.</p>\n",
		"<tr><th scope=\"row\">topology</th><td>preset ring6</td></tr>\n",
		"<pre><code>kernbench run --bench milestone-1h-ccl\nkernbench plot summary.csv -x n_elem -y latency_ns -o fig.svg\n</code></pre>\n",
		"<li><a href=\"#s2\">Numbers</a></li>\n",
		"<section id=\"s1\">\n<h2>Latency</h2>\n<p>Grows with size.</p>\n<figure>\n<svg ",
		"<figcaption>by topology</figcaption>\n</figure>\n",
		"<marker id=\"f1-arrow\">", "marker-end=\"url(#f1-arrow)\"", "href=\"#f1-arrow\"",
		"<marker id=\"f2-arrow\">", "marker-end=\"url(#f2-arrow)\"", "href=\"#f2-arrow\"",
		"<thead><tr><th scope=\"col\">topology</th><th scope=\"col\" class=\"n\">latency</th><th scope=\"col\" class=\"n\">share</th></tr></thead>\n",
		"<tr><td>torus_2d</td><td class=\"n\">3.9 µs</td><td class=\"n\"></td></tr>\n",
		"<details>\n<summary>topology.yaml</summary>\n<pre><code>system:\n  sips: {count: 6} # &lt;six&gt;\n</code></pre>\n</details>\n",
		"<footer>kernbench " + version.Version + "</footer>",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q:\n%s", want, html)
		}
	}
	if again := writePage(t, examplePage()); again != html {
		t.Errorf("the page differs the second time: %d bytes, then %d", len(html), len(again))
	}
}

// TestPageIsWhole wants nothing in a page that runs, or that is somewhere else.
func TestPageIsWhole(t *testing.T) {
	html := writePage(t, examplePage())
	for _, bad := range []string{"<script", "<link", "<img", "<iframe", "@import", "<?xml"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	html = strings.ReplaceAll(html, `xmlns="http://www.w3.org/2000/svg"`, "")
	if place := strings.Index(html, "://"); place >= 0 {
		t.Errorf("the page refers to %q", html[max(0, place-20):place+20])
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if ids[m[1]] {
			t.Errorf("the page has the id %q twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?:href="|url\()#([^")]*)`).FindAllStringSubmatch(html, -1) {
		if !ids[m[1]] {
			t.Errorf("the page refers to the id %q, which it lacks", m[1])
		}
	}
}

func TestPageErrors(t *testing.T) {
	figure := func(svg string) *Page {
		return &Page{Title: "P", Sections: []PageSection{{Figures: []PageFigure{{"c", []byte(svg)}}}}}
	}
	tests := []struct {
		page *Page
		want string
	}{
		{figure(""), `page "P", figure 1 (c): the picture is no SVG: it begins with <>`},
		{figure("<html></html>"), `page "P", figure 1 (c): the picture is no SVG: it begins with <html>`},
		{figure("<svg>"), `page "P", figure 1 (c): the picture is no SVG: XML syntax error on line 1: unexpected EOF`},
		{figure("<svg><script>x</script></svg>"), `page "P", figure 1 (c): the picture has a <script>, which would act on the whole page`},
		{figure("<svg><style>x</style></svg>"), `page "P", figure 1 (c): the picture has a <style>, which would act on the whole page`},
		{figure(`<svg onload="x()"/>`), `page "P", figure 1 (c): the picture has a script in onload of <svg>`},
		{figure(`<svg><image href="https://a/b.png"/></svg>`), `page "P", figure 1 (c): the picture refers to something outside of the page in href of <image>: "https://a/b.png"`},
		{figure(`<svg style="fill:url(https://a#b)"/>`), `page "P", figure 1 (c): the picture refers to something outside of the page in style of <svg>: "fill:url(https://a#b)"`},
		{&Page{Title: "P", Sections: []PageSection{{Tables: []PageTable{{"t", []string{"a", "b"}, [][]string{{"1", "2"}, {"3"}}}}}}},
			`page "P": table "t": row 2 has 1 cells for 2 columns: give one for each`},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		if err := tt.page.WriteHTML(&b); err == nil || err.Error() != tt.want || b.Len() > 0 {
			t.Errorf("got  %v\nwant %s\nwith nothing written, got %d bytes", err, tt.want, b.Len())
		}
	}
}

type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestPageOutputFails(t *testing.T) {
	if err := examplePage().WriteHTML(full{}); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}
