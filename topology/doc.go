// Package topology describes a system of accelerators and compiles the
// description into the graph that the simulated hardware is built on.
//
// A [Spec] is the description: topology.yaml as Go values, after presets, files
// that extend them and --set arguments have been laid over one another. [Load]
// reads it and refuses every mistake at once, each at its line and with what to
// write instead. Its numbers are whole ones of a base unit (femtoseconds, bytes,
// bytes a second, hertz, micrometres), parsed exactly from decimal quantities
// with units, so a description means the same on every machine. [Spec.YAML]
// writes it back, and [Spec.Hash] names it in results.
//
//	spec, err := topology.Load(ctx, "ring6", "cube.hbm.channels=16")
//	graph, err := topology.Compile(spec)
//
// A [Graph] is the system spelled out: components with names and positions,
// directed links with bandwidth and latency, and the one route between any two
// components.
//
// Presets live in presets/, default.yaml with the reason for every number. The
// JSON Schema that editors use is generated from the types of spec.go, and the
// tests hold it against the loader.
//
// Nothing here moves data or takes time: how a transfer queues is the fabric's
// business, how long an engine computes the PE's. The package imports
// internal/config for files and simtime for the unit of time.
package topology
