package draw

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLayout checks that all texts and shapes of charts are on the slide and that no texts
// overlap, for random names and values.
func TestLayout(t *testing.T) {
	names := rapid.OneOf(rapid.StringMatching(`[a-z]{1,8}([_ ][a-z0-9]{1,8}){0,3}`), rapid.SampledFrom([]string{strings.Repeat("wide", 99), "\x1b[31m", "漢字", "\u202e"}))
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.SampledFrom([]int{1, 2, 3, 8, 60}).Draw(t, "groups")
		groups := rapid.SliceOfN(names, count, count).Draw(t, "names")
		var series []BarSeries
		var lines []Series
		for i, name := range rapid.SliceOfN(names, 1, 14).Draw(t, "series") {
			values := rapid.SliceOfN(rapid.Float64Range(0.001, 1e7), count, count).Draw(t, "values")
			series = append(series, BarSeries{Name: name, Values: values, Bound: i > 0 && rapid.Bool().Draw(t, "bound")})
			along := make([]float64, count)
			for k := range along {
				along[k] = float64(k + 1)
			}
			lines = append(lines, Series{Name: name, X: along, Y: values, Bound: series[i].Bound, Scatter: i == 5})
		}
		text := rapid.SampledFrom([]string{"", "A title", strings.Repeat("a text that is longer than a line ", 12), strings.Repeat("m", 300)})
		title, note := text.Draw(t, "title"), text.Draw(t, "note")
		log := rapid.Bool().Draw(t, "log")
		y := Axis{Label: "y", Log: log}
		var table [][]float64
		var rows []string
		for i := range rapid.SampledFrom([]int{2, 50}).Draw(t, "rows") {
			table, rows = append(table, series[i%len(series)].Values), append(rows, series[i%len(series)].Name)
		}
		figures := []Figure{
			Bars{Title: title, Subtitle: note, Note: note, Y: y, Groups: groups, Series: series},
			Lines{Title: title, Subtitle: note, Note: note, X: Axis{Label: "x", Log: log}, Y: y, Series: lines},
			HeatMap{Title: title, Subtitle: note, Note: note, X: "x", Y: "y", Unit: note, Log: log, Columns: groups, Rows: rows, Values: table},
		}
		for _, f := range figures {
			c, err := newCanvas(f)
			if err != nil {
				t.Fatal(err)
			}
			checkLayout(t, c)
		}
	})
}

// checkLayout reports texts and shapes that leave the canvas, and texts that overlap. It
// also reports a canvas with fewer than three texts.
func checkLayout(t *rapid.T, c *canvas) {
	page := rect{-0.01, -0.01, c.w + 0.02, c.h + 0.02}
	type label struct {
		rect
		text string
	}
	var labels []label
	found := forEachText(c.items, func(w textLine) {
		// Two opposite corners of the text. It counts as high as its capitals, and a pixel
		// smaller on each side.
		from := w.rotate(w.baseline().add(point{1, -1}))
		to := w.rotate(w.baseline().add(point{w.width(w.text) - 1, 1 - w.size*capHeight}))
		if !page.contains(rect{x: from.x, y: from.y}) || !page.contains(rect{x: to.x, y: to.y}) {
			t.Errorf("%q reaches from %v to %v, want it on the slide", w.text, from, to)
		}
		l := label{rect{min(from.x, to.x), min(from.y, to.y), math.Abs(to.x - from.x), math.Abs(to.y - from.y)}, w.text}
		for _, o := range labels {
			if l.x < o.right() && o.x < l.right() && l.y < o.bottom() && o.y < l.bottom() {
				t.Errorf("%q at %v overlaps %q at %v", l.text, l.rect, o.text, o.rect)
			}
		}
		labels = append(labels, l)
	})
	if found < 3 {
		t.Errorf("found %d texts, want at least three labels", found)
	}
	forEachShape(c.items, func(s shape) {
		s.path.forEachPoint(func(at point) {
			if !page.contains(rect{x: at.x, y: at.y}) {
				t.Errorf("a shape of %v reaches to %v", s.fill, at)
			}
		})
	})
}

// forEachText calls f with every text among items and returns the number of texts.
func forEachText(items []item, f func(textLine)) int {
	n := 0
	for _, it := range items {
		switch it := it.(type) {
		case textLine:
			f(it)
			n++
		case group:
			n += forEachText(it.items, f)
		}
	}
	return n
}

// forEachShape calls f with every shape among items.
func forEachShape(items []item, f func(shape)) {
	for _, it := range items {
		switch it := it.(type) {
		case shape:
			f(it)
		case group:
			forEachShape(it.items, f)
		}
	}
}

// TestOddValues checks that charts of extremely large, small or close values are either
// drawn with finite coordinates or refused with an error.
func TestOddValues(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		log    bool
		want   string
	}{
		{[]float64{1e20, 1e20 + 16384}, false, ""},
		{[]float64{-1e20, -1e20 - 16384}, false, ""},
		{[]float64{1e-323, 5e-324}, false, ""},
		{[]float64{1e-320, 1e300}, true, ""},
		{[]float64{math.MaxFloat64, -math.MaxFloat64}, false, `figure "": y axis from -1.7976931348623157e+308 to 1.7976931348623157e+308: the ends are too far apart to draw`},
		{[]float64{math.MaxFloat64, 1}, true, `figure "": y axis from 1 to +Inf: the ends are too far apart to draw`},
	} {
		f := Lines{Y: Axis{Log: tt.log}, Series: []Series{{X: []float64{1, 2}, Y: tt.values}}}
		svg, err := SVG(f)
		if got := errorText(err); got != tt.want {
			t.Errorf("%v: got error %q, want %q", tt.values, got, tt.want)
		}
		if text := string(svg); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%v: the picture has coordinates that are not numbers", tt.values)
		}
	}
}

// errorText returns the message of err, or "" if err is nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// forEachPoint calls f with every point of the path, and with two opposite corners of the
// square around each circle.
func (p path) forEachPoint(f func(point)) {
	counts := [...]int{moveTo: 1, lineTo: 1, quadTo: 2, closePath: 0}
	for _, s := range p {
		if s.verb == circleAt {
			r := s.at[1].x - s.at[0].x
			f(s.at[0].sub(point{r, r}))
			f(s.at[0].add(point{r, r}))
			continue
		}
		for _, at := range s.at[:counts[s.verb]] {
			f(at)
		}
	}
}
