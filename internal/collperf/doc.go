// Package collperf measures collectives as nccl-tests does: one collective over a range of
// sizes, with a row for each size. A row has the time, the bandwidths, the number of wrong
// values, and the lower bound divided by the time. A measurement can compare all
// algorithms.
//
// [Options] describe a measurement, [Run] runs it, and [MeasureOn] measures one row on a
// machine of the caller. A rank is a PE, in a program that controls all PEs, or a SIP under
// Spawn. Tensors of a SIP are on its first PE, or have an addend on each of its cubes.
// All cases use the public API of package torch. Values are either whole numbers or random
// real numbers. The reduction of the whole numbers is exact in any order, so results are
// compared bit for bit. Results of real numbers may differ from a reference in float64 by
// at most the bound of the rounding errors. The expected results are computed here in plain
// Go, independently of the simulator's arithmetic.
//
// A measurement on simulated machines is an experiment: each algorithm at each size is a
// point of package experiment, with its own machine. Points run at the same time, and their
// rows can be stored in a file. In a comparison, an algorithm that does not fit, that is
// far too slow, or that fails has a row with the reason.
//
// Ranks can also be real: processes or goroutines of this computer, which run the
// collectives of package comm/coll. One launch measures all rows. Each rank measures its
// own iterations and checks its own results, with the same values and references. An
// iteration takes as long as its slowest rank, and a row is the average of the iterations.
//
// Flags and text are in internal/cli.
package collperf
