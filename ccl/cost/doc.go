// Package cost predicts how long collectives take, and picks the algorithm that takes least.
//
// [Cost] is a closed form of an algorithm, a [ccl.Plan] and a [Network]. For most algorithms it
// follows from their [ccl.Schedule]: trees (tree.go), blocks that move in pipelined steps
// (pipeline.go), blocks that all ranks exchange (exchange.go), or both levels of a hierarchy
// (cost.go). [Register] adds a formula for an algorithm of a kind of its own. A Network
// (network.go) has the parts that formulas are made of: the time of a message between two
// ranks, and of all messages on the busiest link. [Pick] compares the algorithms that [Network.Fits]
// allows (fit.go): those for whose queues and tiles PEs have memory.
//
// Predictions are for choosing, never for timing, and nothing is simulated for them.
//
// The package imports ccl, tl, topology and simtime, and of internal/fabric and internal/pe the
// closed forms.
package cost
