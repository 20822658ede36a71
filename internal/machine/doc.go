// Package machine assembles the simulated hardware of a topology: one clock, the
// fabric over the compiled graph, and, made when first used, the PEs with their
// engines, allocators and byte stores. It also has the launch path, by which a
// kernel comes from the host to its PEs (launch.go).
//
// A machine of 131,072 PEs that runs on eight of them pays for eight. The package
// imports the other machine packages, internal/sim and topology; kernels and host
// code come from the layers above.
package machine
