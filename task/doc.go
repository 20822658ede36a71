// Package task runs programs of many small tasks with dependencies, under one of three
// runtimes that schedule them.
//
// An orchestration function submits tasks to a [Builder]. A task is a kernel of the tile
// language (package tl) with its arguments: scalars, and regions of tensors that the kernel
// reads, writes or both. Every rank has its own program. The programs of all ranks run at
// the same time:
//
//	x, err := r.Zeros(torch.F32, torch.Shape{64 * n})
//	...
//	result, err := task.Run(r, task.Options{Runtime: task.TensorMapAndRingBuffer}, func(b *task.Builder) {
//		own := b.Tensor(x)
//		for i := range 64 {
//			b.Submit("scale", scale, task.Args{task.InOut("x", own.Rows(i*n, n)), task.Scalar("n", n)})
//		}
//	})
//
// # Order
//
// Two tasks of a rank conflict if their regions of a tensor overlap and at least one of the
// tasks writes. Under host_build_graph and tensormap_and_ringbuffer the task submitted
// later waits for the earlier one. Under aicpu_build_graph only explicit edges ([After])
// order tasks. A program whose edges cover all its conflicts computes the same values under
// all three runtimes: the values that its tasks compute if they run one by one in the
// order of submission. A kernel that accesses memory outside the regions of its task is
// stopped, because no runtime could order that access.
//
// Ranks with their own orchestrations have no edges between them. Their tasks put, get,
// notify and wait as kernels of different PEs do, and [AtPeers] declares a region that a
// task accesses only at other ranks. Alternatively one orchestration submits the tasks of
// all ranks ([Options].Single, [OnRank]). It may have edges between tasks of any ranks, and
// declares which regions of other ranks a task accesses ([Puts], [Gets]). A [Domain] is
// memory that some of the ranks share. Members of a [Group] with a neighbour table send and
// receive tiles.
//
// [Builder.Value] waits for a task and returns a value that it computed. Later submissions
// may depend on that value.
//
// # Runtimes
//
//	host_build_graph          the host builds the graph before anything runs
//	aicpu_build_graph         a control core of the device builds it, and schedules
//	tensormap_and_ringbuffer  an orchestrator builds it while other control cores schedule
//
// The costs and storage of each runtime are in tasks.yaml ([Config]). A free control core
// takes the first of these that exists: the next message to another rank; the oldest end of
// a kernel or message that no control core has read; the first ready task, if enough
// compute cores are free; and, if it also builds, the next task to submit. A task becomes
// ready when the control cores know that everything it waits for has ended. Tasks start in
// the order in which they became ready, but compute cores are reserved for older tasks
// (control.go). A waiting group holds no cores and cannot starve. A program whose tasks
// could run one by one never deadlocks for lack of cores.
//
// # Files
//
// [Build] records the program of a rank (builder.go, rank.go) up to the first value that
// the orchestration asks for (value.go). tensormap.go derives the dependencies of tasks,
// and unordered.go finds the conflicts that no edges order. schedule.go keeps the state
// of a program without times: which tasks are stored, ready or ended. neighbors.go keeps
// what a rank knows of the tasks of other ranks, and the queues between the members of a
// group. guard.go restricts kernels to their regions.
//
// On the simulated machine ([Run], sim.go) control cores are models with times
// (control.go), which send messages (inbox.go) and read values (host.go). A [Result]
// records the times of all tasks and control cores. On real ranks (rank.go, for
// scenario/runner) workers take turns, messages are lists in windows (inbox.go), and the
// memory of domains is in windows as well (domainmem.go). formula.go has closed forms for
// tests and tables.
//
// Package task/chart draws results, and internal/cli defines the flags. This package
// imports torch for the simulated machine, internal/procpe for real ranks, and packages
// that both of them use.
package task
