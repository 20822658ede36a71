// Package collperf measures collectives as nccl-tests does: one collective over a range
// of sizes, a row for each, with time, bandwidths, wrong values and the share of the
// time that nothing can beat. It can measure all algorithms beside each other.
//
// [Options] say what to measure and [Run] does it. A rank is a PE in a program that
// drives them all, or a SIP under Spawn, whose first PE has its tensors, or whose cubes
// have addends of them: the public path of package torch in all cases. Every row has a
// machine of its own, so that rows run side by side. Values are either
// whole numbers, whose reduction is exact in any order and compared bit for bit, or
// random reals, compared with a reference in float64 and the bound of its rounding
// errors. Both are worked out here in plain Go, apart from the simulator's arithmetic.
//
// Ranks can be real as well: processes or goroutines of this computer, which do the
// collectives of package comm/coll. One launch does all rows. Each rank measures its own
// iterations and compares its own results, by the same values and references; here an
// iteration takes as long as its slowest rank, and a row is the average.
//
// Flags and tables are in internal/cli. The package imports torch, ccl, topology, tl,
// for real ranks comm, comm/coll, comm/launch and golang.org/x/sys/unix, and of internal
// numeric, for the bits of dtypes, sim, for time, config, for words that are nearly
// right, and machine, memory and pe, for what queues are and what does not fit.
package collperf
