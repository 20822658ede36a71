// Package machine assembles the simulated hardware of a topology: one clock, the
// fabric over the compiled graph, and, made when first used, the PEs with their
// engines, allocators and byte stores. A machine of 131,072 PEs that runs on eight
// of them pays for eight.
//
// Launch (launch.go) is the path by which a kernel comes from the host to its PEs,
// which start at one instant. Start (program.go) launches a kernel of the tile
// language, or workers that run many: on each PE a core (core.go) implements tl.Machine. It charges the CPU's
// dispatch, turns pointers into pieces of memory (address.go), and hands the rest
// to engines and queues:
//
//	access.go     loads, stores, puts and gets as DMA requests, also single ones for probes
//	compute.go    commands of GEMM and MATH
//	composite.go  composites and what Wait waits for
//	connect.go    the queues of a neighbour table
//	queue.go      sends and receives
//	signal.go     notifications and what waits for them
//	worker.go     PEs that run kernel after kernel within one launch
//	launch.go     programs on PEs, and queues between workers that run a kernel together
//	host.go       copies of the host
//	record.go     all of that in the op log, if one is kept
//
// Nothing is computed here but times: values are made of the op log by
// internal/exec, which a kernel that asks for one reaches through Data. Tensors and
// host code come from the layers above. The package imports the other machine
// packages, tl, oplog, numeric, internal/trace, internal/sim and topology.
package machine
