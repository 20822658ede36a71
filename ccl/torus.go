package ccl

// Torus divides the data as DualMesh does, and sends half of each share in each direction.
// It is for grids whose rows and columns are rings.
var Torus = bucketAlgorithm("torus", "on a grid of the ranks: rows first with one share of the data, columns first with the rest, half of each in either direction",
	meshNeighbors, func(p *Plan, rank int) []path { return bothDirections(p.split(p.rowAndColumn(rank), 2)) })
