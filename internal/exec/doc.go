// Package exec is the data phase: it computes the values of a run from its op log.
//
// An [Executor] walks the log's effects in their order, as far as there are any,
// and goes on from there when asked again. Memory belongs to that walk alone: a
// read takes what the writes before it have left. Tiles are immutable values that
// follow their producers: each is computed as soon as its operands exist, on as
// many threads as one likes, and the bytes are the same with any number. A write
// waits for its value. Values are kept while a kernel may still use them (Forget,
// End) or something logged still needs them.
//
// [Replay] executes a whole log in memories of its own and compares what hosts
// read with what they read in the run. [Races] finds accesses whose order nothing
// in the program determines, whatever their order was in this run. [Eager] computes
// single operations, without a log, for machines that have values at once.
//
// Times are not looked at here, and arithmetic is numeric's. The package
// imports numeric, oplog and internal/memory.
package exec
