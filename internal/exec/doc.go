// Package exec is the data phase: it computes the values of a run from its op log.
//
// An [Executor] applies the effects of the log in order, up to the last one that is
// logged. The next call of Flush continues from there. From a transient log it takes
// batches while the log grows. Only this walk over the effects accesses memory, so a read returns what the writes before it have left. Tiles are
// immutable values. Each tile is computed as soon as its operands exist, on any number of
// threads; the number does not change the bytes. A write waits for its value. A value is
// kept while a kernel may still use it (Forget) or a logged operation still needs it.
//
// [Replay] executes a whole log in its own memories and compares what hosts read with what
// they read in the run. [Races] finds accesses whose order the program does not determine,
// even if they did no harm in this run. [Eager] computes single operations without a log,
// for machines that need values at once.
//
// This package ignores times and leaves arithmetic to package numeric. It imports numeric,
// oplog and internal/memory.
package exec
