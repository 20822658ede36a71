package ccl

// Chain sends data along a line that begins at the root. It is for large messages: no rank
// sends an element twice.
var Chain = treeAlgorithm("chain", "over a line from the root on, chunk by chunk",
	3, chain, func(p *Plan) int { return p.Ranks - 1 }, Reduce, Broadcast, Gather, Scatter)

// chain returns the edges of a rank in a chain: a tree in which each rank has at most one
// child.
func chain(p *Plan, rank int) TreeNode { return newTreeNode(p, rank, 1) }
