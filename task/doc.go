// Package task runs programs of many small tasks with dependencies, under one of three
// runtimes that schedule them.
//
// An orchestration function submits tasks to a [Builder]. A task is a kernel of the tile
// language (package tl) and its arguments: regions of tensors that it reads, writes or
// both, and scalars. Every rank has a program of its own, and all of them run side by
// side:
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
// Two tasks of a rank conflict if their regions of a tensor overlap and one of them
// writes there. host_build_graph and tensormap_and_ringbuffer have the later one wait for
// the earlier one; aicpu_build_graph goes by explicit edges ([After]) alone. A program
// whose edges cover all its conflicts has the same values under all three: those of running
// its tasks one after the other. A kernel that touches memory beside the regions of its
// task is stopped, since nothing would order that. Ranks whose programs have orchestrations
// of their own have no edges between them: tasks put, get, notify and wait, as kernels of
// different PEs do, and [AtPeers] is a region that a task reaches at other ranks only. One
// orchestration may submit the tasks of all ranks ([Options].Single, [OnRank]), with edges
// between any of them, and name what tasks reach at other ranks ([Puts], [Gets]). A [Domain]
// is memory that some of the ranks share. Members of a [Group] with a neighbour table send
// and receive tiles.
//
// An orchestration that asks for a value of a task ([Builder.Value]) waits for that, and
// what it submits next may depend on it.
//
// # Runtimes
//
//	host_build_graph          the host builds the graph before anything runs
//	aicpu_build_graph         a control core of the device builds it, and schedules
//	tensormap_and_ringbuffer  an orchestrator builds it while others schedule
//
// What each costs and has room for is in tasks.yaml ([Config]). Rules that all share: a
// control core that is free takes the next message to another rank, else the oldest end of a
// kernel or message that has not been read, else the first task that is ready, if enough
// compute cores are free, else, if it builds too, the next task to submit. Tasks become ready
// when control cores know that everything they wait for has ended, and start in that order,
// but cores are kept for older ones (control.go): a group that waits holds none and cannot
// starve, and a program whose tasks could run one by one never stands still for want of cores.
//
// # What is here
//
// The program of a rank is recorded first ([Build], builder.go, rank.go), up to the first
// value that it asks for (value.go), and its dependencies follow from it (tensormap.go,
// unordered.go). What is in storage, ready and over is for schedule.go to know, which has no
// time, and what ranks know of each other for neighbors.go. On the simulated machine ([Run],
// sim.go) control cores are models with times (control.go), which send messages (inbox.go)
// and read values (host.go), and a [Result] says who did what when; on real ranks (rank.go,
// for scenario/runner) workers take turns, messages are lists in windows (inbox.go), and the memory of
// domains is windows as well (domainmem.go). guard.go keeps
// kernels to their regions on both, and neighbors.go has the queues between the members of a
// group. formula.go has closed forms, for tests and tables.
//
// Charts of results are task/chart's, flags internal/cli's. The package imports
// torch for the simulated machine, internal/procpe for real ranks, and what both are made of.
package task
