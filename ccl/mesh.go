package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// Mesh moves blocks along the rows and columns of a grid, in fewer steps than Ring.
var Mesh = bucketAlgorithm("mesh", "on a grid of the ranks: along rows, then along columns",
	meshNeighbors, func(p *Plan, rank int) []path { return onePath(p.rowAndColumn(rank)...) })

// DualMesh is Mesh with two shares of the data, one along rows first and one along columns
// first, so that all links of a grid are busy.
var DualMesh = bucketAlgorithm("dual_mesh", "on a grid of the ranks: rows first with one share of the data, columns first with the rest",
	meshNeighbors, func(p *Plan, rank int) []path { return p.split(p.rowAndColumn(rank), 1) })

// rowAndColumn returns the rings of the rank's row and of its column in the grid of ranks.
// It omits a ring that would have only one rank.
func (p *Plan) rowAndColumn(rank int) (dims []dim) {
	g := p.grid()
	for _, d := range []dim{
		{g.cycle(g.w), rank % g.w, 1, tl.East, tl.West},
		{g.cycle(g.h), rank / g.w, g.w, tl.South, tl.North},
	} {
		if d.size() > 1 {
			d.place = slices.Index(d.cycle, d.place)
			dims = append(dims, d)
		}
	}
	return dims
}

// meshNeighbors returns the neighbours of a rank in the rings of its row and its column.
func meshNeighbors(p *Plan, rank int) (list []Neighbor) {
	for _, d := range p.rowAndColumn(rank) {
		own := d.cycle[d.place] * d.stride
		list = append(list, d.neighbors(rank-own, len(list))...)
	}
	return list
}
