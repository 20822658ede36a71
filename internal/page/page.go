// Package page writes results as one HTML file: figures, sortable tables, the
// configuration, and the commands that reproduce the results.
//
// A page needs nothing outside of its file. Its only script sorts tables. The
// Content-Security-Policy contains the hash of this script, so that no other script can
// run.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for style and script
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
)

// Page is a page of results.
type Page struct {
	Title, Lead string
	Reproduce   []string    // command lines
	Facts       [][2]string // names and values, shown at the top
	Sections    []Section
	Config      []File // shown collapsed at the end
}

// Section is a part of a [Page]. An empty line in its text starts a new paragraph.
type Section struct {
	Heading, Text string
	Figures       []Figure
	Tables        []Table
}

// Figure is an SVG picture that becomes part of the page.
type Figure struct {
	Caption string
	SVG     []byte
}

// Table is a table with a caption.
type Table struct {
	Caption string
	*table.Table
}

// File is the text of a file, such as a configuration.
type File struct{ Name, Text string }

//go:embed style.css
var style string

//go:embed sort.js
var script string

// writer writes HTML.
type writer struct {
	bytes.Buffer
	figures int // number of figures written
}

// printf writes formatted text. It escapes string arguments.
func (w *writer) printf(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = html.EscapeString(printable.Text(text))
		}
	}
	fmt.Fprintf(w, format, args...)
}

// WriteHTML writes the page.
func (p *Page) WriteHTML(to io.Writer) error {
	w := &writer{}
	hash := sha256.Sum256([]byte(script))
	w.printf(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'">
<meta name="generator" content="kernbench %s">
<title>%s</title>
<style>
`, base64.StdEncoding.EncodeToString(hash[:]), version.Version, p.Title)
	w.WriteString(style)
	w.printf("</style>\n</head>\n<body>\n<header>\n<h1>%s</h1>\n", p.Title)
	w.writeParagraphs(p.Lead, ` class="lead"`)
	if len(p.Facts) > 0 {
		w.WriteString("<table class=\"facts\">\n")
		for _, f := range p.Facts {
			w.printf("<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", f[0], f[1])
		}
		w.WriteString("</table>\n")
	}
	if len(p.Reproduce) > 0 {
		w.printf("<p>To get these results again:</p>\n<pre><code>%s\n</code></pre>\n", strings.Join(p.Reproduce, "\n"))
	}
	w.WriteString("</header>\n")
	if len(p.Sections) > 2 {
		w.WriteString("<nav aria-label=\"contents\">\n<ul>\n")
		for i, s := range p.Sections {
			w.printf("<li><a href=\"#s%d\">%s</a></li>\n", i+1, s.Heading)
		}
		w.WriteString("</ul>\n</nav>\n")
	}
	w.WriteString("<main>\n")
	for i, s := range p.Sections {
		w.writeSection(i+1, s)
	}
	if len(p.Config) > 0 {
		w.WriteString("<section id=\"configuration\">\n<h2>Configuration</h2>\n")
		for _, f := range p.Config {
			w.printf("<details>\n<summary>%s</summary>\n<pre><code>%s</code></pre>\n</details>\n", f.Name, f.Text)
		}
		w.WriteString("</section>\n")
	}
	w.printf("</main>\n<footer>kernbench %s</footer>\n", version.Version)
	w.WriteString("<script>" + script + "</script>\n</body>\n</html>\n")
	_, err := w.WriteTo(to)
	return err
}

// writeSection writes the heading, text, figures and tables of a section. `number` is the
// number in the id of the section.
func (w *writer) writeSection(number int, s Section) {
	w.printf("<section id=\"s%d\">\n<h2>%s</h2>\n", number, s.Heading)
	w.writeParagraphs(s.Text, "")
	for _, f := range s.Figures {
		w.figures++
		w.WriteString("<figure>\n")
		w.Write(inline(f.SVG, fmt.Sprintf("f%d-", w.figures)))
		if f.Caption != "" {
			w.printf("<figcaption>%s</figcaption>\n", f.Caption)
		}
		w.WriteString("</figure>\n")
	}
	for _, t := range s.Tables {
		w.writeTable(t)
	}
	w.WriteString("</section>\n")
}

// writeParagraphs writes a text as HTML paragraphs with the given attributes. Empty lines
// in the text separate paragraphs.
func (w *writer) writeParagraphs(text, attributes string) {
	for p := range strings.SplitSeq(text, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			w.WriteString("<p" + attributes)
			w.printf(">%s</p>\n", p)
		}
	}
}

// writeTable writes a table whose columns can be sorted. Columns of numbers are aligned to
// the right. A cell with a unit also has its number as an attribute, for sorting.
func (w *writer) writeTable(t Table) {
	numeric := make([]string, len(t.Columns)) // class attribute of the cells of each column, "" for text
	for c := range t.Columns {
		for r := range t.Rows {
			if _, ok := t.Number(r, c); ok {
				numeric[c] = ` class="n"`
			} else if t.Rows[r][c] != nil {
				numeric[c] = ""
				break
			}
		}
	}
	w.WriteString("<div class=\"wide\"><table>\n")
	if t.Caption != "" {
		w.printf("<caption>%s</caption>\n", t.Caption)
	}
	w.WriteString("<thead><tr>")
	for c, column := range t.Columns {
		w.WriteString("<th scope=\"col\"" + numeric[c])
		w.printf(" title=\"%s\"><button>%s</button></th>", column.Name, column.Title())
	}
	w.WriteString("</tr></thead>\n<tbody>\n")
	for r, row := range t.Rows {
		w.WriteString("<tr>")
		for c := range t.Columns {
			w.WriteString("<td" + numeric[c])
			if x, ok := t.Number(r, c); ok {
				if _, text := row[c].(string); text {
					w.printf(" data-v=\"%v\"", x)
				}
			}
			w.printf(">%s</td>", t.Text(r, c))
		}
		w.WriteString("</tr>\n")
	}
	w.WriteString("</tbody>\n</table></div>\n")
}

var (
	svgID  = regexp.MustCompile(`(\sid=")([^"]*")`)
	svgRef = regexp.MustCompile(`(url\(#|href="#)`)
)

// inline converts an SVG file to an element of a page. It removes the XML prologue and adds
// a prefix to ids, so that the ids of several pictures on a page differ.
func inline(svg []byte, prefix string) []byte {
	svg = svg[max(0, bytes.Index(svg, []byte("<svg"))):]
	svg = svgID.ReplaceAll(svg, []byte("${1}"+prefix+"${2}"))
	return svgRef.ReplaceAll(svg, []byte("${1}"+prefix))
}
