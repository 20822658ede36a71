package ccl

import "github.com/kernbench/kernbench/tl"

// Mesh needs fewer steps than Ring, along the rows and columns of a grid.
var Mesh = Register(&Algorithm{
	Name:        "mesh",
	Summary:     "on a grid as square as can be: reduce-scatter along rows, all-reduce along columns, all-gather along rows",
	Collectives: []Collective{AllReduce},
	Neighbors:   meshNeighbors,
	Inbox:       meshInbox,
	Kernel:      meshKernel,
})

// grid is the width and height of the most square grid of so many ranks, row by row. It
// is at least as wide as high; of a prime number of ranks it is one row.
func grid(ranks int) (w, h int) {
	for h = 1; h*h <= ranks; h++ {
		if ranks%h == 0 {
			w = ranks / h
		}
	}
	return w, ranks / w
}

func meshNeighbors(p *Plan, rank int) []Neighbor {
	w, h := grid(p.Ranks)
	row, column := rank/w, rank%w
	return append(
		circle(column, w, func(place int) int { return row*w + place }, tl.East, tl.West, 0),
		circle(row, h, func(place int) int { return place*w + column }, tl.South, tl.North, 2)...)
}

// meshInbox is what comes along a row: along a column it is less.
func meshInbox(p *Plan) int {
	w, _ := grid(p.Ranks)
	return 2 * (w - 1) * tl.CDiv(p.count(0), w)
}

// meshKernel has each column reduce its share of the elements, which its ranks have
// reduced along their rows before. The three phases meet in the output's memory.
func meshKernel(t *tl.PE, a *Args) {
	m := join(t, a, meshNeighbors, meshInbox)
	if m.alone() {
		return
	}
	w, h := grid(a.Ranks)
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
