// Package collperf measures collectives as nccl-tests does: one collective over a range
// of sizes, a row for each, with time, bandwidths, wrong values and the share of the
// time that nothing can beat. It can compare all algorithms.
//
// [Options] say what to measure, [Run] measures it, and [MeasureOn] measures one row on a
// machine of the caller. A rank is a PE in a program that drives them all, or a SIP under
// Spawn, whose first PE has its tensors, or whose cubes have addends of them: the public
// path of package torch in all cases. Values are either whole numbers, whose reduction is
// exact in any order and compared bit for bit, or random reals, compared with a reference
// in float64 and the bound of its rounding errors. Both are worked out here in plain Go,
// apart from the simulator's arithmetic.
//
// A measurement on simulated machines is an experiment: each algorithm at each size is a
// point of package experiment, with a machine of its own. Points run at the same time, and
// their rows can be kept in a file. In a comparison an algorithm that does not fit, is
// hopeless or fails has a row that says so.
//
// Ranks can be real as well: processes or goroutines of this computer, which do the
// collectives of package comm/coll. One launch does all rows. Each rank measures its own
// iterations and compares its own results, by the same values and references; here an
// iteration takes as long as its slowest rank, and a row is the average.
//
// Flags and text are in internal/cli.
package collperf
