// Package benches is the built-in benches, a file each. Importing it registers
// them.
//
// They are meant to be read and copied: a kernel in the tile language, host code
// that launches it, and a check of every value against a reference in plain Go,
// written down apart from the simulator's own arithmetic (reference.go). They run on
// any system, with values and without.
//
// The package imports bench, torch, tl, ccl and topology, as a bench of your own does. The
// milestones, which run sweeps and write figures (milestone.go), also import the packages
// of internal that do that: sweep, results, reference, chart and report.
package benches
