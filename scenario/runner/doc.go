// Package runner runs distributed scenarios (package scenario) and compares their outputs
// with the golden values.
//
// [Run] reads the scenario, refuses it if it has mistakes, runs its rounds on a backend and
// compares every output of every round. The [Result] lists wrong values as spans of
// elements. A mistake in the scenario or the options is an [*InputError]. A run that fails
// is a [*RankError].
//
// On the backend sim, the simulated machine, a rank is the first PE of a SIP (sim.go). The
// other backends are those of package comm: a rank is a goroutine (inproc) or a process
// (shm). File rank.go is the code of such a rank; processes.go starts the ranks.
//
// Three functions do the same in steps, with files in between (steps.go, folder.go):
// [Prepare] writes inputs and golden values, [Execute] reads the inputs and writes outputs,
// [Verify] compares. In the folder, round2/rank1 has x.in.npy, out.golden.npy and
// out.out.npy.
//
// Flags and exit codes are in internal/cli. The package imports scenario, torch, comm,
// internal/procpe and the packages that represent values.
package runner
