package draw

import (
	"bytes"
	"image"
	"math"
	"testing"
)

// TestSameBytes checks that a figure has the same bytes each time it is drawn, also by
// concurrent goroutines.
func TestSameBytes(t *testing.T) {
	for name, f := range sampleFigures() {
		for format, draw := range map[string]func(Figure) ([]byte, error){"svg": SVG, "png": PNG} {
			first, err := draw(f)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			others := make(chan []byte, 2)
			for range cap(others) {
				go func() {
					data, err := draw(f)
					if err != nil {
						t.Error(err)
					}
					others <- data
				}()
			}
			for range cap(others) {
				if again := <-others; !bytes.Equal(first, again) {
					t.Errorf("%s as %s: drawn twice, %d bytes and %d different bytes", name, format, len(first), len(again))
				}
			}
		}
	}
}

// TestSizes checks that charts have the size of a slide, as SVG and as PNG.
func TestSizes(t *testing.T) {
	for name, f := range sampleFigures() {
		if svg := mustSVG(t, f); !bytes.Contains(svg, []byte(` viewBox="0 0 960 540" width="960" height="540" `)) {
			t.Errorf("%s: SVG begins with %.150q, want 960×540", name, svg)
		}
		if got := mustImage(t, f).Bounds().Size(); got != image.Pt(1280, 720) {
			t.Errorf("%s: PNG of %v, want 1280×720", name, got)
		}
	}
}

// TestErrors checks the errors for data that cannot be drawn.
func TestErrors(t *testing.T) {
	tests := []struct {
		figure Figure
		want   string
	}{
		{Lines{Title: "T"}, `figure "T": no series: a chart of lines needs one`},
		{Lines{Series: []Series{{Name: "a", X: []float64{1}}}}, `figure "": series "a" has 1 x and 0 y: give as many of both, and at least one`},
		{Lines{Series: []Series{{Name: "a", X: []float64{1, 2}, Y: []float64{3, nan}}}}, `figure "": y of series "a", point 2: NaN is no number to draw`},
		{Lines{X: Axis{Log: true}, Series: []Series{{Name: "a", X: []float64{0}, Y: []float64{3}}}},
			`figure "": x of series "a", point 1: 0 has no place on a logarithmic axis; leave it out or draw a linear one`},
		{Bars{}, `figure "": no bars: give groups and at least one series`},
		{Bars{Groups: []string{"a", "b"}, Series: []BarSeries{{Name: "s", Values: []float64{1}}}}, `figure "": series "s" has 1 values for 2 groups: give one for each, NaN for no bar`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{nan}}}}, `figure "": no bars: all values are NaN`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{-1}}}}, `figure "": series "s" of group "a": -1 is below zero; bars begin there, so draw lines`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{math.Inf(1)}}}}, `figure "": series "s" of group "a", point 1: +Inf is no number to draw`},
		{HeatMap{Columns: []string{"a"}, Rows: []string{"r"}, Values: [][]float64{{1}}, Max: -5},
			`figure "": colours from 0 to -5: Max has to be above zero, and logarithmic colours have none`},
		{HeatMap{Columns: []string{"a"}, Rows: []string{"r"}, Values: [][]float64{{1}}, Log: true, Max: 5},
			`figure "": colours from 0 to 5: Max has to be above zero, and logarithmic colours have none`},
		{HeatMap{}, `figure "": 0 columns, 0 rows and values of 0 rows: give values of each row, and at least one column`},
		{HeatMap{Columns: []string{"a"}, Rows: []string{"r"}, Values: [][]float64{{1, 2}}}, `figure "": row "r" has 2 values for 1 columns: give one for each, NaN for none`},
		{HeatMap{Columns: []string{"a"}, Rows: []string{"r"}, Values: [][]float64{{nan}}}, `figure "": no values: all are NaN`},
		{HeatMap{Columns: []string{"a"}, Rows: []string{"r"}, Values: [][]float64{{0}}, Log: true},
			`figure "": row "r", column "a", point 1: 0 has no place on a logarithmic axis; leave it out or draw a linear one`},
	}
	for _, tt := range tests {
		for _, draw := range []func(Figure) ([]byte, error){SVG, PNG} {
			if _, err := draw(tt.figure); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		}
	}
}

func BenchmarkSVG(b *testing.B) { benchmark(b, SVG) }
func BenchmarkPNG(b *testing.B) { benchmark(b, PNG) }

func benchmark(b *testing.B, draw func(Figure) ([]byte, error)) {
	for name, f := range sampleFigures() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := draw(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
