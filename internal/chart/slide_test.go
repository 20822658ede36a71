package chart

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

var textPlace = regexp.MustCompile(`(?m)^<text x="([^"]*)" y="([^"]*)" transform="scale\(1, -1\)"\s+style="((?:font-weight:bold;)?)font-size:([0-9.]+)px[^>]*>([^<]*)<`)

// TestTextStaysOnSlide wants no level text to leave the slide, whatever the names and
// values are.
func TestTextStaysOnSlide(t *testing.T) {
	words := rapid.StringMatching(`[a-z]{1,8}([_ ][a-z0-9]{1,8}){0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfN(words, 1, 8).Draw(t, "groups")
		var series []BarSeries
		var lines []Series
		for _, name := range rapid.SliceOfN(words, 1, 9).Draw(t, "series") {
			n := len(groups)
			values := rapid.SliceOfN(rapid.Float64Range(0.001, 1e7), n, n).Draw(t, "values")
			series = append(series, BarSeries{name, values})
			lines = append(lines, Series{Name: name, X: values, Y: values})
		}
		note := rapid.SampledFrom([]string{"", strings.Repeat("a note that is longer than a line ", 5)}).Draw(t, "note")
		log := rapid.Bool().Draw(t, "log")
		var table [][]float64
		var rows []string
		for _, s := range series {
			table, rows = append(table, s.Values), append(rows, s.Name)
		}
		figures := []Figure{
			Bars{Title: "Bars", Note: note, Y: Axis{Label: "y", Log: log}, Groups: groups, Series: series, Stacked: !log},
			Lines{Title: "Lines", Note: note, X: Axis{Label: "x", Log: log}, Y: Axis{Label: "y", Log: log}, Series: lines},
			HeatMap{Title: "Heat", Note: note, Log: log, Columns: groups, Rows: rows, Values: table},
		}
		for _, f := range figures {
			svg, err := SVG(f)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, m := range textPlace.FindAllStringSubmatch(string(svg), -1) {
				number := func(text string) vg.Length {
					v, err := strconv.ParseFloat(text, 64)
					if err != nil {
						t.Fatal(err)
					}
					return vg.Length(v)
				}
				s := style{size: number(m[4]), bold: m[3] != ""}
				x, y := number(m[1]), -number(m[2])
				if y < 0 {
					continue // turned text counts from a place of its own
				}
				found++
				if right := x + s.width(m[5]); x < 0 || right > slideW || y+s.size > slideH+4 {
					t.Errorf("%T: %q reaches from %v to %v at %v, want it on the slide", f, m[5], x, right, y)
				}
			}
			if found < 3 {
				t.Errorf("%T: found %d texts, want at least a title and two labels", f, found)
			}
		}
	})
}
