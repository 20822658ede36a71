package chart

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// HeatMap is a table of coloured cells that carry their value.
type HeatMap struct {
	Title, Note   string
	X, Y          string // what columns and rows are
	Columns, Rows []string
	Values        [][]float64 // by row, the first of which is at the top; NaN is no value
	Log           bool        // colours by the logarithm
	Min, Max      float64     // of the colours; both zero: those of the values
	Unit          string      // of the values, above the scale of colours
	Format        func(float64) string
}

func (h HeatMap) heading() string { return h.Title }

func (h HeatMap) check() error {
	if len(h.Columns) == 0 || len(h.Values) != len(h.Rows) {
		return fmt.Errorf("%d columns, %d rows and values of %d rows: give values of each row, and at least one column", len(h.Columns), len(h.Rows), len(h.Values))
	}
	found := false
	for i, row := range h.Values {
		if len(row) != len(h.Columns) {
			return fmt.Errorf("row %q has %d values for %d columns: give one for each, NaN for none", h.Rows[i], len(row), len(h.Columns))
		}
		for k, v := range row {
			if math.IsNaN(v) {
				continue
			}
			found = true
			if err := (Axis{Log: h.Log, Min: h.Min, Max: h.Max}).check(fmt.Sprintf("row %q, column %q", h.Rows[i], h.Columns[k]), []float64{v}); err != nil {
				return err
			}
		}
	}
	if !found {
		return errors.New("no values: all are NaN")
	}
	lo, hi := h.span()
	if h.Log && lo <= 0 {
		return fmt.Errorf("logarithmic colours from %v to %v: let Min be above zero, or give neither", lo, hi)
	}
	return checkSpan("colour", lo, hi)
}

// span is the values of the first and the last colour.
func (h HeatMap) span() (lo, hi float64) {
	if h.Min != 0 || h.Max != 0 {
		return h.Min, h.Max
	}
	values := slices.DeleteFunc(slices.Concat(h.Values...), math.IsNaN)
	lo, hi = bounds(values)
	switch {
	case lo < hi:
		return lo, hi
	case h.Log:
		return lo / 2, hi * 2
	}
	return lo - 1, hi + 1
}

func (h HeatMap) text(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case h.Format != nil:
		return h.Format(rounded(v))
	}
	return SI(rounded(v))
}

const barW vg.Length = 18 // of the scale of colours

func (h HeatMap) draw(p pen) {
	area := p.frame(h.Title, h.Note, nil)
	lo, hi := h.span()
	bar := ruler{scale: scale{lo: lo, hi: hi, log: h.Log, to: 1}}
	bar.ticks = Axis{Format: h.Format, Log: h.Log}.ticks(lo, hi, nil, 6)

	var widest vg.Length
	for _, r := range h.Rows {
		widest = max(widest, tickText.width(r))
	}
	left := widest + gap
	if h.Y != "" {
		left += gap + labelText.lineHeight()
	}
	plot := area
	plot.Min.X += left
	right := max(barW+gap+bar.leftWidth(), tickText.width(h.Unit))
	plot.Max.X -= right + 2*gap
	plot.Max.Y -= tickText.lineHeight() // the unit stands there
	slot := (plot.Max.X - plot.Min.X) / vg.Length(len(h.Columns))
	names := namesBelow(h.Columns, slot)
	height := vg.Length(names.lines)*tickText.lineHeight() + names.up + gap
	if h.X != "" {
		height += gap/2 + labelText.lineHeight()
	}
	plot.Min.Y += height

	h.cells(p, plot, bar.scale)
	for i := range h.Columns {
		p.groupName(names, i, vg.Point{X: plot.Min.X + slot*(vg.Length(i)+0.5), Y: plot.Min.Y})
	}
	p.below(h.X, plot, height)
	p.beside(h.Y, plot, left)

	at := vg.Rectangle{Min: vg.Point{X: area.Max.X - right, Y: plot.Min.Y}, Max: vg.Point{X: area.Max.X - right + barW, Y: plot.Max.Y}}
	bar.from, bar.to = at.Min.Y, at.Max.Y
	p.colours(bar, at)
	p.text(style{size: sizeTick, colour: faint}, vg.Point{X: at.Min.X, Y: plot.Max.Y + tickText.size}, h.Unit)
}

func (h HeatMap) cells(p pen, plot vg.Rectangle, share scale) {
	w, ht := (plot.Max.X-plot.Min.X)/vg.Length(len(h.Columns)), (plot.Max.Y-plot.Min.Y)/vg.Length(len(h.Rows))
	size := h.textSize(w, ht)
	for i, row := range h.Values {
		top := plot.Max.Y - ht*vg.Length(i)
		p.text(style{size: sizeTick, across: atEnd}, vg.Point{X: plot.Min.X - gap, Y: top - ht/2}, h.Rows[i])
		for k, v := range row {
			left := plot.Min.X + w*vg.Length(k)
			fill, text := empty, faint
			if !math.IsNaN(v) {
				fill = rampColour(float64(share.at(v)))
				text = readable(fill)
			}
			p.box(fill, vg.Rectangle{Min: vg.Point{X: left + 1, Y: top - ht + 1}, Max: vg.Point{X: left + w - 1, Y: top - 1}})
			if size > 0 {
				p.text(style{size: size, across: atMiddle, colour: text}, vg.Point{X: left + w/2, Y: top - ht/2}, h.text(v))
			}
		}
	}
}

// textSize is the largest that the values fit into cells with, or 0.
func (h HeatMap) textSize(w, ht vg.Length) vg.Length {
	for size := vg.Length(sizeLabel); size >= sizeSmall; size-- {
		fits := size+4 <= ht
		for _, row := range h.Values {
			for _, v := range row {
				fits = fits && style{size: size}.width(h.text(v)) <= w-6
			}
		}
		if fits {
			return size
		}
	}
	return 0
}

// colours draws the scale of colours with its ticks on the right.
func (p pen) colours(r ruler, at vg.Rectangle) {
	const steps = 64
	height := (at.Max.Y - at.Min.Y) / steps
	for i := range steps {
		step := vg.Rectangle{Min: vg.Point{X: at.Min.X, Y: at.Min.Y + height*vg.Length(i)}, Max: at.Max}
		step.Max.Y = min(at.Max.Y, step.Min.Y+height+1) // no seam below the next
		p.box(rampColour(float64(i)/(steps-1)), step)
	}
	for _, t := range r.ticks {
		y := r.scale.at(t.at)
		p.line(axisLine, 1, nil, vg.Point{X: at.Max.X, Y: y}, vg.Point{X: at.Max.X + tickMajor, Y: y})
		p.text(tickText, vg.Point{X: at.Max.X + tickMajor + gap/2, Y: y}, t.label)
	}
}
