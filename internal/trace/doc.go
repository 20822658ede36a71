// Package trace records what a machine does as it does it, in the format of Chrome's
// trace viewer, which Perfetto reads.
//
// A [Recorder] writes every slice of a [Track] as soon as it has ended, and keeps what is
// under way and no more: a trace may be as long as there is room on the disk. Slices are
// activities that have a number, and name the activity that released them; so the longest
// chain of them, the critical path, can be found in the file. Times are exact: decimals
// of a microsecond down to the femtosecond.
//
// What is recorded is up to internal/pe, internal/ipcq, internal/cpu and
// internal/machine; what it tells is internal/trace/analysis. The package imports internal/sim alone.
package trace
