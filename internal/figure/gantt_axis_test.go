package figure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/sim"
)

// TestGanttApart wants panels that are as wide as each other, however long their
// schedules are, each with its own grid and its axis below it. One of no time has none.
func TestGanttApart(t *testing.T) {
	g := &draw.Gantt{Title: "three", Apart: true}
	for _, end := range []sim.Time{1429, 14290, 0} {
		g.Panels = append(g.Panels, draw.GanttPanel{Title: "panel", Note: (end * sim.Nanosecond).Rounded(), Rows: []draw.GanttRow{
			{Label: "control", Bars: []draw.GanttBar{ns(0, end, draw.Computing, "task")}}, {Label: "idle"},
		}})
	}
	e := parseGantt(t, g)
	var bars, grid, axes, texts []string
	e.each(func(e element) {
		switch kind, d := e.XMLName.Local, e.attr("d"); {
		case kind == "text":
			texts = append(texts, fmt.Sprintf("%s: %s %s", e.Text, e.attr("x"), e.attr("y")))
		case kind == "g" && e.Title != "":
			bars = append(bars, fmt.Sprintf("%s: x %s width %s y %s", strings.ReplaceAll(e.Title, "\n", "; "), e.Parts[0].attr("x"), e.Parts[0].attr("width"), e.Parts[0].attr("y")))
		case kind == "path" && strings.Contains(d, "V"):
			grid = append(grid, d)
		case kind == "path" && e.attr("stroke") == faint:
			axes = append(axes, d)
		}
	})
	for _, tt := range []struct {
		name      string
		want, got []string
	}{
		{"bars", []string{
			"task; computing, 0 ns to 1.429 µs: x 107 width 1428.3 y 170",
			"task; computing, 0 ns to 14.29 µs: x 107 width 1428.3 y 308",
		}, bars},
		{"grid", []string{
			"M107 170V198", "M307 170V198", "M507 170V198", "M707 170V198", "M907 170V198", "M1107 170V198", "M1307 170V198", "M1507 170V198", "M1536 170V198",
			"M107 308V336", "M307 308V336", "M507 308V336", "M707 308V336", "M907 308V336", "M1107 308V336", "M1307 308V336", "M1507 308V336", "M1536 308V336",
			"M107 446V474", "M107 446V474",
		}, grid},
		{"axes", []string{
			"M107 226h1429", "M107 226v6", "M307 226v6", "M507 226v6", "M707 226v6", "M907 226v6", "M1107 226v6", "M1307 226v6", "M1507 226v6",
			"M107 364h1429", "M107 364v6", "M307 364v6", "M507 364v6", "M707 364v6", "M907 364v6", "M1107 364v6", "M1307 364v6", "M1507 364v6",
		}, axes},
		{"texts below the legend", []string{
			"each panel has its own axis of time: 1536 109",
			"panel: 107 159", "1.429 µs: 1536 158", "control: 95 187", "task: 821 186", "… 1 idle: 107 213",
			"0 µs: 107 249", "0.2 µs: 307 249", "0.4 µs: 507 249", "0.6 µs: 707 249", "0.8 µs: 907 249", "1 µs: 1107 249", "1.2 µs: 1307 249", "1.4 µs: 1507 249",
			"panel: 107 297", "14.29 µs: 1536 296", "control: 95 325", "task: 821 324", "… 1 idle: 107 351",
			"0 µs: 107 387", "2 µs: 307 387", "4 µs: 507 387", "6 µs: 707 387", "8 µs: 907 387", "10 µs: 1107 387", "12 µs: 1307 387", "14 µs: 1507 387",
			"panel: 107 435", "0 ns: 1536 434", "control: 95 463", "… 1 idle: 107 489",
		}, texts[len(texts)-31:]},
		{"height", []string{"550"}, []string{e.attr("height")}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
