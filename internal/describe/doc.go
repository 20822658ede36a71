// Package describe tells a compiled system in numbers: as a tree of text, as JSON and as
// a list of links. `kernbench topology show` prints these.
//
// A [Machine] is the contract of the JSON of that command. A key ends in the unit of its
// number: _ns for times, exact to the femtosecond, _bytes for sizes, _gbs for bandwidths
// (10⁹ bytes a second, null for unlimited), _ghz for clocks. The rest of the key is that
// of topology.yaml ([Section]).
//
// The package imports topology and the layers above it, never a machine.
package describe
