// Package machine assembles the simulated hardware of a topology: one clock, the
// fabric over the compiled graph, and, made when first used, the PEs with their
// engines, allocators and byte stores. A machine of 131,072 PEs that runs on eight
// of them pays for eight.
//
// Launch (launch.go) is the path by which a kernel comes from the host to its PEs,
// which start at one instant. Start (program.go) launches a kernel of the tile
// language, or workers that run many: on each PE a core of internal/cpu runs it.
//
//	machine.go  the machine, its PEs and memories, Options
//	address.go  virtual addresses as parts of memory, paths between memories, single requests
//	launch.go   launches, and queues between workers that run a kernel together
//	program.go  kernels of the tile language on PEs
//	worker.go   PEs that run kernel after kernel within one launch
//	connect.go  the queues of a neighbour table
//	host.go     copies of the host
//	trace.go    launches, links and copies in the trace
//	usage.go    what the PEs of a run spent their time on
//
// Nothing is computed here but times: values are made of the op log by
// internal/exec, which a kernel that asks for one reaches through Data. Tensors and
// host code come from the layers above. The package imports the other machine
// packages, tl, oplog, numeric, internal/trace, internal/sim and topology.
package machine
