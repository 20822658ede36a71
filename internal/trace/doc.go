// Package trace records the activities of a machine while it runs, in the format of
// Chrome's trace viewer, which Perfetto also reads.
//
// A [Slice] is a named interval of simulated time on a [Track], which is a row in the
// viewer. Perfetto uses the same word. A [Recorder] writes each slice as soon as the slice
// has ended. It keeps only slices in progress in memory, so the length of a trace is
// limited only by the disk. Slices that are activities have a number and name the activity
// that released them, so the critical path can be computed from the file. Times are exact:
// decimals of a microsecond down to the femtosecond.
//
// internal/pe, internal/ipcq, internal/cpu and internal/machine decide what is recorded.
// internal/trace/analysis evaluates traces. The package imports internal/file, internal/sim
// and simtime.
package trace
