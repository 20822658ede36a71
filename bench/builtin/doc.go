// Package builtin is the built-in benches, a file each. Importing it registers
// them.
//
// They are meant to be read and copied: a kernel in the tile language, host code
// that launches it, and a check of every value against a reference in plain Go,
// written down apart from the simulator's own arithmetic (reference.go). They run on
// any system, with values and without.
//
// A call that must not fail is in torch.Must or torch.OK: the runner makes what these stop
// with the error of the bench.
//
// The package imports bench, torch, tl, ccl and topology, as a bench of your own does. The
// milestones, which run experiments and write figures and pages (milestone_*.go), also import
// the packages of internal that do that: compare, draw, page and table.
package builtin
