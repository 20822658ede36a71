// Package runner runs distributed scenarios (package scenario) and compares what they
// compute with what they should.
//
// [Run] does it all: it reads the scenario, refuses it if anything is wrong, runs its
// rounds on a backend and compares every output of every round with its golden values.
// Wrong values are in the [Result], as spans of elements; a bad scenario or option is an
// [*InputError], a run that could not end a [*RankError].
//
// The backends are sim, the simulated machine, on which a rank is the first PE of a SIP
// (sim.go), and those of package comm, on which a rank is a goroutine
// (inproc) or a process (shm): rank.go is what each of these does, processes.go starts
// them.
//
// The three parts can be had one by one, with files in between (steps.go, folder.go): [Prepare]
// writes inputs and golden values, [Execute] reads the inputs and writes outputs,
// [Verify] compares. In the folder, round2/rank1 has x.in.npy, out.golden.npy and
// out.out.npy.
//
// Flags and exit codes are in internal/cli. The package imports scenario, torch, comm,
// internal/procpe and what values are made of.
package runner
