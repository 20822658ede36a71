// Package comm lets ranks, which are processes of one machine or goroutines of one
// process, share memory and talk with one-sided operations.
//
//	c, err := comm.Open(ctx, rank, nranks, "my-run", comm.Options{})
//	...
//	w, err := c.AllocWindow(1<<20, 1)    // at every rank: 1 MiB and a signal
//	w.Put((rank+1)%nranks, 0, data)      // into the next rank's part
//	w.Notify((rank+1)%nranks, 0, tl.Add, 1)
//	w.WaitSignal(0, tl.GE, 1)            // the previous rank has put its data
//	use(w.Local())
//
// # Windows and signals
//
// A [Window] is memory that each rank of a communicator has and all can reach, by
// [Window.Put], [Window.Get] and [Window.Accumulate], or directly by [Window.Peer]. A
// window has signals, 64-bit numbers that others change with [Window.Notify] and the
// rank waits for with [Window.WaitSignal]. What was written before a Notify is seen by
// whoever has waited for it; nothing else orders accesses of ranks but
// [Comm.Barrier].
//
// A [Comm.Domain] is a communicator of some ranks, with windows and barriers of its
// own.
//
// # Failing
//
// A failure that concerns others is an [*Error] that names the rank, its peer, the
// operation and its phase, and poisons the communicator: all later operations of all
// ranks fail at once. A rank whose process ends without Close is noticed by whoever
// waits, within milliseconds. Deadlines are the caller's: [Options.Timeout]. Mistakes
// of the caller alone, such as an offset outside of the window, are errors of the same
// type that poison nothing.
//
// # Waiting
//
// A rank that waits looks at memory again and again while there is a core for each
// rank, gives its core to others if there is not, and sleeps after 10 ms.
//
// # Backends
//
// A [Backend] provides the memory, and is chosen by name: shm, processes that share
// memory, in package comm/shm; inproc, goroutines, in comm/inproc. A program imports
// the packages of those that it wants. Collectives on windows are in comm/coll,
// processes are started by comm/launch.
//
// The package imports tl for the words that signals share with kernels and
// numeric for sums.
package comm
