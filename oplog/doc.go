// Package oplog records what kernels and hosts did in a run, with times.
//
// The timing phase appends an Op for every operation, in the order of issue. It records in
// Effects when operations read and wrote memory. The data phase computes values from the
// log only: a tile is an immutable value that is computed from its operands, and the
// contents of memory follow from the effects. A log can be written to a file and read back
// (file.go); a replay of it gives the same bytes.
//
// This package defines the records and their file format. Packages internal/cpu and
// internal/machine write logs, and internal/exec computes the values. This package imports
// simtime for Time, numeric for dtypes, internal/file and internal/printable.
package oplog
