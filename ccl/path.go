package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// dim is a dimension of a grid as a rank sees it: a ring of ranks in which each sends to the
// next.
type dim struct {
	cycle    []int // coordinates, in the order of the ring
	place    int   // of the rank, in that order
	stride   int   // from a rank to the one with the next coordinate
	next     tl.Port
	previous tl.Port
}

func (d *dim) size() int { return len(d.cycle) }

// reversed returns the same ring in the other direction.
func (d dim) reversed() dim {
	d.cycle, d.place = slices.Clone(d.cycle), d.size()-1-d.place
	slices.Reverse(d.cycle)
	d.next, d.previous = d.previous, d.next
	return d
}

// path is a sequence of dimensions along which a share of the data is reduced, one after the
// other, and gathered, in reverse. The share is that from lo to hi of shareUnits.
type path struct {
	dims   []dim
	lo, hi int
	back   bool // it is the path before in the other direction
}

// together returns how many blocks travel together along a dimension: those that differ in the
// dimensions behind it.
func (p *path) together(k int) int {
	n := 1
	for _, d := range p.dims[k+1:] {
		n *= d.size()
	}
	return n
}

// shareUnits is the number of units of all data. Shares are seldom more than a hundredth off.
const shareUnits = 5040

// share returns the elements of a path's share of n.
func (p *path) share(n int) (from, count int) {
	from = n * p.lo / shareUnits
	return from, n*p.hi/shareUnits - from
}

// onePath returns one path for all data.
func onePath(dims ...dim) []path { return []path{{dims: dims, hi: shareUnits}} }

// split returns two paths, one that begins with the first dimension and one that begins with the
// second. Their shares are such that links of both dimensions are busy for the same time. Where
// rows and columns wrap, a ring of more than two ranks has links in all directions that are used.
//
// Along a dimension of d ranks first, an element's share of a link's time is
// f(d) = 2(d-1)/d / links; along it second, that of what the other dimension has left over.
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
	at := int(max(0, min(1, share))*shareUnits/2+0.5) * 2 // which can be halved
	return []path{{dims: dims, hi: at}, {dims: []dim{dims[1], dims[0]}, lo: at, hi: shareUnits}}
}

// bothDirections sends half of each path's share in the other direction.
func bothDirections(list []path) (both []path) {
	for _, p := range list {
		back := path{lo: (p.lo + p.hi) / 2, hi: p.hi, back: true}
		for _, d := range p.dims {
			back.dims = append(back.dims, d.reversed())
		}
		p.hi = back.lo
		both = append(both, p, back)
	}
	return both
}
