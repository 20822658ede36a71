package draw

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/simtime"
)

// TestGanttSeparateAxes checks that panels with separate axes have the same width, however
// long their schedules are. Each panel has its own grid, and its axis below it. A panel
// whose schedule takes no time has no axis.
func TestGanttSeparateAxes(t *testing.T) {
	g := &Gantt{Title: "three", SeparateAxes: true}
	for _, end := range []simtime.Time{1478, 14780, 0} {
		g.Panels = append(g.Panels, GanttPanel{Title: "panel", Note: (end * simtime.Nanosecond).Rounded(), Rows: []GanttRow{
			{Label: "control", Bars: []GanttBar{nsBar(0, end, Computing, "task")}}, {Label: "idle"},
		}})
	}
	c := layOut(t, g)
	var grid, axes []string
	walk(c.items, "", func(it item, tip string) {
		s, ok := it.(shape)
		switch {
		case !ok || tip != "":
		case s.line == gridMajor, s.line == faint && s.width == 1.5:
			grid = append(grid, s.path.data())
		case s.line == faint:
			axes = append(axes, s.path.data())
		}
	})
	all := placedTexts(c)
	for _, tt := range []struct {
		name      string
		want, got []string
	}{
		{"bars", []string{
			"task; computing, 0 ns to 1.478 µs: M90 170H1567.3V194H90Z #009e73",
			"task; computing, 0 ns to 14.78 µs: M90 308H1567.3V332H90Z #009e73",
			"1 × computing, 0 ns in all: M90 458H90.5 #000000",
		}, shapesWithTooltips(c)},
		{"grid", []string{
			"M90 170V198", "M290 170V198", "M490 170V198", "M690 170V198", "M890 170V198", "M1090 170V198", "M1290 170V198", "M1490 170V198", "M1568 170V198",
			"M90 308V336", "M290 308V336", "M490 308V336", "M690 308V336", "M890 308V336", "M1090 308V336", "M1290 308V336", "M1490 308V336", "M1568 308V336",
			"M90 446V474", "M90 446V474",
		}, grid},
		{"axes", []string{
			"M90 226H1568", "M90 226V232", "M290 226V232", "M490 226V232", "M690 226V232", "M890 226V232", "M1090 226V232", "M1290 226V232", "M1490 226V232",
			"M90 364H1568", "M90 364V370", "M290 364V370", "M490 364V370", "M690 364V370", "M890 364V370", "M1090 364V370", "M1290 364V370", "M1490 364V370",
		}, axes},
		{"texts below the legend", []string{
			"each panel has its own axis of time: 1568 104",
			"1.478 µs: 1568 153", "panel: 90 153", "control: 78 182", "task: 828.65 182", "… 1 idle: 90 208",
			"0 µs: 90 244", "0.2 µs: 290 244", "0.4 µs: 490 244", "0.6 µs: 690 244", "0.8 µs: 890 244", "1 µs: 1090 244", "1.2 µs: 1290 244", "1.4 µs: 1490 244",
			"14.78 µs: 1568 291", "panel: 90 291", "control: 78 320", "task: 828.65 320", "… 1 idle: 90 346",
			"0 µs: 90 382", "2 µs: 290 382", "4 µs: 490 382", "6 µs: 690 382", "8 µs: 890 382", "10 µs: 1090 382", "12 µs: 1290 382", "14 µs: 1490 382",
			"0 ns: 1568 429", "panel: 90 429", "control: 78 458", "… 1 idle: 90 484",
		}, all[len(all)-31:]},
		{"height", []string{"550"}, []string{formatNumber(c.h)}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
