// Package describe formats configurations and scenarios as text and as JSON, for the
// commands that show and list them.
//
// A [Machine] is a compiled system. `kernbench topology show` prints it as a tree of text,
// as JSON or as a list of links. A key in its JSON ends in the unit of the number: _ns for
// times, exact to the femtosecond; _bytes for sizes; _gbs for bandwidths, in 10⁹ bytes per
// second, null for unlimited; _ghz for clocks. The rest of the key is the key in
// topology.yaml ([Section]).
//
// [Collectives] is the entries of a ccl.yaml, [Scheduling] is the numbers of a tasks.yaml,
// and [Scenario] is a scenario for a number of ranks with the layout of its windows.
//
// The package imports the packages that own the configurations, but never a machine.
package describe
