package draw

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
)

// HeatMap is a table of coloured cells that show their values.
type HeatMap struct {
	Title, Subtitle, Note string
	X, Y                  string // labels of the axes of columns and rows
	Columns, Rows         []string
	Values                [][]float64 // by row, from the top; NaN for no value
	Log                   bool        // chooses colours by the logarithm of values
	Max                   float64     // colours range from 0 to Max; if 0, from the smallest to the largest value
	Unit                  string      // unit of the values, shown above the colour scale
	Format                func(float64) string
}

// check returns an error if the number of values does not match the rows and columns, if a
// value cannot be drawn, or if the colour scale cannot have the maximum Max.
func (h HeatMap) check() error {
	if len(h.Columns) == 0 || len(h.Values) != len(h.Rows) {
		return fmt.Errorf("%d columns, %d rows and values of %d rows: give values of each row, and at least one column", len(h.Columns), len(h.Rows), len(h.Values))
	}
	for i, row := range h.Values {
		if len(row) != len(h.Columns) {
			return fmt.Errorf("row %q has %d values for %d columns: give one for each, NaN for none", h.Rows[i], len(row), len(h.Columns))
		}
		for k, v := range row {
			name := fmt.Sprintf("row %q, column %q", h.Rows[i], h.Columns[k])
			if err := (Axis{Log: h.Log}).check(name, []float64{v}); err != nil && !math.IsNaN(v) {
				return err
			}
		}
	}
	if len(h.presentValues()) == 0 {
		return errors.New("no values: all are NaN")
	}
	if h.Max < 0 || h.Log && h.Max != 0 {
		return fmt.Errorf("colours from 0 to %v: Max has to be above zero, and logarithmic colours have none", h.Max)
	}
	return h.ruler().check("colour")
}

// presentValues returns all values that are not NaN.
func (h HeatMap) presentValues() []float64 {
	return slices.DeleteFunc(slices.Concat(h.Values...), math.IsNaN)
}

// ruler returns the colour scale.
func (h HeatMap) ruler() ruler {
	numbers := h.presentValues()
	lo, hi := slices.Min(numbers), slices.Max(numbers)
	switch {
	case h.Max != 0:
		lo, hi = 0, h.Max
	case lo < hi:
	case h.Log:
		lo, hi = lo/2, hi*2
	default:
		lo, hi = lo-1, hi+1
	}
	return ruler{scale: scale{lo: lo, hi: hi, log: h.Log, to: 1}, axis: Axis{Format: h.Format, Log: h.Log}}
}

// text returns the text of a cell.
func (h HeatMap) text(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return valueText(h.Format, v)
}

const (
	barW           = 18.0  // width of the colour scale
	maxColourSteps = 6     // maximum number of tick steps of the colour scale
	maxRowName     = 220.0 // maximum width of a row's name, and of the unit
)

// draw lays the heat map out on a canvas.
func (h HeatMap) draw(c *canvas) error {
	c.startPage(slideW, slideH, h.Title, h.Subtitle)
	if err := h.check(); err != nil {
		return err
	}
	area := c.drawFrame(h.Title, h.Subtitle, h.Note, nil)
	bar := h.ruler()
	bar.ticks = bar.axis.ticks(bar.lo, bar.hi, nil, maxColourSteps)
	left := gap + labelHeight(h.Y, gap) + min(tickText.widest(h.Rows...), maxRowName)
	unit := tickText.cut(h.Unit, maxRowName)
	right := max(barW+gap+bar.tickWidth(), tickText.width(unit))
	plot := area.inset(left, tickText.lineHeight(), right+2*gap, 0) // the unit is above the colour scale
	names := layoutNames(h.Columns, plot.w/float64(len(h.Columns)))
	height := names.height() + gap + labelHeight(h.X, gap/2)
	plot.h -= height

	h.drawCells(c, plot, bar.scale)
	c.drawGroupNames(names, plot)
	c.labelBottom(h.X, plot, height)
	c.labelLeft(h.Y, plot, left)

	at := rect{area.right() - right, plot.y, barW, plot.h}
	bar.fitVertical(at, maxColourSteps)
	c.drawColourScale(bar, at)
	c.text(style{size: sizeTick, colour: faint}, point{at.x, plot.y - sizeTick}, unit)
	return nil
}

// drawCells draws the cells with their values and the names of rows. The scale `colours`
// maps a value to its position on the colour scale, from 0 to 1.
func (h HeatMap) drawCells(c *canvas, plot rect, colours scale) {
	w, ht := plot.w/float64(len(h.Columns)), plot.h/float64(len(h.Rows))
	size, between := h.textSize(w, ht), min(1, w/12, ht/12)
	for i, row := range h.Values {
		top := plot.y + ht*float64(i)
		if i%labelInterval(ht) == 0 {
			c.text(style{size: sizeTick, anchor: atEnd}, point{plot.x - gap, top + ht/2}, tickText.cut(h.Rows[i], maxRowName))
		}
		for k, v := range row {
			fill, text, value := empty, faint, "no value"
			if !math.IsNaN(v) {
				fill, value = rampColour(colours.at(v)), withUnit(h.Format, v, h.Unit)
				text = fill.readable()
			}
			cell := rect{plot.x + w*float64(k), top, w, ht}
			c.group(tooltip(cmp.Or(h.Y, "row")+": "+h.Rows[i], cmp.Or(h.X, "column")+": "+h.Columns[k], value), func() {
				c.box(cell.inset(between, between, between, between), fill)
				if size > 0 {
					c.text(style{size: size, anchor: atMiddle, colour: text}, cell.centre(), h.text(v))
				}
			})
		}
	}
}

// textSize returns the largest size in which all values fit into cells of w×ht pixels, or 0
// if there is none.
func (h HeatMap) textSize(w, ht float64) float64 {
	widest := style{size: 1}.widest(lists.Map(slices.Concat(h.Values...), h.text)...)
	for size := float64(sizeLabel); size >= sizeSmall; size-- {
		if size+4 <= ht && size*widest <= w-6 {
			return size
		}
	}
	return 0
}

// drawColourScale draws the colour scale with its ticks on the right.
func (c *canvas) drawColourScale(r ruler, at rect) {
	const steps = 64
	height := at.h / steps
	for i := steps; i > 0; i-- { // each box reaches to the bottom, so that no seams are visible
		c.box(rect{at.x, at.bottom() - height*float64(i), at.w, height * float64(i)}, rampColour(float64(i-1)/(steps-1)))
	}
	c.drawTicks(r, func(v, out float64) point { return point{at.right() + out, v} }, true, tickText, 0)
}

// ramp holds the colours of the scale from low to high. Their lightness in OKLab rises in
// even steps from 0.30 to 0.93, so that equal steps look equal, also in grey and to
// colour-blind readers. The hue changes from purple through blue and green to yellow.
var ramp = []colour{
	0x391661, 0x392673, 0x353682, 0x2d4790, 0x1d579b, 0x0268a0,
	0x0378a0, 0x0487a2, 0x0296a4, 0x07a5a4, 0x0db5a2, 0x43c29b,
	0x6acd94, 0x8ed78d, 0xb1df88, 0xd2e785, 0xf3ed87,
}

// rampColour returns the colour at the position `share` on the colour scale. The position
// is 0 for the lowest value and 1 for the highest. Positions outside of this range have the
// colour of the nearer end.
func rampColour(share float64) colour {
	at := min(max(share, 0), 1) * float64(len(ramp)-1)
	i := min(int(at), len(ramp)-2)
	return ramp[i].mix(ramp[i+1], at-float64(i))
}
