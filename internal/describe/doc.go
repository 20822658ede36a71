// Package describe tells configurations and scenarios as text and as JSON, for the commands that
// show and list them.
//
// A [Machine] is a compiled system: a tree of text, JSON, and a list of links, as `kernbench
// topology show` prints it. A key of its JSON ends in the unit of the number: _ns for times,
// exact to the femtosecond, _bytes for sizes, _gbs for bandwidths (10⁹ bytes a second, null for
// unlimited), _ghz for clocks. The rest of the key is that of topology.yaml ([Section]).
//
// [Collectives] are the entries of a ccl.yaml, [Scheduling] the numbers of a tasks.yaml,
// [Scenario] is a scenario for a number of ranks, with the bytes of its windows.
//
// The package imports the packages that own the configurations, never a machine.
package describe
