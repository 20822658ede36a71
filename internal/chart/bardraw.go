package chart

import (
	"gonum.org/v1/plot/vg"
)

// barDrawer has the bars of a chart on its slide.
type barDrawer struct {
	pen
	Bars
	y    ruler
	left vg.Length // of the first group
	slot vg.Length // width of a group with what lies between
	most int       // bars side by side in a group
}

// rect is the place of a bar. All are of a width, and those of a group around its
// middle.
func (d barDrawer) rect(b bar) vg.Rectangle {
	width := d.slot * 0.8 / vg.Length(d.most)
	if d.most == 1 {
		width = min(d.slot*0.62, 120)
	}
	x := d.left + d.slot*(vg.Length(b.group)+0.5) + width*(vg.Length(b.place)-vg.Length(b.of)/2)
	from := b.from
	if d.y.log {
		from = d.y.lo
	}
	between := min(1.5, width/8)
	return vg.Rectangle{
		Min: vg.Point{X: x + between, Y: d.y.at(max(from, d.y.lo))},
		Max: vg.Point{X: x + width - between, Y: d.y.at(min(b.to, d.y.hi))},
	}
}

func (d barDrawer) all(bars []bar) {
	level, upright := true, true // values on bars, all in the same way
	for _, b := range bars {
		room := d.room(b)
		level = level && (!b.top || style{size: sizeTick}.width(d.text(b.to)) <= room+1)
		upright = upright && room >= sizeTick-2
	}
	for _, b := range bars {
		r := d.rect(b)
		d.box(colour(b.series), r)
		if d.y.broken() && b.from < d.Break[0] && b.to > d.Break[1] {
			d.slashes(r.Min.X-2, r.Max.X+2)
		}
		if d.Stacked {
			d.inside(b, r)
		}
		switch {
		case !b.top:
		case level:
			d.above(b, r)
		case upright:
			d.upright(b, r)
		}
	}
}

// room is how wide the value of a bar may be. One that is alone has that of its group.
func (d barDrawer) room(b bar) vg.Length {
	if b.of == 1 {
		return d.slot
	}
	r := d.rect(b)
	return r.Max.X - r.Min.X
}

// text is the value on a bar.
func (d barDrawer) text(v float64) string {
	if d.Y.Format != nil {
		return d.Y.Format(rounded(v))
	}
	return SI(rounded(v))
}

// above writes the value of a bar over it, on paper: lines of the grid end there.
func (d barDrawer) above(b bar, r vg.Rectangle) {
	s, text := style{size: sizeTick, across: atMiddle}, d.text(b.to)
	at := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: r.Max.Y + s.size*0.75}
	half := vg.Point{X: s.width(text) / 2, Y: s.size / 2}
	d.box(paper, vg.Rectangle{Min: at.Sub(half), Max: at.Add(half)})
	d.pen.text(s, at, text)
}

// upright writes the value of a bar along it, above it or at its top inside.
func (d barDrawer) upright(b bar, r vg.Rectangle) {
	text := d.text(b.to)
	s := style{size: sizeTick, up: true}
	at := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: r.Max.Y + 4}
	if at.Y+s.width(text) > slideTop(d.y) {
		s.across, s.colour = atEnd, readable(colour(b.series))
		at.Y = r.Max.Y - 4
	}
	d.pen.text(s, at, text)
}

// slideTop is how far up the values of bars may reach.
func slideTop(y ruler) vg.Length { return y.to + tickText.lineHeight() }

// inside writes the value of a part of a stack into it if it fits. That of a stack
// of one is on top already.
func (d barDrawer) inside(b bar, r vg.Rectangle) {
	s := style{size: sizeTick, across: atMiddle, colour: readable(colour(b.series))}
	text := d.text(b.value())
	if b.value() == b.to && b.top || r.Max.Y-r.Min.Y < s.size+2 || s.width(text) > r.Max.X-r.Min.X-4 {
		return
	}
	d.pen.text(s, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}, text)
}

// slashes cuts what lies at the break of the axis, from one x to another: a white
// band with two slanted edges.
func (d barDrawer) slashes(from, to vg.Length) {
	const slant, half = 3, 3
	y := (d.y.at(d.Break[0]) + d.y.at(d.Break[1])) / 2
	corner := func(x, dy vg.Length) vg.Point {
		if x == from {
			return vg.Point{X: x, Y: y + dy - slant}
		}
		return vg.Point{X: x, Y: y + dy + slant}
	}
	d.shape(paper, corner(from, -half), corner(to, -half), corner(to, half), corner(from, half))
	d.line(axisLine, 1.25, nil, corner(from, -half), corner(to, -half))
	d.line(axisLine, 1.25, nil, corner(from, half), corner(to, half))
}

// groupNames is how groups are called below them: in lines, or upwards if there is
// no room for that.
type groupNames struct {
	text  [][]string
	lines int       // the most that a name takes
	up    vg.Length // the longest name, if they are written upwards
}

func namesBelow(names []string, slot vg.Length) groupNames {
	for _, within := range []bool{false, true} {
		var set groupNames
		var widest vg.Length
		for _, name := range names {
			lines := tickText.wrap(name, slot-gap, within)
			set.text = append(set.text, lines)
			set.lines = max(set.lines, len(lines))
			for _, line := range lines {
				widest = max(widest, tickText.width(line))
			}
		}
		if widest <= slot-gap/2 && set.lines <= 3 {
			return set
		}
	}
	var upwards groupNames
	for _, name := range names {
		upwards.text = append(upwards.text, []string{name})
		upwards.up = max(upwards.up, tickText.width(name))
	}
	return upwards
}

func (p pen) groupName(names groupNames, g int, at vg.Point) {
	s := tickText
	if names.up > 0 {
		s.across, s.up = atEnd, true
		p.text(s, vg.Point{X: at.X, Y: at.Y - tickMajor}, names.text[g][0])
		return
	}
	s.across = atMiddle
	for i, line := range names.text[g] {
		p.text(s, vg.Point{X: at.X, Y: at.Y - tickMajor - gap/2 - s.size/2 - s.lineHeight()*vg.Length(i)}, line)
	}
}
