// Package stream is the scheduler of what host code asks of a machine: which operation waits
// for which, and which rank's code runs.
//
// A [Rank] is host code with a [Stream]: the program itself, or one of those that
// [Scheduler.Spawn] runs as coroutines on the simulated clock (rank.go). An [Operation] takes
// simulated time: a launch, a copy, a collective. It is in the streams of all ranks that take
// part and begins when it is its turn in each of them (operation.go, order.go, sequence.go).
// Operations that use one [Storage] follow each other (storage.go). A rank waits for an
// operation, at most for some time (wait.go). When nothing goes on, the ranks to blame are
// found (stuck.go). A run that computes without end is given up (guard.go).
//
// Packages torch and torch/dist are built on it. It knows neither how tensors are laid out nor
// how collectives are done.
package stream
