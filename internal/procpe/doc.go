// Package procpe runs kernels of the tile language on real ranks, which are processes
// or goroutines that share windows of memory: a tl.Machine over package comm.
//
//	r, err := procpe.New(c, procpe.Options{Signals: 8})
//	...
//	err = r.Launch("ring", ring, procpe.Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{n}, Window: w}, n)
//
// Every rank of the communicator makes a [Rank] and launches the same kernels in the
// same order; a rank is a PE. Operations are done when they are asked for, by one
// goroutine, with the arithmetic of internal/exec, so that values are those of the
// simulated machine to the bit. Wait has nothing to wait for.
//
// A kernel sees its tensors, in memory of the rank's own or in its part of a window,
// and its scratch; anything beyond is an error. Put and Get go to the same place of the
// same tensor at a peer. Signals are 0 when a kernel starts. There are no queues: Send
// and Recv are refused, and Select takes signals alone. What the simulated machine
// refuses because of its hardware, such as composites of rows that are not dense, works
// here.
//
// Neither how memory is shared nor how ranks wait is known here: that is comm's. The
// package imports comm, tl, internal/exec, internal/oplog and internal/sim.
package procpe
