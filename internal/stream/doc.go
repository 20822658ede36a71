// Package stream schedules the operations that host code requests of a machine. It decides
// which operation waits for which, and which rank's code runs.
//
// A [Rank] is host code with a [Stream]: the program itself, or one of the functions that
// [Scheduler.Spawn] runs as coroutines on the simulated clock (rank.go). An [Operation]
// takes simulated time: a launch, a copy, a collective. It is in the streams of all ranks
// that take part, and begins when its turn has come in each of these streams (operation.go,
// order.go, sequence.go). Operations that use the same [Storage] run one after another
// (storage.go). A rank can wait for an operation, with or without a time limit (wait.go).
// When no operation can make progress, the scheduler finds the ranks to blame (stuck.go).
// It abandons a run that computes without end (guard.go).
//
// Packages torch and torch/dist are built on this package. It has no knowledge of how
// tensors are laid out or how collectives work.
package stream
