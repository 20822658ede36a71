// Package comm lets ranks share memory and communicate with one-sided operations. Ranks
// are processes of one machine or goroutines of one process.
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
// A [Window] is memory at each rank of a communicator. All ranks of the communicator
// access it with [Window.Put], [Window.Get] and [Window.Accumulate], or directly through
// [Window.Peer]. A window also has signals: 64-bit integers that other ranks change with
// [Window.Notify] and the rank waits for with [Window.WaitSignal]. A rank that has waited
// for a Notify sees everything that the notifying rank wrote before it. Only Notify and
// [Comm.Barrier] order accesses of different ranks.
//
// A [Comm.Domain] is a communicator of some of the ranks, with its own windows and
// barriers.
//
// # Errors
//
// A failure that concerns other ranks is an [*Error] that names the rank, its peer, the
// operation and its phase. It poisons the communicator: all later operations of all ranks
// fail at once. A waiting rank notices within milliseconds that the process of another
// rank has ended without Close. [Options.Timeout] limits each wait. Invalid arguments,
// such as an offset outside the window, are errors of the same type and poison nothing.
//
// # Waiting
//
// A waiting rank polls memory. After 0.5 ms, or at once if ranks outnumber cores, it yields
// its core between polls. After 10 ms it sleeps.
//
// # Backends
//
// A [Backend] provides the memory and is chosen by name: shm, for processes that share
// memory, in package comm/shm; inproc, for goroutines, in comm/inproc. A program imports
// the packages of the backends that it uses. Package comm/coll has collectives on windows,
// and comm/launch starts processes.
//
// The package imports tl for the operations and comparisons of signals, which kernels use
// too, and numeric for sums.
package comm
