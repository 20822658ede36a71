package attention

import (
	"cmp"

	"github.com/kernbench/kernbench/tl"
)

// grid computes how shards move through a mesh of w columns and h rows. A place is a
// position in the mesh; places are numbered row by row from the north. The shard of a place
// moves east and west along the row of the place. From every place of that row it also
// moves north and south along the column.
//
// Each port carries at most one shard per step. At step s the shard that arrives from the
// west or east is that of the place at distance s+1. From the north, the shards of the next
// row arrive first, nearest column first, then the shards of the row beyond it, and so on.
// The same holds for the south.
//
// At step s a place sends the shard that its neighbour expects at this step. The place has
// received this shard at an earlier step. The k-th nearest shard of its own row is at most
// k places away and has arrived after step k-1. A shard of another row has arrived w steps
// earlier.
type grid struct{ w, h int }

// ports lists the ports of a place, in the order in which they are served.
var ports = [...]tl.Port{tl.West, tl.East, tl.North, tl.South}

// direction is the offset from a place to its neighbour at a port.
type direction struct{ x, y int }

var directions = [...]direction{tl.West: {x: -1}, tl.East: {x: 1}, tl.North: {y: -1}, tl.South: {y: 1}}

// port returns the port that leads in direction w, or AnyPort if there is none.
func (w direction) port() tl.Port {
	for _, p := range ports {
		if directions[p] == w {
			return p
		}
	}
	return tl.AnyPort
}

// opposite returns the port of the neighbour that is connected with port p, such as East
// for West.
func opposite(p tl.Port) tl.Port { return direction{-directions[p].x, -directions[p].y}.port() }

func (g grid) places() int { return g.w * g.h }

func (g grid) coordinates(place int) (x, y int) { return place % g.w, place / g.w }

// place returns the number of the place at column x and row y, or -1 outside of the mesh.
func (g grid) place(x, y int) int {
	if x < 0 || x >= g.w || y < 0 || y >= g.h {
		return -1
	}
	return y*g.w + x
}

// middle returns the place in the middle of the mesh, at which all softmax states are
// merged.
func (g grid) middle() int { return g.place(g.w/2, g.h/2) }

// neighbour returns the place to which port p of a place leads, or -1 if there is none.
func (g grid) neighbour(place int, p tl.Port) int {
	x, y := g.coordinates(place)
	return g.place(x+directions[p].x, y+directions[p].y)
}

// steps returns the number of steps until every place has received every shard.
func (g grid) steps() int { return max(g.w-1, (g.h-1)*g.w) }

// incoming returns the owner of the shard that arrives at a place through port p at a step,
// or -1 if no shard arrives.
func (g grid) incoming(place int, p tl.Port, step int) int {
	x, y := g.coordinates(place)
	to := directions[p]
	if to.y == 0 {
		return g.place(x+to.x*(1+step), y)
	}
	return g.place(g.nearest(x, step%g.w), y+to.y*(1+step/g.w))
}

// outgoing returns the owner of the shard that a place sends through port p at a step, or
// -1 if it sends no shard.
func (g grid) outgoing(place int, p tl.Port, step int) int {
	next := g.neighbour(place, p)
	if next < 0 {
		return -1
	}
	return g.incoming(next, opposite(p), step)
}

// nearest returns the column that is k-th nearest to x, counted from 0 for x itself. Of two
// columns at the same distance the western one comes first.
func (g grid) nearest(x, k int) int {
	both := 2 * min(x, g.w-1-x) // number of columns that have another at the same distance
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

// countSends returns how many times a place sends the shard of `owner`, which may be the
// place itself.
func (g grid) countSends(place, owner int) (n int) {
	for _, p := range ports {
		if next := g.neighbour(place, p); next >= 0 && g.entryPort(next, owner) == opposite(p) {
			n++
		}
	}
	return n
}

// entryPort returns the port through which the shard of `owner` arrives at a place, or
// AnyPort if the place is the owner.
func (g grid) entryPort(place, owner int) tl.Port {
	x, y := g.coordinates(place)
	ox, oy := g.coordinates(owner)
	if oy != y {
		return direction{y: cmp.Compare(oy, y)}.port()
	}
	return direction{x: cmp.Compare(ox, x)}.port()
}

// mergePorts returns the ports through which a place receives softmax states, in the order
// in which it merges them, and the port through which it sends the merged state towards the
// middle. The second result is AnyPort at the middle place.
func (g grid) mergePorts(place int) (from []tl.Port, to tl.Port) {
	for _, p := range ports {
		if next := g.neighbour(place, p); next >= 0 && g.portToMiddle(next) == opposite(p) {
			from = append(from, p)
		}
	}
	return from, g.portToMiddle(place)
}

// portToMiddle returns the port of a place towards the middle: first along the row, then
// along the middle column. It is AnyPort at the middle place.
func (g grid) portToMiddle(place int) tl.Port {
	x, y := g.coordinates(place)
	if x != g.w/2 {
		return direction{x: cmp.Compare(g.w/2, x)}.port()
	}
	return direction{y: cmp.Compare(g.h/2, y)}.port()
}

// fence lets a kernel wait for its own arithmetic, which otherwise runs asynchronously. It
// waits for a composite, because a composite starts and ends after all earlier commands.
type fence struct {
	scratch   tl.Ptr // operand of the composite
	allocated bool   // scratch has been allocated
}

// wait waits until all commands that the PE has issued so far have ended.
func (f *fence) wait(t *tl.PE) {
	if !f.allocated {
		f.scratch, f.allocated = t.Scratch(tl.Shape{1}, tl.F32), true
	}
	t.Wait(t.Composite(tl.Stream(tl.OpAdd, f.scratch, t.Ref(f.scratch, tl.Shape{1}, tl.F32), 0)))
}
