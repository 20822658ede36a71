// Package topology describes a system of accelerators and compiles the
// description into the graph of the simulated hardware.
//
// A [Spec] is the description: topology.yaml as Go values, after presets, files
// that extend them and --set arguments have been merged. [Load] reads it and reports
// all mistakes at once, each with its line and a correction. The numbers of a Spec are
// integers in a base unit (femtoseconds, bytes, bytes per second, hertz,
// micrometres). They are parsed exactly from decimal quantities with units, so a
// description means the same on every computer. [Spec.YAML] writes it back, and
// [Spec.Hash] identifies it in results.
//
//	spec, err := topology.Load(ctx, "ring6", "cube.hbm.channels=16")
//	graph, err := topology.Compile(spec)
//
// A [Graph] is the compiled system: components with names and positions, directed
// links with bandwidth and latency, and one route between any two components.
//
// Presets are in presets/; default.yaml gives the reason for every number. The JSON
// Schema that editors use is generated from the types of spec.go. Tests compare it
// with the loader.
//
// This package does not simulate: the fabric moves transfers, and PEs model the time
// of engines. The package imports internal/config for files and simtime for the unit
// of time.
package topology
