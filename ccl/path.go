package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// dim is a dimension of a grid from the view of one rank: a ring of ranks in which each
// rank sends to the next.
type dim struct {
	cycle    []int   // coordinates, in the order of the ring
	place    int     // the index of the rank in cycle
	stride   int     // difference of the numbers of two ranks with consecutive coordinates
	next     tl.Port // to the next rank of the ring
	previous tl.Port // to the previous rank of the ring
}

func (d *dim) size() int { return len(d.cycle) }

// reverse returns the ring of d in the other direction.
func (d dim) reverse() dim {
	d.cycle, d.place = slices.Clone(d.cycle), d.size()-1-d.place
	slices.Reverse(d.cycle)
	d.next, d.previous = d.previous, d.next
	return d
}

// path is a sequence of dimensions. A share of the data is reduced along one dimension
// after another, and gathered along them in reverse order. The share is the range from lo
// to hi, in units of 1/shareUnits of the data.
type path struct {
	dims   []dim
	lo, hi int
	back   bool // set if this is the preceding path in the other direction
}

// groupSize returns the number of blocks that travel together along dimension k. These
// blocks belong to ranks that differ only in later dimensions.
func (p *path) groupSize(k int) int {
	n := 1
	for _, d := range p.dims[k+1:] {
		n *= d.size()
	}
	return n
}

// shareUnits is the number of units that all data is divided into. A share that is rounded
// to units is rarely wrong by more than 1 %.
const shareUnits = 5040

// share returns the offset and the length of the path's share of n elements.
func (p *path) share(n int) (from, count int) {
	from = n * p.lo / shareUnits
	return from, n*p.hi/shareUnits - from
}

// onePath returns a single path that carries all data.
func onePath(dims ...dim) []path { return []path{{dims: dims, hi: shareUnits}} }

// split divides the data between two paths: one begins with the first of the two
// dimensions, the other with the second. The shares are chosen such that the links of both
// dimensions are busy for the same time. directions is the number of directions that are
// used, 1 or 2. Where rows and columns wrap, a ring of more than two ranks has separate
// links for each direction.
//
// If a dimension of d ranks is the first of a path, each element occupies the links of the
// dimension for a time proportional to f(d) = 2(d-1) / (d·links). Here links is the number
// of directions that have their own links. If the dimension is the second, this time is
// divided by the number of ranks of the first dimension, because only that fraction of the
// elements is left to reduce.
func (p *Plan) split(dims []dim, directions int) []path {
	if len(dims) < 2 {
		return onePath(dims...)
	}
	wraps := p.grid().wrap
	f := func(d dim) float64 {
		links := 1
		if wraps && d.size() > 2 {
			links = directions
		}
		return 2 * float64(d.size()-1) / float64(d.size()) / float64(links)
	}
	x, y := f(dims[0]), f(dims[1])
	w, h := float64(dims[0].size()), float64(dims[1].size())
	share := (y - x/h) / (x - x/h + y - y/w)
	at := int(max(0, min(1, share))*shareUnits/2+0.5) * 2 // even, so that it can be halved
	return []path{{dims: dims, hi: at}, {dims: []dim{dims[1], dims[0]}, lo: at, hi: shareUnits}}
}

// bothDirections splits each path into two paths in opposite directions. Each of the two
// carries half of the share.
func bothDirections(list []path) (both []path) {
	for _, p := range list {
		back := path{lo: (p.lo + p.hi) / 2, hi: p.hi, back: true}
		for _, d := range p.dims {
			back.dims = append(back.dims, d.reverse())
		}
		p.hi = back.lo
		both = append(both, p, back)
	}
	return both
}
