// Package oplog is the record of what kernels and hosts did: the program that a
// run was, with its times.
//
// The timing phase appends an Op for every operation, in the order of issue, and
// notes in Effects when operations touched memory. The data phase computes values
// from that alone: tiles are immutable values that follow their producers, and
// memory is what the effects so far have made of it. A log can be written to a
// file and read back (file.go); replaying it gives the same bytes.
//
// The package has the records and their file. Computing them is internal/exec,
// making them internal/cpu and internal/machine. It imports simtime for Time and
// numeric for dtypes.
package oplog
