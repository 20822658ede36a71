// Package analysis reads traces and reports where the time went: the critical path of the
// program or of a launch, profiles by operation and by line, the slowest PE of a launch and
// the reason, and the utilization of engines and links.
//
// A [Trace] is read in one pass. It consists of tracks with slices: a slice is an interval
// of simulated time, in which for example an engine works, a CPU waits, or a link carries a
// train. A slice with a number is an activity. A file that breaks the rules of the format
// (docs/use/traces.md) is refused, with the line and the track of each mistake, because
// results from an incomplete trace would be wrong without notice. Times are read as text,
// exact to the femtosecond. So the segments of a path add up exactly to the makespan, or to
// the length of the launch.
//
// internal/trace records traces. The two packages share only the format, so each tests the
// other. This package imports internal/file and simtime. Tables for users are in
// internal/cli.
package analysis
