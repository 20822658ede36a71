// Package analysis reads traces and says where the time went: the critical path of a
// launch, its slowest PE and why that is so, how busy engines and links were.
//
// A [Trace] is read in one pass, and a file that breaks the rules of the format
// (docs/traces.md) is refused with the line and the track of each mistake: what is
// computed from a trace that is not whole would be wrong without anybody noticing. Times
// are read as text, exact to the femtosecond, so that the segments of a path add up to
// the length of the launch to the last digit.
//
// Recording is internal/trace, with which this package shares nothing but the format: each
// tests the other. It imports simtime for Time. Tables
// for people are in internal/cli.
package analysis
