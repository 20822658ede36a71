// Package machine assembles the simulated hardware of a topology: the clock, the fabric over
// the compiled graph, and the PEs with their engines, allocators and memories. PEs and
// memories are built when they are first used, so that a kernel on eight PEs of a machine
// with 131,072 costs no more than eight PEs.
//
// Launch (launch.go) sends a kernel from the host to its PEs, which start at the same
// instant. Start (program.go) launches a kernel of the tile language, or workers that run
// many kernels. On each PE, a core of internal/cpu runs the kernel.
//
//	machine.go  the machine, its PEs and memories, Options
//	address.go  translation of virtual addresses, paths between memories, single requests
//	launch.go   launches, and queues between workers that run a kernel together
//	program.go  kernels of the tile language on PEs
//	worker.go   PEs that run one kernel after another within one launch
//	connect.go  the queues of a neighbour table
//	host.go     copies between the host and devices
//	trace.go    launches, links and copies in the trace
//	usage.go    how the PEs of a run spent their time
//
// The package computes only times. internal/exec computes values from the op log; a kernel
// that needs a value gets it through Data. Tensors and host code are in the layers above.
// The package imports the other machine packages, tl, oplog, numeric, internal/trace,
// internal/sim and topology.
package machine
