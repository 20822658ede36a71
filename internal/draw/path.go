package draw

import (
	"math"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
)

// point is a position in pixels, with y growing down.
type point struct{ x, y float64 }

func (p point) add(q point) point             { return point{p.x + q.x, p.y + q.y} }
func (p point) sub(q point) point             { return point{p.x - q.x, p.y - q.y} }
func (p point) scale(by float64) point        { return point{p.x * by, p.y * by} }
func (p point) distance(q point) float64      { return math.Hypot(q.x-p.x, q.y-p.y) }
func (p point) lerp(q point, t float64) point { return p.add(q.sub(p).scale(t)) }

// finite reports whether both coordinates are finite numbers.
func (p point) finite() bool { return !math.IsNaN(p.x-p.x) && !math.IsNaN(p.y-p.y) }

// rect is a rectangle, given by its top left corner and its size.
type rect struct{ x, y, w, h float64 }

func (r rect) right() float64  { return r.x + r.w }
func (r rect) bottom() float64 { return r.y + r.h }
func (r rect) centre() point   { return point{r.x + r.w/2, r.y + r.h/2} }

// rectAround returns a rectangle of w × h pixels whose centre is c.
func rectAround(c point, w, h float64) rect { return rect{c.x - w/2, c.y - h/2, w, h} }

// inset returns the rectangle without a strip on each side. The parameters are the widths
// of the strips. A negative width enlarges the rectangle.
func (r rect) inset(left, top, right, bottom float64) rect {
	return rect{r.x + left, r.y + top, r.w - left - right, r.h - top - bottom}
}

// translate returns the rectangle moved by an offset.
func (r rect) translate(by point) rect { return rect{r.x + by.x, r.y + by.y, r.w, r.h} }

// contains reports whether s is inside r.
func (r rect) contains(s rect) bool {
	return r.x <= s.x && r.y <= s.y && s.right() <= r.right() && s.bottom() <= r.bottom()
}

// overlaps reports whether the interiors of r and s intersect.
func (r rect) overlaps(s rect) bool {
	return r.x < s.right() && s.x < r.right() && r.y < s.bottom() && s.y < r.bottom()
}

// path is an outline of lines and curves, in one or more parts.
type path []segment

// segment is an element of a path.
type segment struct {
	verb verb
	at   [2]point // points of the segment, depending on the verb
}

// verb is the kind of a segment.
type verb uint8

const (
	moveTo    verb = iota // starts a part at at[0]
	lineTo                // line to at[0]
	quadTo                // quadratic curve with control point at[0] to at[1]
	closePath             // line back to the start of the part
	circleAt              // circle with centre at[0] and rightmost point at[1]
)

func (p *path) move(to point)      { *p = append(*p, segment{moveTo, [2]point{to}}) }
func (p *path) line(to point)      { *p = append(*p, segment{lineTo, [2]point{to}}) }
func (p *path) quad(via, to point) { *p = append(*p, segment{quadTo, [2]point{via, to}}) }
func (p *path) close()             { *p = append(*p, segment{verb: closePath}) }

// transform returns a copy of the path in which each point p is replaced by to(p).
func (p path) transform(to func(point) point) path {
	return lists.Make(len(p), func(i int) segment { return segment{p[i].verb, [2]point{to(p[i].at[0]), to(p[i].at[1])}} })
}

// line returns an open path through points.
func line(points ...point) path {
	p := lists.Make(len(points), func(i int) segment { return segment{lineTo, [2]point{points[i]}} })
	if len(p) > 0 {
		p[0].verb = moveTo
	}
	return p
}

// polygon returns a closed path through points.
func polygon(points ...point) path {
	p := line(points...)
	p.close()
	return p
}

func circle(centre point, radius float64) path {
	return path{{circleAt, [2]point{centre, {centre.x + radius, centre.y}}}}
}

// box returns a rectangle with rounded corners. With radius 0 the corners are sharp.
func box(r rect, radius float64) path {
	corners := []point{{r.x, r.y}, {r.right(), r.y}, {r.right(), r.bottom()}, {r.x, r.bottom()}}
	if radius <= 0 {
		return polygon(corners...)
	}
	top := point{r.x + r.w/2, r.y}
	p := roundedLine(radius, top, corners[1], corners[2], corners[3], corners[0], top)
	p.close()
	return p
}

// roundedLine returns an open path through points with rounded corners. The radius is
// smaller where corners are close together.
func roundedLine(radius float64, points ...point) path {
	var p path
	for i, at := range points {
		switch i {
		case 0:
			p.move(at)
		case len(points) - 1:
			p.line(at)
		default:
			p.line(pointTowards(at, points[i-1], radius))
			p.quad(at, pointTowards(at, points[i+1], radius))
		}
	}
	return p
}

// pointTowards returns the point at distance r from a in the direction of b, but never
// beyond the middle between a and b.
func pointTowards(a, b point, r float64) point {
	if d := a.distance(b); d > 0 {
		return a.lerp(b, min(r/d, 0.5))
	}
	return a
}

// polyline is a part of a path as straight lines.
type polyline struct {
	points []point
	closed bool
}

// flatten converts the path to straight lines. The lines deviate from the path by at most
// about the distance `tolerance`.
func (p path) flatten(tolerance float64) []polyline {
	var polylines []polyline
	var position point
	current := func() *polyline {
		if len(polylines) == 0 || polylines[len(polylines)-1].closed {
			polylines = append(polylines, polyline{points: []point{position}})
		}
		return &polylines[len(polylines)-1]
	}
	for _, s := range p {
		from, a, b := position, s.at[0], s.at[1]
		switch s.verb {
		case moveTo:
			position = a
			polylines = append(polylines, polyline{points: []point{a}})
		case lineTo:
			r := current()
			r.points, position = append(r.points, a), a
		case quadTo:
			r := current()
			steps := min(math.Ceil(math.Sqrt(from.lerp(b, 0.5).distance(a)*2/tolerance)), 500)
			for i := 1.0; i < steps; i++ {
				r.points = append(r.points, from.lerp(a, i/steps).lerp(a.lerp(b, i/steps), i/steps))
			}
			r.points, position = append(r.points, b), b
		case closePath:
			r := current()
			r.closed, position = true, r.points[0]
		case circleAt:
			radius := b.x - a.x
			steps := min(max(math.Ceil(math.Pi*math.Sqrt(radius/tolerance/2)), 8), 500)
			r := polyline{closed: true}
			for i := range int(steps) {
				sin, cos := math.Sincos(2 * math.Pi * float64(i) / steps)
				r.points = append(r.points, a.add(point{cos, sin}.scale(radius)))
			}
			polylines = append(polylines, r)
		}
	}
	return polylines
}

// dash splits a polyline into dashes. `lengths` holds the length of a dash, the length of a
// gap, and so on in turn; dash multiplies each length by `scale`. If there are no lengths,
// or they are too small to see, dash returns the whole polyline.
func (r polyline) dash(lengths []float64, scale float64) []polyline {
	total := 0.0
	for _, d := range lengths {
		total += d * scale
	}
	if !(total >= 0.5) { // no dashes, or dashes too small to see
		return []polyline{r}
	}
	points := r.points
	if r.closed && len(points) > 0 {
		points = append(points[:len(points):len(points)], points[0])
	}
	var polylines []polyline
	var now polyline
	which, left := 0, lengths[0]*scale
	for i, at := range points {
		if i == 0 {
			now.points = []point{at}
			continue
		}
		from := points[i-1]
		for rest := from.distance(at); rest > left; rest = from.distance(at) {
			from = from.lerp(at, left/rest)
			if which%2 == 0 {
				now.points = append(now.points, from)
				polylines = append(polylines, now)
			}
			which++
			left = max(lengths[which%len(lengths)]*scale, 1e-3)
			now = polyline{points: []point{from}}
		}
		left -= from.distance(at)
		now.points = append(now.points, at)
	}
	if which%2 == 0 && len(now.points) > 1 {
		polylines = append(polylines, now)
	}
	return polylines
}

// stroke returns the outline of a line along the polyline: a quadrangle for each straight
// piece, and a wedge at the outer side of each corner. `half` is half the line width. All
// parts have the same orientation, so that overlapping parts do not cancel out.
func (r polyline) stroke(half float64) []polyline {
	same := func(a, b point) bool { return a.distance(b) <= 1e-6 }
	points := slices.CompactFunc(slices.Clone(r.points), same)
	if n := len(points) - 1; r.closed && n > 0 && same(points[0], points[n]) {
		points = points[:n]
	}
	closed := r.closed && len(points) > 2
	if closed {
		points = append(points, points[0], points[1]) // the last corner is the first point
	}
	var outline []polyline
	var before point // offset to the side of the previous piece
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		along := to.sub(from).scale(half / from.distance(to))
		side := point{-along.y, along.x}
		if i > 1 {
			outline = append(outline, wedge(from, before, side, half))
		}
		if before = side; closed && i == len(points)-1 {
			break // this piece was drawn first
		}
		outline = append(outline, polyline{points: []point{from.add(side), from.sub(side), to.sub(side), to.add(side)}})
	}
	return outline
}

// wedge returns the round corner at a point between two pieces of a line. a and b are the
// offsets to the sides of the pieces, and `half` is half the line width.
func wedge(at, a, b point, half float64) polyline {
	turn := math.Atan2(a.x*b.y-a.y*b.x, a.x*b.x+a.y*b.y)
	if turn > 0 { // the outer side is opposite
		a, b = a.scale(-1), b.scale(-1)
	} else {
		a, b = b, a
	}
	start, angle := math.Atan2(a.y, a.x), math.Abs(turn)
	points := []point{at, at.add(a)}
	steps := math.Ceil(angle / 0.4)
	for i := 1.0; i < steps; i++ {
		sin, cos := math.Sincos(start + angle*i/steps)
		points = append(points, at.add(point{half * cos, half * sin}))
	}
	return polyline{points: append(points, at.add(b))}
}
