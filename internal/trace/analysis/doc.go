// Package analysis reads traces and reports where the time went: the critical path of the
// program or of a launch, profiles by operation and by line, the slowest PE of a launch and
// why that is so, how busy engines and links were.
//
// A [Trace] is read in one pass, and a file that breaks the rules of the format
// (docs/use/traces.md) is refused with the line and the track of each mistake: what is
// computed from a trace that is not whole would be wrong without anybody noticing. Times
// are read as text, exact to the femtosecond, so that the segments of a path add up to
// the makespan, or to the length of the launch, to the last digit.
//
// Recording is internal/trace, with which this package shares nothing but the format: each
// tests the other. It imports simtime for Time. Tables
// for people are in internal/cli.
package analysis
