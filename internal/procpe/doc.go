// Package procpe runs kernels of the tile language on real ranks: processes or goroutines
// that share windows of memory. It implements tl.Machine on package comm.
//
//	signals, err := c.AllocWindow(0, procpe.Banks*8)
//	...
//	r := procpe.New(signals, procpe.Options{})
//	err = r.Launch("ring", ring, procpe.Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{n}, Window: w}, n)
//
// Every rank of the communicator creates a [Rank] and launches the same kernels in the same
// order. To kernels, a rank is a PE. One goroutine executes each operation at once, with
// the arithmetic of internal/exec, so that values equal those of the simulated machine bit
// for bit.
//
// A kernel can access its tensors, which are in private memory of the rank or in its part
// of a window, and its scratch buffers. Any other access is an error. Put and Get access
// the same position of the same tensor at a peer. Signals are 0 when a kernel starts. There
// are no queues between ranks: outside a Group, Send and Recv return an error, and Select
// accepts only signals. Operations that only the hardware of the simulated machine forbids,
// such as composites of rows that are not dense, work here.
//
// A [Session] is a launch of many kernels, for programs of tasks. Its workers run kernels
// concurrently, as coroutines. They switch only where a kernel waits, or where a test of a
// signal returns false:
//
//	s, err := r.Begin("step", tensors...)
//	...
//	defer s.End()
//	a, b := s.NewWorker(), s.NewWorker()
//	a.Start("halo", func(m tl.Machine) { halo(tl.NewPE(m, "halo"), s.Pointer(0)) })
//	b.Start("inner", func(m tl.Machine) { inner(tl.NewPE(m, "inner"), s.Pointer(0)) })
//	for a.Running() || b.Running() {
//		err = s.Wait([]*procpe.Worker{a, b})
//		...
//		a.Resume()
//		b.Resume()
//	}
//
// A [Group] is a set of workers with queues between them that run one kernel each. They
// exchange tiles with Send and Recv, in memory of the rank.
//
// The caller decides which worker runs which kernel, and when. A kernel that polls with
// Test lets the other workers run after each test, but the rank never sleeps: waiting costs
// less. Since polling is not waiting, a rank with such a kernel is never part of a detected
// deadlock. If the signal never changes, only a time limit ends the kernel.
//
// Package comm implements how memory is shared and how ranks wait. This package imports
// comm, tl, internal/exec, internal/lists, internal/stack, oplog and simtime.
package procpe
