package draw

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/simtime"
)

// layOut returns the canvas that a figure is drawn on.
func layOut(t interface{ Fatal(...any) }, f Figure) *canvas {
	c, err := newCanvas(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// walk calls the function `visit` for each shape and each text, including those in groups.
// The second argument of `visit` is the tooltip of the group. For items outside of groups
// it is `tip`.
func walk(items []item, tip string, visit func(item, string)) {
	for _, it := range items {
		if g, ok := it.(group); ok {
			walk(g.items, g.tooltip, visit)
			continue
		}
		visit(it, tip)
	}
}

// placedTexts returns the lines of text of a picture with their positions.
func placedTexts(c *canvas) []string {
	var got []string
	walk(c.items, "", func(it item, _ string) {
		if w, ok := it.(textLine); ok {
			got = append(got, fmt.Sprintf("%s: %s %s", w.text, formatNumber(w.at.x), formatNumber(w.at.y)))
		}
	})
	return got
}

// shapesWithTooltips returns the shapes of a picture that have tooltips, with their
// tooltips.
func shapesWithTooltips(c *canvas) []string {
	var got []string
	walk(c.items, "", func(it item, tip string) {
		if s, ok := it.(shape); ok && tip != "" {
			got = append(got, fmt.Sprintf("%s: %s %s", strings.ReplaceAll(tip, "\n", "; "), s.path.data(), s.fill))
		}
	})
	return got
}

// nsBar returns a bar with times in nanoseconds.
func nsBar(from, to simtime.Time, a Activity, text string) GanttBar {
	return GanttBar{From: from * simtime.Nanosecond, To: to * simtime.Nanosecond, Activity: a, Text: text}
}

// newBarGrid returns a chart with the given numbers of panels, rows per panel and bars per
// row. Each bar is as long as the gap after it.
func newBarGrid(panels, rows, bars int) *Gantt {
	g := &Gantt{Title: "grid", Subtitle: "of bars"}
	for i := range panels {
		p := GanttPanel{Title: fmt.Sprint("panel", i), Note: "a note"}
		for j := range rows {
			r := GanttRow{Label: fmt.Sprint("pe", j)}
			for k := range simtime.Time(bars) {
				r.Bars = append(r.Bars, nsBar(2*k, 2*k+1, Activity(k)%NumActivities, fmt.Sprint("task", k)))
			}
			p.Rows = append(p.Rows, r)
		}
		g.Panels = append(g.Panels, p)
	}
	return g
}

// TestGanttBars checks the positions of bars. The axis starts at x = 90: 32 for the margin,
// 46 for "control" in text of 15 pixels, and 12 for the gap. It is 1478 pixels long.
func TestGanttBars(t *testing.T) {
	c := layOut(t, &Gantt{Title: "<one>", Subtitle: "a & b", Panels: []GanttPanel{{
		Title: "ring", Note: "makespan 1478 ns", End: 1478 * simtime.Nanosecond,
		Rows: []GanttRow{
			{Label: "control", Bars: []GanttBar{nsBar(0, 100, Building, "build"), nsBar(100, 103, Scheduling, "s")}},
			{Label: "idle"},
			{Label: "pe0", Bars: []GanttBar{nsBar(103, 203, Computing, "a name too long for it"), nsBar(1378, 1478, Communicating, "send")}},
		},
	}}})
	wantBars := []string{
		"build; building, 0 ns to 100 ns: M90 170H189.3V194H90Z #b8608f",
		"s; scheduling, 100 ns to 103 ns: M190 170H192.3V194H190Z #e69f00",
		"a name too long for it; computing, 103 ns to 203 ns: M193 198H292.3V222H193Z #009e73",
		"send; communicating, 1.378 µs to 1.478 µs: M1468 198H1567.3V222H1468Z #0072b2",
	}
	if diff := cmp.Diff(wantBars, shapesWithTooltips(c)); diff != "" {
		t.Errorf("bars (-want +got):\n%s", diff)
	}
	var got []string
	for _, text := range placedTexts(c) {
		got = append(got, text[:strings.LastIndex(text, ":")])
	}
	wantTexts := []string{
		"<one>", "a & b", "building", "scheduling", "computing", "communicating", "idle",
		"makespan 1478 ns", "ring", "control", "pe0", "build", "send", "… 1 idle",
		"0 µs", "0.2 µs", "0.4 µs", "0.6 µs", "0.8 µs", "1 µs", "1.2 µs", "1.4 µs",
	}
	if diff := cmp.Diff(wantTexts, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

// TestGanttNarrow checks the dashed lines that are drawn if all bars are too narrow to be
// drawn separately. A nanosecond is a tenth of a pixel.
func TestGanttNarrow(t *testing.T) {
	tests := []struct {
		name string
		bars []GanttBar
		want []string
	}{
		{"adjacent bars are one dash", []GanttBar{
			nsBar(0, 10, Computing, "a"), nsBar(10, 20, Computing, "b"), nsBar(30, 40, Computing, "c"),
		}, []string{"3 × computing, 30 ns in all: M90 0H94 [2 1 1]"}},
		{"wide bars are separated", []GanttBar{
			nsBar(0, 30, Computing, "a"), nsBar(30, 60, Computing, "b"),
		}, []string{"2 × computing, 60 ns in all: M90 0H95.3 [2.3 0.7 2.3]"}},
		{"activities share half a pixel by their times", []GanttBar{
			nsBar(0, 1, Computing, "a"), nsBar(1, 2, Scheduling, "b"), nsBar(3, 4, Computing, "c"), nsBar(5, 15, Computing, "d"),
		}, []string{
			"1 × scheduling, 1 ns in all: M90 0H90.1 [0.1]",
			"3 × computing, 12 ns in all: M90.1 0H91.5 [0.2 0.2 1]",
		}},
		{"isolated bars are visible and not shortened", []GanttBar{
			nsBar(0, 1, Scheduling, "a"), nsBar(1, 3, Computing, "b"), nsBar(40, 40, Building, "c"),
			nsBar(100, 104, Computing, "d"), nsBar(104, 108, Computing, "e"),
		}, []string{
			"1 × building, 0 ns in all: M94 0H94.5 [0.5]",
			"3 × computing, 10 ns in all: M90 0H100.8 [0.5 9.5 0.8]",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rows := []GanttRow{{Label: "control", Bars: tt.bars}}
			s := newGanttSheet(&Gantt{Panels: []GanttPanel{{Rows: rows, End: 14780 * simtime.Nanosecond}}})
			s.minSeparate = 100
			c := &canvas{}
			s.drawRow(c, s.axes[0], rows[0], -s.barHeight()/2)
			var got []string
			walk(c.items, "", func(it item, tip string) {
				line := it.(shape)
				var dashes []string
				for _, d := range line.dashes {
					dashes = append(dashes, formatNumber(d))
				}
				got = append(got, fmt.Sprintf("%s: %s %v", tip, line.path.data(), dashes))
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGanttSize checks that 100,000 bars take at most about a megabyte, whatever their
// distribution is, and that drawing them twice gives the same bytes. Separated bars of all
// activities are the worst case.
func TestGanttSize(t *testing.T) {
	const most = 1_200_000
	for _, shape := range [][3]int{{1, 1, 100_000}, {1, 10, 10_000}, {1, 128, 781}, {1, 400, 250}, {3, 133, 250}, {1, 1000, 100}, {1, 100_000, 1}, {50, 4, 500}} {
		g := newBarGrid(shape[0], shape[1], shape[2])
		svg := mustSVG(t, g)
		if len(svg) > most {
			t.Errorf("%d panels × %d rows × %d bars: %d bytes, want at most %d", shape[0], shape[1], shape[2], len(svg), most)
		}
		if !bytes.Equal(svg, mustSVG(t, g)) {
			t.Errorf("%v: two runs gave different bytes", shape)
		}
	}
}

// TestGanttFits checks that bars and texts of random charts are on the page, whatever their
// names are.
func TestGanttFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return rapid.String().Draw(t, name) }
		longest := int64(rapid.SampledFrom([]simtime.Time{1, 100, simtime.Nanosecond, simtime.Millisecond, simtime.Second}).Draw(t, "longest"))
		times := func(name string) simtime.Time { return simtime.Time(rapid.Int64Range(0, longest).Draw(t, name)) }
		g := &Gantt{Title: text("title"), Subtitle: text("subtitle"), SeparateAxes: rapid.Bool().Draw(t, "separate axes")}
		for range rapid.IntRange(0, 3).Draw(t, "panels") {
			p := GanttPanel{Title: text("panel"), Note: text("note"), End: times("end")}
			for range rapid.IntRange(0, 40).Draw(t, "rows") {
				r := GanttRow{Label: text("label")}
				var at simtime.Time
				for range rapid.IntRange(0, 5).Draw(t, "bars") {
					from := at + times("gap")
					at = from + times("length")
					r.Bars = append(r.Bars, GanttBar{From: from, To: at, Activity: Activity(rapid.IntRange(0, 3).Draw(t, "activity")), Text: text("text")})
				}
				p.Rows = append(p.Rows, r)
			}
			g.Panels = append(g.Panels, p)
		}
		checkOnPage(t, layOut(t, g))
	})
}

// checkOnPage checks that no shape or text reaches beyond the picture.
func checkOnPage(t interface{ Errorf(string, ...any) }, c *canvas) {
	page := rect{0, 0, c.w, c.h}
	walk(c.items, "", func(it item, _ string) {
		switch it := it.(type) {
		case textLine:
			if !page.contains(it.bounds()) {
				t.Errorf("text %q at %v is off the page of %v × %v", it.text, it.bounds(), c.w, c.h)
			}
		case shape:
			it.path.forEachPoint(func(p point) {
				if !page.contains(rect{x: p.x, y: p.y}) {
					t.Errorf("%s reaches %v, off the page of %v × %v", it.path.data(), p, c.w, c.h)
				}
			})
		}
	})
}

func BenchmarkGantt(b *testing.B) {
	const rows, perRow = 100, 1000
	g := newBarGrid(1, rows, perRow)
	var size int
	for b.Loop() {
		size = len(mustSVG(b, g))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*perRow), "ns/bar")
	b.ReportMetric(float64(size)/(rows*perRow), "bytes/bar")
}
