// Package pe models a processing element: its engines and the TCM that they share.
//
//   - DMA (dma.go) moves data between memories and TCM. It has a read and a write channel
//     with several outstanding requests each. Descriptors are formed in parallel. Accesses
//     to overlapping memory keep program order (order.go).
//   - Tiles (tiles.go) manages the tiles in TCM. To make space it evicts the tile that the
//     kernel has not used for the longest time, in program order and not by the clock.
//   - Pipeline (pipeline.go) has the fetch/store unit and the GEMM and MATH engines.
//     Commands start in program order, so that their times follow by arithmetic.
//   - Composite (composite.go) runs a Plan (plan.go) tile by tile, from memory to memory,
//     on all engines at once.
//   - Costs (cost.go) computes how long each stage takes. formula.go computes the same times
//     in closed form, to check the model; the model does not use it.
//   - Trace and Usage (trace.go) record what the engines do.
//
// Engines are plain structs on the event engine. They use the fabric but do not depend on
// the machine that contains them: each request names its path and its memories. Kernels and
// signals are in internal/cpu, queues in internal/ipcq. The package imports internal/sim,
// internal/fabric, internal/memory, numeric, oplog, internal/trace and topology.
package pe
