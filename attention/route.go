package attention

import "github.com/kernbench/kernbench/tl"

// grid is a mesh of w columns and h rows, whose places are numbered row by row from the
// north. It knows how shards pass through it: that of a place goes east and west along
// its row, and from every place of that row north and south along the column.
//
// Each port carries at most one shard a step. What comes from the west or east at step s
// is that of the place s+1 further on. From the north comes the next row, nearest column
// first, then the row beyond it, and so on; from the south likewise. A place sends at step
// s what its neighbour then expects, and has had it since an earlier step: of its own row
// the k-th nearest is at most k away, and was there after step k-1; of another row it came
// w steps before.
type grid struct{ w, h int }

// ports is the ports of a place, in the order in which they are served.
var ports = [...]tl.Port{tl.West, tl.East, tl.North, tl.South}

// opposite is the port at the other end of a connection.
func opposite(p tl.Port) tl.Port {
	switch p {
	case tl.West:
		return tl.East
	case tl.East:
		return tl.West
	case tl.North:
		return tl.South
	}
	return tl.North
}

func (g grid) places() int { return g.w * g.h }

func (g grid) at(place int) (x, y int) { return place % g.w, place / g.w }

// place is the number of a place, -1 of one outside.
func (g grid) place(x, y int) int {
	if x < 0 || x >= g.w || y < 0 || y >= g.h {
		return -1
	}
	return y*g.w + x
}

// middle is the place that states are merged to.
func (g grid) middle() int { return g.place(g.w/2, g.h/2) }

// neighbour is the place at the other end of a port, or -1.
func (g grid) neighbour(place int, p tl.Port) int {
	x, y := g.at(place)
	switch p {
	case tl.West:
		return g.place(x-1, y)
	case tl.East:
		return g.place(x+1, y)
	case tl.North:
		return g.place(x, y-1)
	}
	return g.place(x, y+1)
}

// steps is how many steps it takes until every place has had every shard.
func (g grid) steps() int { return max(g.w-1, (g.h-1)*g.w) }

// comes is whose shard comes to a place through a port at a step, or -1.
func (g grid) comes(place int, p tl.Port, step int) int {
	x, y := g.at(place)
	switch p {
	case tl.West:
		return g.place(x-1-step, y)
	case tl.East:
		return g.place(x+1+step, y)
	case tl.North:
		return g.place(g.nearest(x, step%g.w), y-1-step/g.w)
	}
	return g.place(g.nearest(x, step%g.w), y+1+step/g.w)
}

// goes is whose shard a place sends through a port at a step, or -1.
func (g grid) goes(place int, p tl.Port, step int) int {
	next := g.neighbour(place, p)
	if next < 0 {
		return -1
	}
	return g.comes(next, opposite(p), step)
}

// nearest is the k-th nearest column to x, itself first and of two the western one.
func (g grid) nearest(x, k int) int {
	both := 2 * min(x, g.w-1-x) // so many have another at the same distance
	switch {
	case k > both && x < g.w-1-x:
		return k
	case k > both:
		return g.w - 1 - k
	case k%2 == 1:
		return x - (k+1)/2
	}
	return x + k/2
}

// sends is how many times a place sends on the shard of another, or its own.
func (g grid) sends(place, owner int) (n int) {
	for _, p := range ports {
		if next := g.neighbour(place, p); next >= 0 && g.entry(next, owner) == opposite(p) {
			n++
		}
	}
	return n
}

// entry is the port through which the shard of another comes to a place, and AnyPort of
// its own.
func (g grid) entry(place, owner int) tl.Port {
	x, y := g.at(place)
	ox, oy := g.at(owner)
	switch {
	case oy < y:
		return tl.North
	case oy > y:
		return tl.South
	case ox < x:
		return tl.West
	case ox > x:
		return tl.East
	}
	return tl.AnyPort
}

// merges is the ports through which states come to a place on their way to the middle, in
// order, and the one through which they go on: AnyPort in the middle.
func (g grid) merges(place int) (from []tl.Port, to tl.Port) {
	for _, p := range ports {
		if next := g.neighbour(place, p); next >= 0 && g.towards(next) == opposite(p) {
			from = append(from, p)
		}
	}
	return from, g.towards(place)
}

// towards is the port of a place towards the middle, first along the row.
func (g grid) towards(place int) tl.Port {
	x, y := g.at(place)
	switch {
	case x < g.w/2:
		return tl.East
	case x > g.w/2:
		return tl.West
	case y < g.h/2:
		return tl.South
	case y > g.h/2:
		return tl.North
	}
	return tl.AnyPort
}
