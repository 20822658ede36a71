// Package procpe runs kernels of the tile language on real ranks, which are processes
// or goroutines that share windows of memory: a tl.Machine over package comm.
//
//	signals, err := c.AllocWindow(0, procpe.Banks*8)
//	...
//	r := procpe.New(signals, procpe.Options{})
//	err = r.Launch("ring", ring, procpe.Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{n}, Window: w}, n)
//
// Every rank of the communicator makes a [Rank] and launches the same kernels in the
// same order; a rank is a PE. Operations are done when they are asked for, by one
// goroutine, with the arithmetic of internal/exec, so that values are those of the
// simulated machine to the bit.
//
// A kernel sees its tensors, in memory of the rank's own or in its part of a window,
// and its scratch; anything beyond is an error. Put and Get go to the same place of the
// same tensor at a peer. Signals are 0 when a kernel starts. Ranks have no queues between
// them: Send and Recv are refused, and Select takes signals alone, except in a Group. What
// the simulated machine refuses because of its hardware, such as composites of rows that
// are not dense, works here.
//
// A [Session] is a launch of many kernels, for programs of tasks. Its workers run them
// side by side, as coroutines that switch only where a kernel waits, or tests a signal in
// vain:
//
//	s, err := r.Begin("step", tensors...)
//	...
//	defer s.End()
//	a, b := s.Worker(), s.Worker()
//	a.Start("halo", func(m tl.Machine) { halo(tl.NewPE(m, "halo"), s.Pointer(0)) })
//	b.Start("inner", func(m tl.Machine) { inner(tl.NewPE(m, "inner"), s.Pointer(0)) })
//	for a.Running() || b.Running() {
//		err = s.Wait([]*procpe.Worker{a, b})
//		...
//		a.Resume()
//		b.Resume()
//	}
//
// A [Group] is workers with queues between them, for one kernel each: they exchange tiles
// with Send and Recv, in memory of the rank.
//
// Which kernel goes to which worker, and when, is the caller's matter. A kernel that asks
// with Test in a loop lets the others go on each time, but never lets the rank sleep: one
// that waits costs less. It does not wait either, and so a rank with such a kernel is
// never part of a deadlock: if nobody does what it asks for, only a limit ends it.
//
// Neither how memory is shared nor how ranks wait is known here: that is comm's. The
// package imports comm, tl, internal/exec, internal/printable, oplog and simtime.
package procpe
