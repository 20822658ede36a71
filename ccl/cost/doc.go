// Package cost predicts how long collectives take, and picks the algorithm with the lowest
// prediction.
//
// [Cost] is a closed form of an algorithm, a [ccl.Plan] and a [Network]. For most
// algorithms it follows from the [ccl.Schedule]: trees (tree.go), blocks that move in
// pipelined steps (pipeline.go), blocks that all ranks exchange (exchange.go), or both
// levels of a hierarchy (cost.go). [Register] adds a formula for an algorithm that no
// schedule describes. A Network (network.go) provides the terms of formulas: the time of a
// message between two ranks, and the time of all messages on the busiest link. [Pick]
// compares the algorithms that [Network.Fits] allows (fit.go): algorithms whose queues and
// tiles fit into the memory of the PEs.
//
// Predictions serve only to choose algorithms. They never set the time of a run, and
// nothing is simulated for them.
//
// The package imports ccl, tl, topology and simtime, and the closed forms of
// internal/fabric and internal/pe.
package cost
