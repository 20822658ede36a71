// Package builtin contains the built-in benches, each in its own file. Importing the
// package registers them.
//
// The benches are meant to be read and copied. Each has a kernel in the tile language, host
// code that launches it, and a check of every value against a reference in plain Go. The
// reference does not use the simulator's arithmetic (reference.go). The benches run on any
// system, with values and without.
//
// A call that must not fail is wrapped in torch.Must or torch.OK. If it fails, these
// functions panic, and the runner turns the panic into the error of the bench.
//
// The package imports bench, torch, tl, ccl, topology and other public packages, as any
// other bench does. Some benches also import internal packages: collperf measures
// collectives, dense computes references, and compare has published numbers. The milestones
// (milestone_*.go) run experiments and write figures and pages, for which they import draw.
package builtin
