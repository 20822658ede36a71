package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// Mesh moves blocks along the rows and columns of a grid, in fewer steps than Ring.
var Mesh = bucketAlgorithm("mesh", "on a grid of the ranks: along rows, then along columns",
	meshNeighbors, func(p *Plan, rank int) []path { return onePath(p.rowAndColumn(rank)...) })

// DualMesh is Mesh on all links of a grid at once.
var DualMesh = bucketAlgorithm("dual_mesh", "on a grid of the ranks: rows first with one share of the data, columns first with the rest",
	meshNeighbors, func(p *Plan, rank int) []path { return p.split(p.rowAndColumn(rank), 1) })

// rowAndColumn returns the rings of a rank's row and of its column, unless the rank is alone in
// them.
func (p *Plan) rowAndColumn(rank int) (dims []dim) {
	g := p.grid()
	for _, d := range []dim{
		{g.line(g.w), rank % g.w, 1, tl.East, tl.West},
		{g.line(g.h), rank / g.w, g.w, tl.South, tl.North},
	} {
		if d.size() > 1 {
			d.place = slices.Index(d.cycle, d.place)
			dims = append(dims, d)
		}
	}
	return dims
}

// meshNeighbors returns the neighbours in the rings of a rank's row and column.
func meshNeighbors(p *Plan, rank int) (list []Neighbor) {
	for _, d := range p.rowAndColumn(rank) {
		own := d.cycle[d.place] * d.stride
		list = append(list, d.neighbors(rank-own, len(list))...)
	}
	return list
}
