package ccl

// Chain is for large messages: no rank sends anything twice.
var Chain = treeAlgorithm("chain", "over a line from the root on, chunk by chunk",
	3, chain, Reduce, Broadcast, Gather, Scatter)

// chain returns the place of a rank in a tree with one child for each vertex.
func chain(p *Plan, rank int) tree { return newTree(p, rank, tree{arity: 1}) }
