package draw

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/simtime"
)

// parseBars parses bars such as "B0-10 #10-25": the character of an activity and its times
// in ns.
func parseBars(t testing.TB, text string) []GanttBar {
	t.Helper()
	var bs []GanttBar
	for _, word := range strings.Fields(text) {
		var mark rune
		var from, to simtime.Time
		if _, err := fmt.Sscanf(word, "%c%d-%d", &mark, &from, &to); err != nil {
			t.Fatalf("bar %q: %v", word, err)
		}
		b := GanttBar{From: from * simtime.Nanosecond, To: to * simtime.Nanosecond, Text: word}
		for a, known := range activities {
			if known.mark == mark {
				b.Activity = Activity(a)
			}
		}
		bs = append(bs, b)
	}
	return bs
}

// TestWriteGantt compares text charts with the expected text.
func TestWriteGantt(t *testing.T) {
	row := func(label, text string) GanttRow { return GanttRow{label, parseBars(t, text)} }
	many := make([]GanttRow, 43)
	for i := range many {
		many[i] = row(fmt.Sprintf("pe%d", i), "#0-5")
	}
	const legend = "B building   s scheduling   # computing\n~ communicating   · mostly idle\n"
	tests := []struct {
		name    string
		gantt   Gantt
		columns int
		want    string
	}{
		{"empty", Gantt{}, 40, legend},
		{"no bars", Gantt{Title: "nothing ran", Panels: []GanttPanel{{Title: "a", Rows: make([]GanttRow, 2)}}}, 40,
			"nothing ran\n\na\n… 2 idle\n" + legend},
		{"panels on one axis, one that ends after its last bar", Gantt{
			Title: "two schedules", Subtitle: "preset default",
			Panels: []GanttPanel{
				{Title: "first", Note: "makespan 36 ns", End: 36 * simtime.Nanosecond, Rows: []GanttRow{
					row("control", "B0-6 s6-9"), row("pe0", "#9-20 ~20-30"), {Label: "pe1"}, row("pe2", "#10-20"),
				}},
				{Title: "second", Rows: []GanttRow{row("control", "s0-4"), row("pe0", "~4-12 #14-18")}},
			},
		}, 45, `two schedules
preset default

first: makespan 36 ns
control│BBBBBBsss                           │
pe0    │         ###########~~~~~~~~~~      │
pe2    │          ##########                │
… 1 idle

second
control│ssss              │
pe0    │    ~~~~~~~~  ####│
       └┬─────────┬─────────┬─────────┬─────┘
     ns 0         10        20        30
B building   s scheduling   # computing
~ communicating   · mostly idle
`},
		// Each bin is 10 ns long. The bins of row a have shares of 6 and 4 ns; 5 and 5 ns;
		// 4 ns and idle time; 3 and 3 ns and idle time; and 1 ns in each of two bins. Row b
		// has many bars in one bin, and bars of length 0 in an idle bin, in a busy bin and
		// at the end.
		{"the largest share of a bin wins", Gantt{Panels: []GanttPanel{{Title: "bins", Rows: []GanttRow{
			row("a", "#0-6 ~6-10 s10-15 B15-20 #20-24 #30-33 ~33-36 #49-51"),
			row("b", "#0-1 ~1-3 #3-4 ~4-6 #6-7 ~7-9 #9-10 s25-25 #30-35 B35-35 ~35-40 s160-160"),
		}, End: 160 * simtime.Nanosecond}}}, 20, `bins
a │#B····          │
b │~ ·#           ·│
  └┬─────────┬─────┘
ns 0        100
B building
s scheduling
# computing
~ communicating
· mostly idle
`},
		// On the axis of the second panel, the first panel would be two characters wide.
		{"separate axes, one panel of no time", Gantt{
			Title: "three schedules", SeparateAxes: true,
			Panels: []GanttPanel{
				{Title: "short", Note: "makespan 36 ns", End: 36 * simtime.Nanosecond, Rows: []GanttRow{
					row("control", "B0-6 s6-9"), row("pe0", "#9-20 ~20-30"), {Label: "pe1"},
				}},
				{Title: "long", Rows: []GanttRow{row("control", "s0-200"), row("pe0", "~220-400 #500-720")}},
				{Title: "none", Rows: []GanttRow{row("pe0", "#0-0")}},
			},
		}, 45, `three schedules

short: makespan 36 ns
control│BBBBBBsss                           │
pe0    │         ###########~~~~~~~~~~      │
… 1 idle
       └┬─────────┬─────────┬─────────┬─────┘
     ns 0         10        20        30

long
control│ssssssssss                          │
pe0    │           ~~~~~~~~~     ###########│
       └┬─────────┬─────────┬─────────┬─────┘
     ns 0        200       400       600

none
pe0    ││
B building   s scheduling   # computing
~ communicating   · mostly idle
`},
		{"separate axes without panels", Gantt{SeparateAxes: true}, 40, legend},
		{"only bars of no time", Gantt{Panels: []GanttPanel{{Title: "a", Rows: []GanttRow{row("pe0", "#0-0")}}}}, 40, "a\npe0││\n" + legend},
		{"a few femtoseconds", Gantt{Panels: []GanttPanel{{Title: "a", Rows: []GanttRow{{"pe0", []GanttBar{{1, 3, Computing, "x"}}}}}}}, 40,
			"a\npe0│ ##│\n   └┬─┬┘\n fs 0 2\n" + legend},
		{"cut to the columns", Gantt{
			Title: "a title that is too long", Subtitle: "two\nlines",
			Panels: []GanttPanel{{Title: "tensormap_and_ringbuffer", Note: "12 ns", Rows: []GanttRow{row("sip0.cube0.pe0", "#0-12")}}},
		}, 20, `a title that is too…
two\nlines

tensormap_and_ringb…
sip0.…│############│
      └┬────┬────┬─┘
    ns 0    5    10
B building
s scheduling
# computing
~ communicating
· mostly idle
`},
		{"more rows than fit", Gantt{Panels: []GanttPanel{{Title: "many", Rows: append(many, GanttRow{Label: "idle"})}}}, 40,
			"many\n" + func() string {
				var rows strings.Builder
				for i := range 40 {
					fmt.Fprintf(&rows, "%-4s│%s│\n", fmt.Sprintf("pe%d", i), strings.Repeat("#", 34))
				}
				return rows.String()
			}() + `… 3 more
… 1 idle
    └┬────────────┬─────────────┬──────┘
  ns 0            2             4
` + legend},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got strings.Builder
			if err := WriteGantt(&got, &tt.gantt, tt.columns); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.String()); diff != "" {
				t.Errorf("chart (-want +got):\n%s\ngot:\n%s", diff, got.String())
			}
		})
	}
}

// TestWriteGanttTooNarrow checks the error for too few columns.
func TestWriteGanttTooNarrow(t *testing.T) {
	var b strings.Builder
	err := WriteGantt(&b, &Gantt{Title: "x"}, 19)
	const want = "write a Gantt chart in 19 columns: it takes at least 20; widen the terminal or draw it as a picture"
	if err == nil || err.Error() != want || b.Len() > 0 {
		t.Errorf("got error %v and text %q, want %q and none", err, b.String(), want)
	}
}

// randomGantt returns a random chart.
func randomGantt(t *rapid.T) *Gantt {
	g := &Gantt{Title: rapid.String().Draw(t, "title"), Subtitle: rapid.String().Draw(t, "subtitle"), SeparateAxes: rapid.Bool().Draw(t, "separate axes")}
	longest := rapid.SampledFrom([]simtime.Time{1, 100, simtime.Nanosecond, simtime.Millisecond, simtime.Second}).Draw(t, "longest")
	times := rapid.Int64Range(0, int64(longest))
	for range rapid.IntRange(0, 3).Draw(t, "panels") {
		p := GanttPanel{Title: rapid.String().Draw(t, "panel"), Note: rapid.String().Draw(t, "note"), End: simtime.Time(times.Draw(t, "end"))}
		for range rapid.IntRange(0, 50).Draw(t, "rows") {
			r := GanttRow{Label: rapid.String().Draw(t, "label")}
			var at simtime.Time
			for range rapid.IntRange(0, 4).Draw(t, "bars") {
				from := at + simtime.Time(times.Draw(t, "gap"))
				at = from + simtime.Time(times.Draw(t, "length"))
				r.Bars = append(r.Bars, GanttBar{from, at, Activity(rapid.IntRange(0, int(NumActivities)-1).Draw(t, "activity")), ""})
			}
			p.Rows = append(p.Rows, r)
		}
		g.Panels = append(g.Panels, p)
	}
	return g
}

// TestWriteGanttKeepsToColumns checks that no line is wider than the columns, for random
// charts.
func TestWriteGanttKeepsToColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, columns := randomGantt(t), rapid.IntRange(ganttColumns, 250).Draw(t, "columns")
		var b strings.Builder
		if err := WriteGantt(&b, g, columns); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("a line of %d characters, want at most %d: %q", n, columns, line)
			}
		}
	})
}

// TestGanttShares runs checkShares on the rows of random charts.
func TestGanttShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGantt(t)
		c := newGanttText(g, rapid.IntRange(ganttColumns, 250).Draw(t, "columns"))
		for _, a := range g.Axes() {
			c.setScale(a.Span())
			for _, p := range a {
				for _, r := range p.Rows {
					checkShares(t, c, r.Bars)
				}
			}
		}
	})
}

// checkShares fills the bins of a row with bars. It checks that, for each activity, the sum
// of the times in the bins equals the sum of the times of the bars.
func checkShares(t *rapid.T, c *ganttText, bars []GanttBar) {
	var want, got [NumActivities]simtime.Time
	for _, b := range bars {
		want[b.Activity] += b.To - b.From
	}
	c.fill(bars)
	for _, b := range c.bins {
		for a, share := range b.share {
			got[a] += share
		}
	}
	if got != want {
		t.Errorf("time in bins: got %v, want %v of %v", got, want, bars)
	}
}

func BenchmarkWriteGantt(b *testing.B) {
	const rows, perRow = 40, 2500
	g := &Gantt{Panels: []GanttPanel{{}}}
	for range rows {
		r := GanttRow{Label: "pe"}
		for i := range simtime.Time(perRow) {
			r.Bars = append(r.Bars, GanttBar{i * simtime.Nanosecond, i*simtime.Nanosecond + 700*simtime.Picosecond, Activity(i % 4), ""})
		}
		g.Panels[0].Rows = append(g.Panels[0].Rows, r)
	}
	for b.Loop() {
		if err := WriteGantt(io.Discard, g, 120); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*perRow), "ns/bar")
}
