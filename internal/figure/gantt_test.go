package figure

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/sim"
)

// element is a part of a picture.
type element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Title   string     `xml:"title"`
	Text    string     `xml:",chardata"`
	Parts   []element  `xml:",any"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e element) has(name string) bool { return e.attr(name) != "" }

// each calls visit for the element and all in it.
func (e element) each(visit func(element)) {
	visit(e)
	for _, p := range e.Parts {
		p.each(visit)
	}
}

func parseGantt(t interface{ Fatalf(string, ...any) }, g *draw.Gantt) element {
	var e element
	if err := xml.Unmarshal(Gantt(g), &e); err != nil {
		t.Fatalf("not well-formed: %v", err)
	}
	return e
}

// ns makes a bar.
func ns(from, to sim.Time, a draw.Activity, text string) draw.GanttBar {
	return draw.GanttBar{From: from * sim.Nanosecond, To: to * sim.Nanosecond, Activity: a, Text: text}
}

// gridOf is a chart of so many bars, each as long as the space after it.
func gridOf(panels, rows, bars int) *draw.Gantt {
	g := &draw.Gantt{Title: "grid", Subtitle: "of bars"}
	for i := range panels {
		p := draw.GanttPanel{Title: fmt.Sprint("panel", i), Note: "a note"}
		for j := range rows {
			r := draw.GanttRow{Label: fmt.Sprint("pe", j)}
			for k := range sim.Time(bars) {
				r.Bars = append(r.Bars, ns(2*k, 2*k+1, draw.Activity(k)%draw.NumActivities, fmt.Sprint("task", k)))
			}
			p.Rows = append(p.Rows, r)
		}
		g.Panels = append(g.Panels, p)
	}
	return g
}

// TestGanttBars wants bars in their place: the area of bars begins at 32 for the
// margin, 63 for seven characters of 15 pixels, and 12; it is 1429 wide.
func TestGanttBars(t *testing.T) {
	e := parseGantt(t, &draw.Gantt{Title: "<one>", Subtitle: "a & b", Panels: []draw.GanttPanel{{
		Title: "ring", Note: "makespan 1429 ns", End: 1429 * sim.Nanosecond,
		Rows: []draw.GanttRow{
			{Label: "control", Bars: []draw.GanttBar{ns(0, 100, draw.Building, "build"), ns(100, 103, draw.Scheduling, "s")}},
			{Label: "idle"},
			{Label: "pe0", Bars: []draw.GanttBar{ns(103, 203, draw.Computing, "a name too long for it"), ns(1329, 1429, draw.Communicating, "send")}},
		},
	}}})
	var bars, texts []string
	e.each(func(e element) {
		if e.XMLName.Local == "text" {
			texts = append(texts, e.Text)
		}
		if e.XMLName.Local == "g" && e.Title != "" {
			r := e.Parts[0]
			bars = append(bars, fmt.Sprintf("%s: x %s width %s y %s %s", strings.ReplaceAll(e.Title, "\n", "; "), r.attr("x"), r.attr("width"), r.attr("y"), r.attr("fill")))
		}
	})
	wantBars := []string{
		"build; building, 0 ns to 100 ns: x 107 width 99.3 y 170 #b8608f",
		"s; scheduling, 100 ns to 103 ns: x 207 width 2.3 y 170 #e69f00",
		"a name too long for it; computing, 103 ns to 203 ns: x 210 width 99.3 y 198 #009e73",
		"send; communicating, 1.329 µs to 1.429 µs: x 1436 width 99.3 y 198 #0072b2",
	}
	if diff := cmp.Diff(wantBars, bars); diff != "" {
		t.Errorf("bars (-want +got):\n%s", diff)
	}
	wantTexts := []string{
		"<one>", "a & b", "building", "scheduling", "computing", "communicating", "idle",
		"ring", "makespan 1429 ns", "control", "pe0", "build", "send", "… 1 idle",
		"0 µs", "0.2 µs", "0.4 µs", "0.6 µs", "0.8 µs", "1 µs", "1.2 µs", "1.4 µs",
	}
	if diff := cmp.Diff(wantTexts, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

// strips is the tooltips and lines of bars that are too narrow to be alone.
func strips(e element) []string {
	var got []string
	e.each(func(e element) {
		if e.XMLName.Local == "path" && e.Title != "" {
			got = append(got, e.Title+": "+e.attr("d"))
		}
	})
	return got
}

// TestGanttNarrow draws rows in which a nanosecond is a tenth of a pixel, as if there
// were too many bars for each to be alone.
func TestGanttNarrow(t *testing.T) {
	tests := []struct {
		name string
		bars []draw.GanttBar
		want []string
	}{
		{"one after the other are one line", []draw.GanttBar{
			ns(0, 10, draw.Computing, "a"), ns(10, 20, draw.Computing, "b"), ns(30, 40, draw.Computing, "c"),
		}, []string{"3 × computing, 30 ns in all: M0 12m0 0h20m10 0h10"}},
		{"wide ones are apart", []draw.GanttBar{
			ns(0, 30, draw.Computing, "a"), ns(30, 60, draw.Computing, "b"),
		}, []string{"2 × computing, 60 ns in all: M0 12m0 0h23m7 0h23"}},
		{"half a pixel is shared, to each its time", []draw.GanttBar{
			ns(0, 1, draw.Computing, "a"), ns(1, 2, draw.Scheduling, "b"), ns(3, 4, draw.Computing, "c"), ns(5, 15, draw.Computing, "d"),
		}, []string{
			"1 × scheduling, 1 ns in all: M0 12m0 0h1",
			"3 × computing, 12 ns in all: M0 12m1 0h2m2 0h10",
		}},
		{"what stands alone is seen, and no shorter than it is", []draw.GanttBar{
			ns(0, 1, draw.Scheduling, "a"), ns(1, 3, draw.Computing, "b"), ns(40, 40, draw.Building, "c"),
			ns(100, 104, draw.Computing, "d"), ns(104, 108, draw.Computing, "e"),
		}, []string{
			"1 × building, 0 ns in all: M0 12m40 0h5",
			"3 × computing, 10 ns in all: M0 12m0 0h5m95 0h8",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newChart(&draw.Gantt{Panels: []draw.GanttPanel{{
				Rows: []draw.GanttRow{{Label: "control", Bars: tt.bars}}, End: 14290 * sim.Nanosecond,
			}}})
			c.least = 100
			var s svg
			s.bars(c, &c.axes[0], c.axes[0].panels[0])
			var e element
			if err := xml.Unmarshal(s.b.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strips(e)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGanttSize wants 100,000 bars to take about a megabyte at most, however they are
// spread, and the same bytes twice. Bars apart and of all activities are the worst.
func TestGanttSize(t *testing.T) {
	const most = 1_150_000
	for _, shape := range [][3]int{{1, 1, 100_000}, {1, 10, 10_000}, {1, 128, 781}, {1, 400, 250}, {3, 133, 250}, {1, 1000, 100}, {1, 100_000, 1}, {50, 4, 500}} {
		g := gridOf(shape[0], shape[1], shape[2])
		svg := Gantt(g)
		if len(svg) > most {
			t.Errorf("%d panels × %d rows × %d bars: %d bytes, want at most %d", shape[0], shape[1], shape[2], len(svg), most)
		}
		if !bytes.Equal(svg, Gantt(g)) {
			t.Errorf("%v: two runs gave different bytes", shape)
		}
	}
}

// TestGanttFits checks that bars and texts of charts nobody thought of are on the
// page, whatever their names.
func TestGanttFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return rapid.String().Draw(t, name) }
		longest := int64(rapid.SampledFrom([]sim.Time{1, 100, sim.Nanosecond, sim.Millisecond, sim.Second}).Draw(t, "longest"))
		times := func(name string) sim.Time { return sim.Time(rapid.Int64Range(0, longest).Draw(t, name)) }
		g := &draw.Gantt{Title: text("title"), Subtitle: text("subtitle"), Apart: rapid.Bool().Draw(t, "apart")}
		for range rapid.IntRange(0, 3).Draw(t, "panels") {
			p := draw.GanttPanel{Title: text("panel"), Note: text("note"), End: times("end")}
			for range rapid.IntRange(0, 40).Draw(t, "rows") {
				r := draw.GanttRow{Label: text("label")}
				var at sim.Time
				for range rapid.IntRange(0, 5).Draw(t, "bars") {
					from := at + times("gap")
					at = from + times("length")
					r.Bars = append(r.Bars, draw.GanttBar{From: from, To: at, Activity: draw.Activity(rapid.IntRange(0, 3).Draw(t, "activity")), Text: text("text")})
				}
				p.Rows = append(p.Rows, r)
			}
			g.Panels = append(g.Panels, p)
		}
		checkOnPage(t, parseGantt(t, g))
	})
}

// checkOnPage checks that no box or text reaches beyond the picture.
func checkOnPage(t *rapid.T, e element) {
	number := func(text string) (n float64) {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("number %q: %v", text, err)
		}
		return n
	}
	high := number(e.attr("height"))
	e.each(func(p element) {
		var x, y, w, h float64
		switch {
		case p.XMLName.Local == "rect" && p.has("x"):
			x, y, w, h = number(p.attr("x")), number(p.attr("y")), number(p.attr("width")), number(p.attr("height"))
		case p.XMLName.Local == "text":
			size := int(number(p.attr("font-size")))
			w, h = float64(width(p.Text, size, p.attr("font-weight") == "bold")), float64(size)
			x, y = number(p.attr("x")), number(p.attr("y"))-h
			switch p.attr("text-anchor") {
			case "middle":
				x -= w / 2
			case "end":
				x -= w
			}
		}
		if x < 0 || y < 0 || w < 0 || x+w > slideW || y+h > high {
			t.Errorf("%s %q at %g, %g of %g × %g is off the page of %d × %g", p.XMLName.Local, p.Text, x, y, w, h, slideW, high)
		}
	})
}

func BenchmarkGantt(b *testing.B) {
	const rows, perRow = 100, 1000
	g := gridOf(1, rows, perRow)
	var size int
	for b.Loop() {
		size = len(Gantt(g))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*perRow), "ns/bar")
	b.ReportMetric(float64(size)/(rows*perRow), "bytes/bar")
}
