package ccl

// Chain is for large messages: no rank sends anything twice.
var Chain = treeAlgorithm("chain", "over a line from the root on, chunk by chunk",
	3, chain, Reduce, Broadcast, Gather, Scatter)

// chain returns a rank's place in a tree with one child for each rank.
func chain(p *Plan, rank int) TreeNode { return newTreeNode(p, rank, 1) }
