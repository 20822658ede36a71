package draw

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/simtime"
)

// Sizes of a text chart, in characters and lines.
const (
	ganttColumns = 20 // minimum width of a chart
	ganttLines   = 40 // maximum number of rows of a panel
	ganttLabel   = 24 // maximum width of labels, which also take at most a third of the columns
	ganttTick    = 8  // distance of ticks, unless that leaves fewer than two steps

	mostlyIdle = '·' // a bin with some activity that is idle most of its time
)

// WriteGantt writes a chart as text, at most `columns` characters wide. A character stands
// for a bin of time and shows the activity that takes the largest part of the bin:
//
//	ring: makespan 12 µs
//	control│BBBss·ss           │
//	pe0    │     ###~~~#####~~~│
//	… 6 idle
//	       └┬──────┬───────┬───┘
//	     µs 0      5       10
//
// A dot marks a bin that is mostly but not completely idle. The line at the right of the
// bins is the end of the schedule. If SeparateAxes is set, each panel has its own axis.
// Every character counts as one column.
func WriteGantt(w io.Writer, g *Gantt, columns int) error {
	if columns < ganttColumns {
		return fmt.Errorf("write a Gantt chart in %d columns: it takes at least %d; widen the terminal or draw it as a picture", columns, ganttColumns)
	}
	c := newGanttText(g, columns)
	c.writeLine(g.Title)
	c.writeLine(g.Subtitle)
	for _, a := range g.Axes() {
		c.setScale(a.Span())
		for i := range a {
			c.writePanel(&a[i])
		}
		c.writeAxis()
	}
	c.writeLegend()
	_, err := io.WriteString(w, c.text.String())
	return err
}

// ganttText is a text chart that is being written.
type ganttText struct {
	text    strings.Builder
	columns int
	label   int            // width of the labels in columns
	edges   []simtime.Time // boundaries of the bins of the axis, one more than there are bins
	bins    []bin          // bins of the current row
}

// bin is an interval of time in a row.
type bin struct {
	share   [NumActivities]simtime.Time
	touched bool // a bar overlaps the bin, possibly one of length 0
}

// newGanttText returns an empty text chart whose label column is as wide as the labels
// need.
func newGanttText(g *Gantt, columns int) *ganttText {
	c := &ganttText{columns: columns, label: 2} // space for a unit of time
	for i := range g.Panels {
		rows, _ := g.Panels[i].Fold(ganttLines)
		for _, r := range rows {
			c.label = max(c.label, utf8.RuneCountInString(printable.Line(r.Label)))
		}
	}
	c.label = min(c.label, ganttLabel, columns/3)
	return c
}

// setScale creates the bins of a time axis. No bin is shorter than a femtosecond.
func (c *ganttText) setScale(end simtime.Time) {
	n := min(c.columns-c.label-2, int(end))
	c.bins = make([]bin, n)
	c.edges = lists.Make(n+1, func(i int) simtime.Time { return simtime.MulDiv(uint64(end), uint64(i), uint64(max(n, 1))) })
}

// writeLine writes a line of text, cut to the width of the chart. It writes nothing if the
// text is empty.
func (c *ganttText) writeLine(text string) {
	if text = strings.TrimRight(text, " "); text != "" {
		c.text.WriteString(cutRunes(text, c.columns) + "\n")
	}
}

// writePanel writes the heading of a panel, a line for each row, and the counts of rows
// left out.
func (c *ganttText) writePanel(p *GanttPanel) {
	heading := p.Title
	if p.Note != "" {
		heading += ": " + p.Note
	}
	if c.text.Len() > 0 {
		c.text.WriteByte('\n')
	}
	c.writeLine(heading)
	rows, rest := p.Fold(ganttLines)
	reach := c.bins[:c.binsBefore(p.Span())]
	for _, r := range rows {
		c.fill(r.Bars)
		c.writeLine(fmt.Sprintf("%-*s│%s│", c.label, cutRunes(r.Label, c.label), binMarks(reach, c.edges)))
	}
	for _, line := range rest {
		c.writeLine(line)
	}
}

// binsBefore returns the number of bins that start before a time.
func (c *ganttText) binsBefore(t simtime.Time) int {
	n, _ := slices.BinarySearch(c.edges, t)
	return n
}

// binAt returns the index of the bin that contains a time. The last bin also contains its
// own end.
func (c *ganttText) binAt(t simtime.Time) int { return max(min(c.binsBefore(t+1), len(c.bins))-1, 0) }

// fill clears the bins and then adds the time of each bar to the bins that the bar
// overlaps.
func (c *ganttText) fill(bars []GanttBar) {
	clear(c.bins)
	for _, b := range bars {
		for i := c.binAt(b.From); i < len(c.bins); i++ {
			from, to := max(b.From, c.edges[i]), min(b.To, c.edges[i+1])
			c.bins[i].share[b.Activity] += max(to-from, 0)
			c.bins[i].touched = true
			if b.To <= c.edges[i+1] {
				break
			}
		}
	}
}

// binMarks returns one character for each bin, which stands for the activity with the
// largest share. In a tie the first activity wins, and any activity wins over idle time. A
// bin that is mostly idle has the character mostlyIdle, or a space if no bar touches it.
func binMarks(bins []bin, edges []simtime.Time) string {
	var text strings.Builder
	for i, b := range bins {
		mark, most, idle := ' ', simtime.Time(0), edges[i+1]-edges[i]
		for a, share := range b.share {
			idle -= share
			if share > most {
				mark, most = activities[a].mark, share
			}
		}
		switch {
		case idle <= most:
			text.WriteRune(mark)
		case b.touched:
			text.WriteRune(mostlyIdle)
		default:
			text.WriteByte(' ')
		}
	}
	return text.String()
}

// writeAxis writes the ticks and, below them, their numbers.
func (c *ganttText) writeAxis() {
	if len(c.bins) == 0 {
		return
	}
	ticks, unit := timeTicks(c.edges[len(c.bins)], max(len(c.bins)/ganttTick, 2))
	ruler := slices.Repeat([]rune{'─'}, len(c.bins)+1)
	ruler[len(c.bins)] = '┘'
	numbers := slices.Repeat([]rune{' '}, len(c.bins)+1)
	for _, t := range ticks {
		at := c.binsBefore(t.at+1) - 1
		ruler[at] = '┬'
		// Centre the number below the tick, if there is space.
		copy(numbers[max(min(at-(len(t.text)-1)/2, len(numbers)-len(t.text)), 0):], []rune(t.text))
	}
	c.writeLine(fmt.Sprintf("%*s└%s", c.label, "", string(ruler)))
	c.writeLine(fmt.Sprintf("%*s %s", c.label, unit, string(numbers)))
}

// writeLegend explains the characters, in as many lines as needed.
func (c *ganttText) writeLegend() {
	entries := lists.Make(int(NumActivities), func(a int) string { return fmt.Sprintf("%c %s", activities[a].mark, activities[a].word) })
	entries = append(entries, fmt.Sprintf("%c mostly idle", mostlyIdle))
	line := entries[0]
	for _, e := range entries[1:] {
		joined := line + "   " + e
		if utf8.RuneCountInString(joined) > c.columns {
			c.writeLine(line)
			joined = e
		}
		line = joined
	}
	c.writeLine(line)
}

// cutRunes returns a text as one line of at most n characters.
func cutRunes(text string, n int) string {
	runes := []rune(printable.Line(text))
	if len(runes) > n {
		runes = append(runes[:n-1], '…')
	}
	return string(runes)
}
