// Package report turns results into what people and programs read: aligned text
// tables and trees, JSON with exact numbers, and files that are written whole
// or not at all. It also knows the version of the tool, which every result
// carries.
//
// A [Machine] is a system as `kernbench topology show` tells it, and the
// contract of that command's JSON. Times are decimal nanoseconds exact to the
// femtosecond (keys end in _ns), sizes are bytes, bandwidths are bytes a second
// with null for unlimited.
//
// Pictures live in internal/figure, flags and exit codes in internal/cli. The
// package imports topology and the layers above it, never a machine.
package report
