// Package cpu is the control CPU of a PE. A Core (core.go) implements tl.Machine for the
// kernels of one launch: it charges the dispatch of each operation, turns pointers into parts
// of memory, hands the operation to an engine (internal/pe) or a queue (internal/ipcq), and
// waits where the kernel has to.
//
//	system.go     what CPUs share, what they ask of their machine, and the PEs
//	core.go       the CPU's clock, tiles, scratch memory, begin and end of a kernel
//	address.go    blocks of tensors as parts of memory
//	access.go     loads, stores, puts and gets as DMA requests
//	compute.go    commands of GEMM and MATH
//	composite.go  composites, handles and Wait
//	queue.go      ports, sends and receives
//	signal.go     notifications and what waits for them
//	select.go     waiting for one of several
//	record.go     operations in the op log, with times and causes
//	trace.go      what the CPU runs and waits for, in the trace
//
// A machine has one System, an Element for each PE, and for each launch a Launch and a Core on
// each of its PEs. A Core knows the System, its own Element and those at which its peers have
// their signals. Everything else it needs of the machine is a function in System: where virtual
// addresses are (Find), how memories are connected (Route), scratch memory (Reserve, Release).
//
// Launches, programs, workers and the building of queues are in internal/machine, which imports
// this package. Values are computed by internal/exec, behind Data. The package imports
// internal/fabric, internal/ipcq, internal/memory, internal/pe, internal/sim, internal/trace,
// numeric, oplog, simtime, tl and topology.
package cpu
