package ccl

import "github.com/kernbench/kernbench/tl"

// dim is a rank's place in one dimension of a grid: on a ring of ranks, in which each
// sends to the next.
type dim struct {
	cycle    []int // coordinates, in the order of the ring
	place    int   // of the rank, in that order
	stride   int   // from a rank to the one with the next coordinate
	next     tl.Port
	previous tl.Port
}

func (d *dim) size() int { return len(d.cycle) }

// reversed is the same ring in the other direction.
func (d dim) reversed() dim {
	n := d.size()
	cycle := make([]int, n)
	for i, at := range d.cycle {
		cycle[n-1-i] = at
	}
	d.cycle, d.place = cycle, n-1-d.place
	d.next, d.previous = d.previous, d.next
	return d
}

// path is how a share of the data is reduced and gathered: along the first dimension,
// then what came out of that along the next, and back. The share is that from lo to hi
// of shareUnits.
type path struct {
	dims   []dim
	lo, hi int
	back   bool // it is the path before, the other way round
}

// shareUnits is what a share is counted in. Shares are seldom more than a hundredth off.
const shareUnits = 5040

// share is the elements of a path's share of n.
func (p *path) share(n int) (from, count int) {
	from = n * p.lo / shareUnits
	return from, n*p.hi/shareUnits - from
}
