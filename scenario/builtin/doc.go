// Package builtin is the built-in scenarios: for each a file that says what runs and
// what must come of it, and a Go file with its kernels and its orchestration, which cuts
// the same work into tasks. Importing it registers them.
//
// They are meant to be read and copied. A kernel uses the one-sided half of the tile
// language: it puts into windows of peers or gets from them, and orders that by
// signals. Each keeps two rules. Before a rank touches the window of a peer, the
// peer has said that its inputs are there; and no rank ends before all who touch its
// window have said that they are done, for what comes next writes to it at once.
// [tl.PE.Barrier] does both, and so does a signal for each pair of ranks. Sums are formed in
// an order that depends on the number of ranks alone, so that every machine gives the same
// bits.
//
// An orchestration says what each task touches, and by explicit edges all of their order:
// that of tasks that conflict, and that of tasks and the barriers around them. A rank
// with one compute core is enough for all of them.
//
// Files say in expressions what goes in and what must come out; what expressions cannot
// say is in functions registered beside the kernel. Those are plain Go, and know
// nothing of the kernel.
//
// The package imports scenario, task and tl, as a scenario of your own does.
package builtin
