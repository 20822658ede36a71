package draw

import (
	"math"
	"slices"
)

// dash returns the parts of a run that dashes cover. Lengths of dashes and gaps are scaled.
func (r run) dash(lengths []float64, scale float64) []run {
	total := 0.0
	for _, d := range lengths {
		total += d * scale
	}
	if !(total >= 0.5) { // no dashes, or too small to see
		return []run{r}
	}
	points := r.points
	if r.closed && len(points) > 0 {
		points = append(points[:len(points):len(points)], points[0])
	}
	var runs []run
	var now run
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
				runs = append(runs, now)
			}
			which++
			left = max(lengths[which%len(lengths)]*scale, 1e-3)
			now = run{points: []point{from}}
		}
		left -= from.distance(at)
		now.points = append(now.points, at)
	}
	if which%2 == 0 && len(now.points) > 1 {
		runs = append(runs, now)
	}
	return runs
}

// stroke returns the outline of a line of a width along the run: a quadrangle for each piece,
// and a wedge at the outer side of each corner. All turn the same way round, so that they
// add up.
func (r run) stroke(half float64) []run {
	same := func(a, b point) bool { return a.distance(b) <= 1e-6 }
	points := slices.CompactFunc(slices.Clone(r.points), same)
	if n := len(points) - 1; r.closed && n > 0 && same(points[0], points[n]) {
		points = points[:n]
	}
	closed := r.closed && len(points) > 2
	if closed {
		points = append(points, points[0], points[1]) // ends with the corner where it began
	}
	var outline []run
	var before point // the side of the piece before
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		along := to.sub(from).scale(half / from.distance(to))
		side := point{-along.y, along.x}
		if i > 1 {
			outline = append(outline, wedge(from, before, side, half))
		}
		if before = side; closed && i == len(points)-1 {
			break // drawn at first
		}
		outline = append(outline, run{points: []point{from.add(side), from.sub(side), to.sub(side), to.add(side)}})
	}
	return outline
}

// wedge returns the round corner at a point between two pieces of a line, given by their
// sides.
func wedge(at, a, b point, half float64) run {
	turn := math.Atan2(a.x*b.y-a.y*b.x, a.x*b.x+a.y*b.y)
	if turn > 0 { // the outer side is the other one
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
	return run{points: append(points, at.add(b))}
}
