// Package builtin contains the built-in scenarios. Importing it registers them. Each
// scenario has a YAML file, which says what runs and which values it must produce, and a Go
// file with its kernels and its orchestration, which divides the same work into tasks.
//
// The scenarios are meant to be read and copied. A kernel uses the one-sided operations of
// the tile language: it puts data into windows of peers or gets data from them, and orders
// these operations with signals. Every kernel keeps two rules. A rank accesses the window
// of a peer only after the peer has signalled that its inputs are there. A rank ends only
// after all ranks that access its window have signalled that they are done, because the
// next round overwrites the window at once. [tl.PE.Barrier] does both, and so does a signal
// for each pair of ranks. The order of the terms of a sum depends only on the number of
// ranks, so that all backends give the same bits.
//
// An orchestration declares the regions that each task accesses. Explicit edges order all
// tasks that conflict, and order tasks with the barriers around them. One compute core per
// rank is enough for every orchestration.
//
// A file gives inputs and golden values as expressions. Values that expressions cannot
// describe are computed by Go functions that are registered with the kernel. These
// functions do not use the kernel's code.
//
// The package imports scenario, task and tl, as user-defined scenarios do.
package builtin
