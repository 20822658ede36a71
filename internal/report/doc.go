// Package report turns results into what people and programs read: aligned text
// tables and trees, JSON with exact numbers, and files that are written whole
// or not at all. It also knows the version of the tool, which every result
// carries.
//
// A [Machine] is a system as `kernbench topology show` tells it, and the
// contract of that command's JSON. All JSON of the tool names a unit at the end of
// the key: _ns for times, exact to the femtosecond, _bytes for sizes, _gbs for
// bandwidths (10⁹ bytes a second, null for unlimited), _ghz for clocks. Where a
// number is one of topology.yaml, the rest of the key is the file's ([Section]).
//
// A [Page] is figures, tables and how to get them again as one HTML file.
//
// Pictures live in internal/draw, flags and exit codes in internal/cli. The
// package imports topology and the layers above it, never a machine.
package report
