package draw

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"
)

// manySeries returns a line chart and a bar chart with n series each. All values of a
// series are equal, and differ by 1 from the values of the next series.
func manySeries(n int) (Lines, Bars) {
	l := Lines{Title: "Many", X: Axis{Label: "size", Unit: "B"}, Y: Axis{Label: "time", Unit: "µs"}}
	b := Bars{Title: "Many", Y: Axis{Label: "time", Unit: "µs"}, Groups: []string{"a", "b"}}
	for i := range n {
		y := float64(i + 1)
		l.Series = append(l.Series, Series{Name: fmt.Sprintf("s%d", i), X: []float64{1, 2, 3}, Y: []float64{y, y, y}})
		b.Series = append(b.Series, BarSeries{Name: fmt.Sprintf("s%d", i), Values: []float64{y, y}})
	}
	return l, b
}

// toGrey returns an area of the image of a chart in shades of grey. The area is given in
// pixels of the canvas.
func toGrey(img image.Image, area rect) *image.Gray {
	const scale = pngWidth / slideW
	crop := image.NewGray(image.Rect(0, 0, int(area.w*scale), int(area.h*scale)))
	for y := range crop.Rect.Max.Y {
		for x := range crop.Rect.Max.X {
			crop.Set(x, y, color.GrayModel.Convert(img.At(int(math.Round(area.x*scale))+x, int(math.Round(area.y*scale))+y)))
		}
	}
	return crop
}

// texture returns five features of a pattern: its average lightness, and how much the
// lightness changes in four directions. The result does not depend on where the pattern
// starts.
func texture(img *image.Gray) (features [5]float64) {
	n := 0.0
	for y := 1; y < img.Rect.Max.Y-2; y++ {
		for x := 1; x < img.Rect.Max.X-2; x++ {
			at := func(dx, dy int) float64 { return float64(img.GrayAt(x+dx, y+dy).Y) }
			features[0] += at(0, 0)
			for i, to := range []image.Point{{2, 0}, {0, 2}, {1, 1}, {1, -1}} {
				features[i+1] += math.Abs(at(to.X, to.Y) - at(0, 0))
			}
			n++
		}
	}
	for i := range features {
		features[i] /= n
	}
	return features
}

// TestBarsDifferInGrey draws charts with several numbers of series, up to the largest, and
// converts them to grey. It checks that the legend samples of any two series differ in
// lightness or in pattern.
func TestBarsDifferInGrey(t *testing.T) {
	for _, n := range []int{2, 3, 11, len(barFills)} {
		_, b := manySeries(n)
		c, err := newCanvas(b)
		if err != nil {
			t.Fatal(err)
		}
		img := mustImage(t, b)
		var looks [][5]float64
		forEachText(c.items, func(w textLine) {
			if strings.HasPrefix(w.text, "s") {
				looks = append(looks, texture(toGrey(img, rect{w.at.x - gap - 1.6*sampleH + 1, w.at.y - sampleH/2 + 1, 1.6*sampleH - 2, sampleH - 2})))
			}
		})
		if len(looks) != n {
			t.Fatalf("found %d samples, want %d", len(looks), n)
		}
		for i, a := range looks {
			for k, b := range looks[:i] {
				differ := 0.0
				for f := range a {
					differ = max(differ, math.Abs(a[f]-b[f]))
				}
				if differ < 12 {
					t.Errorf("%d series: %d and %d differ by %.1f of 255 shades: %.0f and %.0f", n, k, i, differ, b, a)
				}
			}
		}
	}
}

// TestLinesDifferInGrey checks that the marks of any two lines differ without colours, for
// up to the largest number of lines in a panel.
func TestLinesDifferInGrey(t *testing.T) {
	for _, n := range []int{2, 11, maxLines} {
		l, _ := manySeries(n)
		c, err := newCanvas(l)
		if err != nil {
			t.Fatal(err)
		}
		img := mustImage(t, l)
		var looks []*image.Gray
		forEachText(c.items, func(w textLine) {
			if strings.HasPrefix(w.text, "s") && w.text != "size (B)" {
				looks = append(looks, toGrey(img, rect{w.at.x - gap/2 - nameSample/2 - sampleH/2, w.at.y - sampleH/2, sampleH, sampleH}))
			}
		})
		if len(looks) != n {
			t.Fatalf("found %d marks, want %d", len(looks), n)
		}
		for i, a := range looks {
			for k, b := range looks[:i] {
				if differ := difference(a, b); differ < 8 {
					t.Errorf("%d lines: marks at %d and %d differ by %.1f of 255 shades", n, k, i, differ)
				}
			}
		}
	}
}

// difference returns the average difference of the pixels of two images. It compares a with
// b, and with b moved by one pixel in each of eight directions. It returns the smallest of
// these averages.
func difference(a, b *image.Gray) float64 {
	least := 255.0
	for _, by := range []image.Point{{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1}} {
		sum, n := 0.0, 0.0
		for y := 1; y < a.Rect.Max.Y-1; y++ {
			for x := 1; x < a.Rect.Max.X-1; x++ {
				sum += math.Abs(float64(a.GrayAt(x, y).Y) - float64(b.GrayAt(x+by.X, y+by.Y).Y))
				n++
			}
		}
		least = min(least, sum/n)
	}
	return least
}

// TestNamesAtLineEnds checks that the names of series are at the ends of lines if all fit
// there. If only the names of bounds fit, the names of bounds are at the ends of lines, and
// the other names are in a legend.
func TestNamesAtLineEnds(t *testing.T) {
	l, _ := manySeries(3)
	l.Series[2].Bound = true
	tests := []struct {
		name   string
		change func(*Lines)
		named  []bool
	}{
		{"all", func(*Lines) {}, []bool{true, true, true}},
		{"a line that ends early", func(l *Lines) { l.Series[0].X = []float64{1, 2, 2.5} }, []bool{false, false, true}},
		{"a bound that ends early", func(l *Lines) { l.Series[2].X = []float64{1, 2, 2.5} }, []bool{false, false, false}},
		{"points", func(l *Lines) { l.Series[0].Scatter = true }, []bool{false, false, true}},
		{"a long name", func(l *Lines) { l.Series[0].Name = strings.Repeat("long ", 9) }, []bool{false, false, true}},
		{"one line", func(l *Lines) { l.Series = l.Series[:1] }, []bool{false}},
		{"one bound", func(l *Lines) { l.Series = l.Series[2:] }, []bool{true}},
	}
	for _, tt := range tests {
		l := l
		l.Series = slices.Clone(l.Series)
		tt.change(&l)
		if got := l.namedAtEnd(); !slices.Equal(got, tt.named) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.named)
		}
		d := parse(t, mustSVG(t, l))
		for _, s := range l.Series {
			if want := len(l.Series) > 1 || s.Bound; slices.Contains(d.texts, strings.TrimSpace(s.Name)) != want && !strings.Contains(s.Name, "long") {
				t.Errorf("%s: got %v for %q among the texts %q", tt.name, !want, s.Name, d.texts)
			}
		}
	}
}

// TestSpread checks that the coordinates are at least 10 apart after spread, and are
// between 0 and 100 if there is space.
func TestSpread(t *testing.T) {
	for _, tt := range []struct{ at, want []float64 }{
		{nil, nil},
		{[]float64{10, 40, 90}, []float64{10, 40, 90}},
		{[]float64{10, 12, 14}, []float64{10, 20, 30}},
		{[]float64{10, 95, 96, 97}, []float64{10, 80, 90, 100}},
		{[]float64{99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99}, []float64{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}},
		{[]float64{50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50}, []float64{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110}}, // not enough space
	} {
		got := slices.Clone(tt.at)
		if spread(got, 10, 0, 100); !slices.Equal(got, tt.want) {
			t.Errorf("spread(%v): got %v, want %v", tt.at, got, tt.want)
		}
	}
}

// TestPanels checks that a chart of more than 12 lines has several panels that share their
// axes. It also checks which bounds each panel has, and that a chart of many panels is
// higher than a slide.
func TestPanels(t *testing.T) {
	l, _ := manySeries(13)
	l.Series = append(l.Series, Series{Name: "bound", X: []float64{1, 3}, Y: []float64{0.5, 0.5}, Bound: true})
	var got []string
	for _, panel := range l.panels() {
		names := ""
		for _, s := range panel {
			names += s.Name + " "
		}
		got = append(got, names)
	}
	want := []string{"s0 s1 s2 bound ", "s3 s4 s5 bound ", "s6 s7 s8 bound ", "s9 s10 s11 s12 bound "}
	if !slices.Equal(got, want) {
		t.Errorf("got panels %q, want %q", got, want)
	}
	d := parse(t, mustSVG(t, l))
	for text, want := range map[string]int{"s0": 1, "bound": 4, "10": 2, "1.5": 2, "time (µs)": 1, "size (B)": 1} { // two rows, two columns
		if got := len(slices.DeleteFunc(slices.Clone(d.texts), func(s string) bool { return s != text })); got != want {
			t.Errorf("text %q: got %d, want %d in %q", text, got, want, d.texts)
		}
	}
	if points := slices.DeleteFunc(d.tips, func(s string) bool { return !strings.Contains(s, "\nsize: 1 B\ntime: ") }); len(points) != 13 {
		t.Errorf("got %d points at size 1, want 13: %q", len(points), points)
	}

	l, _ = manySeries(30)
	for i := range 30 {
		l.Series = append(l.Series, Series{Name: fmt.Sprintf("b%d", i), X: []float64{1, 3}, Y: []float64{1, 1}, Bound: true})
	}
	for i, panel := range l.panels() {
		for k, s := range panel[len(panel)/2:] {
			if line := panel[k].Name; "b"+line[1:] != s.Name {
				t.Errorf("panel %d has the bound %q at the place of the line %q", i, s.Name, line)
			}
		}
	}
	if got := mustImage(t, l).Bounds().Dy(); got <= 720 {
		t.Errorf("8 panels are %d pixels high, want more than 720", got)
	}
}

// TestTooManyBars checks the errors for too many series of bars, and for a chart with only
// bounds.
func TestTooManyBars(t *testing.T) {
	_, b := manySeries(len(barFills))
	b.Series = append(b.Series, BarSeries{Name: "bound", Values: []float64{1, 2}, Bound: true})
	mustSVG(t, b) // the bound does not count
	b.Series[len(barFills)].Bound = false
	want := `figure "Many": 15 series of bars: more than 14 cannot be told apart; leave some out or draw lines`
	if _, err := SVG(b); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for i := range b.Series {
		b.Series[i].Bound = true
	}
	if _, err := SVG(b); err == nil || err.Error() != `figure "Many": no bars: all series are bounds; draw lines` {
		t.Errorf("got %v", err)
	}
}
