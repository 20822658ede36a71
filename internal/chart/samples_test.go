package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var nan = math.NaN()

// latencies is three lines and their bounds over sizes that double.
func latencies() Lines {
	x := []float64{8, 64, 512, 4096, 32768, 49152}
	over := func(a, b float64) []float64 {
		var y []float64
		for _, v := range x {
			y = append(y, a+b*v)
		}
		return y
	}
	return Lines{
		Title: "Latency by topology", Note: "f16, Partial over <16 cubes> & more",
		X: Axis{Label: "elements per PE", Log: true}, Y: Axis{Label: "latency", Log: true, Format: Nanoseconds},
		Series: []Series{
			{Name: "ring", X: x, Y: over(5200, 4.2)}, {Name: "torus", X: x, Y: over(3900, 3.1)}, {Name: "mesh", X: x, Y: over(4400, 3.5)},
			{Name: "bound of ring", X: x, Y: over(2200, 2), Theory: true},
		},
	}
}

func kinds() Bars {
	return Bars{
		Title: "Buffer kinds", X: "elements", Y: Axis{Label: "latency (µs)"}, Groups: []string{"128", "1Ki"},
		Series: []BarSeries{{"tcm", []float64{4.2, 7.9}}, {"sram", []float64{5.2, nan}}, {"hbm", []float64{6.2, 10.9}}},
	}
}

func stages() Bars {
	b := kinds()
	b.Title, b.Stacked = "Stages", true
	return b
}

func broken() Bars {
	return Bars{
		Title: "Against an external figure", Y: Axis{Label: "latency (µs)"}, Groups: []string{"ring_1d", "torus_2d", "FSIM"},
		Series: []BarSeries{{"model", []float64{21.4, 16.9, nan}}, {"external", []float64{nan, nan, 366}}}, Break: [2]float64{30, 340},
	}
}

func use() HeatMap {
	return HeatMap{
		Title: "Utilization", X: "N", Y: "M", Unit: "% of peak", Columns: []string{"32", "64"}, Rows: []string{"16", "128"},
		Values: [][]float64{{4.24, 8}, {22.5, nan}},
	}
}

func all() map[string]Figure {
	return map[string]Figure{"lines": latencies(), "bars": kinds(), "stages": stages(), "broken": broken(), "heat": use()}
}

// drawing is what an SVG holds.
type drawing struct {
	texts  []string
	fills  map[string]int // shapes by colour
	lines  map[string]int // lines by colour
	dashed int
}

var (
	fillStyle   = regexp.MustCompile(`(?:^|;)fill:(#[0-9A-F]{6})`)
	strokeStyle = regexp.MustCompile(`stroke:(#[0-9A-F]{6})`)
)

func parse(t testing.TB, svg []byte) drawing {
	t.Helper()
	d := drawing{fills: map[string]int{}, lines: map[string]int{}}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	inText := false
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return d
		}
		if err != nil {
			t.Fatalf("no well-formed SVG: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "text"
			if e.Name.Local == "path" {
				style := e.Attr[slices.IndexFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == "style" })].Value
				if m := fillStyle.FindStringSubmatch(style); m != nil {
					d.fills[m[1]]++
				}
				if m := strokeStyle.FindStringSubmatch(style); m != nil {
					d.lines[m[1]]++
				}
				if strings.Contains(style, "stroke-dasharray") {
					d.dashed++
				}
			}
		case xml.CharData:
			if inText {
				d.texts = append(d.texts, string(e))
			}
			inText = false
		}
	}
}

func mustSVG(t testing.TB, f Figure) []byte {
	t.Helper()
	svg, err := SVG(f)
	if err != nil {
		t.Fatal(err)
	}
	return svg
}
