package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/kernbench/kernbench/table"
)

var nan = math.NaN()

// sampleLines returns three lines and a bound over sizes that double.
func sampleLines() Lines {
	x := []float64{8, 64, 512, 4096, 32768, 49152}
	over := func(a, b float64) []float64 {
		var y []float64
		for _, v := range x {
			y = append(y, a+b*v)
		}
		return y
	}
	return Lines{
		Title: "Latency by topology", Subtitle: "ring6", Note: "f16, Partial over <16 cubes> & more",
		X: Axis{Label: "elements per PE", Log: true}, Y: Axis{Label: "latency", Log: true, Format: table.Unit("ns").Format},
		Series: []Series{
			{Name: "ring", X: x, Y: over(5200, 4.2)}, {Name: "torus", X: x, Y: over(3900, 3.1)}, {Name: "mesh", X: x, Y: over(4400, 3.5)},
			{Name: "bound of ring", X: x, Y: over(2200, 2), Bound: true},
		},
	}
}

func sampleBars() Bars {
	return Bars{
		Title: "Buffer kinds", X: "elements", Y: Axis{Label: "latency", Unit: "µs"}, Groups: []string{"128", "1Ki"},
		Series: []BarSeries{{Name: "tcm", Values: []float64{4.2, 7.9}}, {Name: "sram", Values: []float64{5.2, nan}}, {Name: "hbm", Values: []float64{6.2, 10.9}}},
	}
}

func sampleHeatMap() HeatMap {
	return HeatMap{
		Title: "Utilization", X: "N", Y: "M", Unit: "% of peak", Columns: []string{"32", "64"}, Rows: []string{"16", "128"},
		Values: [][]float64{{4.24, 8}, {22.5, nan}},
	}
}

func sampleFigures() map[string]Figure {
	return map[string]Figure{"lines": sampleLines(), "bars": sampleBars(), "heat": sampleHeatMap()}
}

// drawing is the content of an SVG.
type drawing struct {
	texts  []string
	tips   []string
	fills  map[string]int // shapes by colour
	lines  map[string]int // lines by colour
	dashed int
}

// parse returns the texts, tooltips and colours of an SVG.
func parse(t testing.TB, svg []byte) drawing {
	t.Helper()
	d := drawing{fills: map[string]int{}, lines: map[string]int{}}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	var into *[]string
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			d.tips = d.tips[1:] // the title of the picture
			return d
		}
		if err != nil {
			t.Fatalf("no well-formed SVG: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			attr := map[string]string{}
			for _, a := range e.Attr {
				attr[a.Name.Local] = a.Value
			}
			into = map[string]*[]string{"text": &d.texts, "title": &d.tips}[e.Name.Local]
			d.fills[attr["fill"]]++
			d.lines[attr["stroke"]]++
			if attr["stroke-dasharray"] != "" {
				d.dashed++
			}
		case xml.CharData:
			if into != nil {
				*into = append(*into, string(e))
			}
			into = nil
		}
	}
}
