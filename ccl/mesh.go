package ccl

import "github.com/kernbench/kernbench/tl"

// Mesh needs fewer steps than Ring, along the rows and columns of a grid.
var Mesh = Register(&Algorithm{
	Name:        "mesh",
	Summary:     "on a grid of the ranks: reduce-scatter along rows, all-reduce along columns, all-gather along rows",
	Collectives: []Collective{AllReduce},
	Neighbors:   meshNeighbors,
	Inbox:       meshInbox,
	Kernel:      meshKernel,
})

// grid is the width and height of the grid that the ranks lie on, row by row. If there
// is none it is the most square one, at least as wide as high; of a prime number of ranks
// that is one row.
func (p *Plan) grid() (w, h int) {
	ranks := p.Ranks
	if p.Width > 0 && ranks%p.Width == 0 {
		return p.Width, ranks / p.Width
	}
	for h = 1; h*h <= ranks; h++ {
		if ranks%h == 0 {
			w = ranks / h
		}
	}
	return w, ranks / w
}

func meshNeighbors(p *Plan, rank int) []Neighbor {
	w, h := p.grid()
	row, column := rank/w, rank%w
	return append(
		circle(column, w, func(place int) int { return row*w + place }, tl.East, tl.West, 0),
		circle(row, h, func(place int) int { return place*w + column }, tl.South, tl.North, 2)...)
}

// meshInbox is what comes along a row, or along a column of a grid that has one.
func meshInbox(p *Plan) int {
	w, h := p.grid()
	share := tl.CDiv(p.count(0), w)
	return max(2*(w-1)*share, 2*(h-1)*tl.CDiv(share, h))
}

// meshKernel has each column reduce its share of the elements, which its ranks have
// reduced along their rows before. The three phases meet in the output's memory.
func meshKernel(t *tl.PE, a *Args) {
	m := join(t, a, meshNeighbors, meshInbox)
	if m.alone() {
		return
	}
	w, h := a.grid()
	row, column := a.Rank/w, a.Rank%w
	along, down := a.Reduction, a.Reduction
	switch {
	case a.Reduction == PremulSum:
		down = Sum // elements are multiplied once
	case a.Reduction == Avg && h > 1:
		along = Sum // and sums divided once
	}
	in, out, n := a.In(0), a.Out(0), a.count(0)
	m.ring(ReduceScatter, along, blocks(in, out, n, w), column, w, tl.East, tl.West)
	if h > 1 {
		share := blocks(out, out, n, w)(column)
		m.ring(AllReduce, down, blocks(share.in, share.out, share.n, h), row, h, tl.South, tl.North)
	}
	m.ring(AllGather, Sum, blocks(out, out, n, w), column, w, tl.East, tl.West)
}
