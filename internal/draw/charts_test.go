package draw

import (
	"bytes"
	"image"
	"math"
	"testing"
)

// TestSameBytes wants a figure to be the same every time, also at the same time.
func TestSameBytes(t *testing.T) {
	for name, f := range all() {
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
					t.Errorf("%s as %s: %d bytes, then %d others", name, format, len(first), len(again))
				}
			}
		}
	}
}

// TestSizes wants the size of a slide in both formats.
func TestSizes(t *testing.T) {
	for name, f := range all() {
		if svg := mustSVG(t, f); !bytes.Contains(svg, []byte(` viewBox="0 0 960 540" width="960" height="540" `)) {
			t.Errorf("%s: SVG begins with %.150q, want 960×540", name, svg)
		}
		if got := mustImage(t, f).Bounds().Size(); got != image.Pt(1280, 720) {
			t.Errorf("%s: PNG of %v, want 1280×720", name, got)
		}
	}
}

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
		{Lines{Y: Axis{Min: 3, Max: 2}, Series: []Series{{Name: "a", X: []float64{1}, Y: []float64{3}}}},
			`figure "": y axis from 3 to 2: the end has to be above the start`},
		{Lines{X: Axis{Min: 9}, Series: []Series{{Name: "a", X: []float64{1, 5}, Y: []float64{3, 4}}}},
			`figure "": x axis from 9 to 5: the end has to be above the start`},
		{Lines{Y: Axis{Log: true, Min: -1}, Series: []Series{{Name: "a", X: []float64{1}, Y: []float64{3}}}},
			`figure "": y of series "a": a logarithmic axis from -1 to 0; both ends have to be above zero`},
		{Bars{}, `figure "": no bars: give groups and at least one series`},
		{Bars{Groups: []string{"a", "b"}, Series: []BarSeries{{Name: "s", Values: []float64{1}}}}, `figure "": series "s" has 1 values for 2 groups: give one for each, NaN for no bar`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{nan}}}}, `figure "": no bars: all values are NaN`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{-1}}}}, `figure "": series "s" of group "a": -1 is below zero; bars begin there, so draw lines`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{math.Inf(1)}}}}, `figure "": series "s" of group "a", point 1: +Inf is no number to draw`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{1}}}, Stacked: true, Y: Axis{Log: true}},
			`figure "": a stack on a logarithmic axis: its parts could not be compared; draw a linear axis or groups`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{9}}}, Break: [2]float64{2, 3}, Y: Axis{Log: true}},
			`figure "": a break in a logarithmic axis: it has room for all sizes; drop one of the two`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{9}}}, Break: [2]float64{20, 30}},
			`figure "": a break from 20 to 30 does not lie within the axis from 0 to 10`},
		{Bars{Groups: []string{"a", "b"}, Series: []BarSeries{{Name: "s", Values: []float64{25, 99}}}, Break: [2]float64{20, 30}},
			`figure "": the bar of series "s" and group "a" ends at 25, within the break from 20 to 30: move that`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{9}}}, Y: Axis{Min: 50}}, `figure "": y axis from 50 to 9.36: the end has to be above the start`},
		{Bars{Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Values: []float64{9}}}, Break: [2]float64{2, 3}, Y: Axis{Min: 2}},
			`figure "": a break from 2 to 3: let it begin above 2, where the axis does, and end above that`},
		{HeatMap{Columns: []string{"a"}, Rows: []string{"r"}, Values: [][]float64{{1}}, Min: 5}, `figure "": colour axis from 5 to 0: the end has to be above the start`},
		{HeatMap{Columns: []string{"a"}, Rows: []string{"r"}, Values: [][]float64{{1}}, Log: true, Max: 5},
			`figure "": logarithmic colours from 0 to 5: let Min be above zero, or give neither`},
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
	for name, f := range all() {
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
