package attention

import (
	"cmp"

	"github.com/kernbench/kernbench/tl"
)

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

// way is the direction of a port.
type way struct{ x, y int }

var ways = [...]way{tl.West: {x: -1}, tl.East: {x: 1}, tl.North: {y: -1}, tl.South: {y: 1}}

// port returns the port in a direction, AnyPort for none.
func (w way) port() tl.Port {
	for _, p := range ports {
		if ways[p] == w {
			return p
		}
	}
	return tl.AnyPort
}

// opposite returns the port at the other end of a connection.
func opposite(p tl.Port) tl.Port { return way{-ways[p].x, -ways[p].y}.port() }

func (g grid) places() int { return g.w * g.h }

func (g grid) at(place int) (x, y int) { return place % g.w, place / g.w }

// place returns the number of a place, -1 of one outside.
func (g grid) place(x, y int) int {
	if x < 0 || x >= g.w || y < 0 || y >= g.h {
		return -1
	}
	return y*g.w + x
}

// middle returns the place that states are merged to.
func (g grid) middle() int { return g.place(g.w/2, g.h/2) }

// neighbour returns the place at the other end of a port, or -1.
func (g grid) neighbour(place int, p tl.Port) int {
	x, y := g.at(place)
	return g.place(x+ways[p].x, y+ways[p].y)
}

// steps returns how many steps it takes until every place has had every shard.
func (g grid) steps() int { return max(g.w-1, (g.h-1)*g.w) }

// comes returns whose shard comes to a place through a port at a step, or -1.
func (g grid) comes(place int, p tl.Port, step int) int {
	x, y := g.at(place)
	to := ways[p]
	if to.y == 0 {
		return g.place(x+to.x*(1+step), y)
	}
	return g.place(g.nearest(x, step%g.w), y+to.y*(1+step/g.w))
}

// goes returns whose shard a place sends through a port at a step, or -1.
func (g grid) goes(place int, p tl.Port, step int) int {
	next := g.neighbour(place, p)
	if next < 0 {
		return -1
	}
	return g.comes(next, opposite(p), step)
}

// nearest returns the k-th nearest column to x, itself first and of two the western one.
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

// sends returns how many times a place sends on the shard of another, or its own.
func (g grid) sends(place, owner int) (n int) {
	for _, p := range ports {
		if next := g.neighbour(place, p); next >= 0 && g.entry(next, owner) == opposite(p) {
			n++
		}
	}
	return n
}

// entry returns the port through which the shard of another comes to a place, and AnyPort of
// its own.
func (g grid) entry(place, owner int) tl.Port {
	x, y := g.at(place)
	ox, oy := g.at(owner)
	if oy != y {
		return way{y: cmp.Compare(oy, y)}.port()
	}
	return way{x: cmp.Compare(ox, x)}.port()
}

// merges returns the ports through which states come to a place on their way to the middle, in
// order, and the one through which they go on: AnyPort in the middle.
func (g grid) merges(place int) (from []tl.Port, to tl.Port) {
	for _, p := range ports {
		if next := g.neighbour(place, p); next >= 0 && g.towards(next) == opposite(p) {
			from = append(from, p)
		}
	}
	return from, g.towards(place)
}

// towards returns the port of a place towards the middle, first along the row.
func (g grid) towards(place int) tl.Port {
	x, y := g.at(place)
	if x != g.w/2 {
		return way{x: cmp.Compare(g.w/2, x)}.port()
	}
	return way{y: cmp.Compare(g.h/2, y)}.port()
}

// fence has a kernel wait for its own arithmetic, which otherwise goes on while the kernel
// does: a composite begins and ends after the commands before it.
type fence struct {
	scratch tl.Ptr
	made    bool
}

// wait waits for all commands so far.
func (f *fence) wait(t *tl.PE) {
	if !f.made {
		f.scratch, f.made = t.Scratch(tl.Shape{1}, tl.F32), true
	}
	t.Wait(t.Composite(tl.Stream(tl.OpAdd, f.scratch, t.Ref(f.scratch, tl.Shape{1}, tl.F32), 0)))
}
