package draw

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
)

const (
	leader       = 16.0  // distance from the plot to the line sample of a name
	nameSample   = 22.0  // width of the line sample
	maxNameWidth = 210.0 // maximum width of a name at the end of a line
)

// namedAtEnd reports for each series whether its name is written at the end of its line.
// The names at the ends of lines are all names, only the names of bounds, or none. A name
// at the end of a line must be short, and the line must end near the right edge of the
// plot. No name is at the end of a line if the chart is a single line that is not a bound,
// or has more than 16 series.
func (l Lines) namedAtEnd() []bool {
	if len(l.Series) == 1 && !l.Series[0].Bound {
		return make([]bool, 1)
	}
	x, y := l.rulers()
	x.to, y.to = 1, 1
	ends := func(s Series) bool {
		at, ok := l.lineEnd(s, x.scale, y.scale)
		return ok && at.x > 0.85 && s.Name != "" && style{size: sizeLegend}.width(s.Name) <= maxNameWidth
	}
	all, bounds := true, true
	for _, s := range l.Series {
		all = all && ends(s)
		bounds = bounds && (!s.Bound || ends(s))
	}
	return lists.Make(len(l.Series), func(i int) bool { return len(l.Series) <= 16 && (all || bounds && l.Series[i].Bound) })
}

// lineEnd returns the rightmost point of the line of a series. ok is false if the series is
// drawn without a line.
func (l Lines) lineEnd(s Series, x, y scale) (at point, ok bool) {
	if s.Scatter || !monotonic(s.X) {
		return point{}, false
	}
	for i, p := range positions(s, x, y) {
		if i == 0 || p.x >= at.x {
			at = p
		}
	}
	return at, true
}

// drawNames writes the names of series at the right of the plot, at the heights of the ends
// of their lines or as close as other names allow.
func (l Lines) drawNames(c *canvas, plot rect, x, y scale, named []bool) {
	ends := make([]point, len(l.Series))
	var order []int
	for i, s := range l.Series {
		if end, ok := l.lineEnd(s, x, y); ok && named[i] {
			ends[i], order = end, append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ends[a].y, ends[b].y) })
	ys := lists.Make(len(order), func(k int) float64 { return ends[order[k]].y })
	text, looks := style{size: sizeLegend}, l.looks(l.Series)
	spread(ys, text.lineHeight(), plot.y, plot.bottom())
	for k, i := range order {
		at := point{plot.right() + leader, ys[k]}
		c.lines(looks[i].colour, 1, ends[i].add(point{markSize + 2, 0}), point{at.x - leader/2, at.y}, at)
		looks[i].drawSample(c, rect{at.x, at.y - sampleH/2, nameSample, sampleH})
		c.text(text, at.add(point{nameSample + gap/2, 0}), l.Series[i].Name)
	}
}

// spread changes the coordinates in `at`, a sorted list, so that neighbours are at least
// the distance `apart` from each other. The coordinates stay between lo and hi if there is
// space.
func spread(at []float64, apart, lo, hi float64) {
	for i := 1; i < len(at); i++ {
		at[i] = max(at[i], at[i-1]+apart)
	}
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = min(at[i], hi)
		hi = at[i] - apart
	}
	for i := range at {
		at[i] = max(at[i], lo+float64(i)*apart)
	}
}
