// Package cpu models the control CPU of a PE. A Core (core.go) implements tl.Machine for
// the kernels of one launch. It charges the dispatch time of each operation, turns pointers
// into parts of memory, and passes the operation to an engine (internal/pe) or a queue
// (internal/ipcq). It waits where the kernel must wait.
//
//	system.go     the System that all CPUs share, and the PEs
//	core.go       the CPU's clock, tiles, scratch memory, start and end of a kernel
//	address.go    blocks of tensors as parts of memory
//	access.go     loads, stores, puts and gets as DMA requests
//	compute.go    commands of GEMM and MATH
//	composite.go  composites, handles and Wait
//	queue.go      ports, sends and receives
//	signal.go     signals, notifications and WaitSignal
//	select.go     Select, which waits for one of several cases
//	record.go     operations in the op log, with times and causes
//	trace.go      runs and waits of the CPU in the trace
//
// A machine has one System, an Element for each PE, and for each launch a Launch and a Core
// on each of its PEs. A Core refers to the System, to its own Element, and to the Elements
// that hold the signals of its peers. It reaches the rest of the machine through functions
// in System: Find translates virtual addresses, Route returns the path between two
// memories, Reserve and Release manage scratch memory.
//
// Launches, programs, workers and the building of queues are in internal/machine, which
// imports this package. internal/exec computes values and implements Data. The package
// imports internal/fabric, internal/ipcq, internal/memory, internal/pe, internal/sim,
// internal/trace, numeric, oplog, simtime, tl and topology.
package cpu
