package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
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
		Sections: []Section{
			{Heading: "Latency", Text: "Grows with size.", Figures: []Figure{{"by topology", []byte(arrowSVG)}, {"", []byte(arrowSVG)}}},
			{Heading: "Numbers", Tables: []Table{{"latencies", &table.Table{
				Columns: []table.Column{{Name: "topology"}, {Name: "latency_us", Unit: "µs"}, {Name: "share"}},
				Rows:    [][]any{{"<ring>", "5200 ns", json.Number("1")}, {"torus_2d", json.Number("3.9"), nil}},
			}}}},
			{Heading: "Rest"},
		},
		Config: []File{{"topology.yaml", "system:\n  sips: {count: 6} # <six>\n"}},
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

// TestPage checks the parts of a page, and that writing the page twice gives the same
// bytes.
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
		"<thead><tr><th scope=\"col\" title=\"topology\"><button>topology</button></th>" +
			"<th scope=\"col\" class=\"n\" title=\"latency_us\"><button>latency (µs)</button></th><th scope=\"col\" class=\"n\" title=\"share\"><button>share</button></th></tr></thead>\n",
		"<tr><td>&lt;ring&gt;</td><td class=\"n\" data-v=\"5.2\">5200 ns</td><td class=\"n\">1</td></tr>\n",
		"<tr><td>torus_2d</td><td class=\"n\">3.9</td><td class=\"n\"></td></tr>\n",
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

// TestPageIsWhole checks that a page refers to nothing outside of its file, and that only
// the script that sorts tables may run. Every id must be unique, and every reference must
// lead to an id.
func TestPageIsWhole(t *testing.T) {
	html := writePage(t, examplePage())
	for _, bad := range []string{"<link", "<img", "<iframe", "@import", "<?xml"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	policy := regexp.MustCompile(`script-src 'sha256-([^']*)'`).FindStringSubmatch(html)
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(html, -1)
	if len(scripts) != 1 || len(policy) != 2 {
		t.Fatalf("got %d scripts and the policy %q, want one that is allowed", len(scripts), policy)
	}
	if sum := sha256.Sum256([]byte(scripts[0][1])); base64.StdEncoding.EncodeToString(sum[:]) != policy[1] {
		t.Errorf("the page does not allow its own script: hash %s", policy[1])
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

// fullWriter is a writer that always fails.
type fullWriter struct{}

var errFull = errors.New("no space left on device")

func (fullWriter) Write([]byte) (int, error) { return 0, errFull }

// TestPageOutputFails checks that WriteHTML returns the error of its writer.
func TestPageOutputFails(t *testing.T) {
	if err := examplePage().WriteHTML(fullWriter{}); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}
