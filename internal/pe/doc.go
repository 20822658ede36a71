// Package pe is the processing element: the engines that a kernel commands, and
// the TCM between them.
//
//   - DMA (dma.go) moves data between memories and TCM. It has a read and a write
//     channel, each with several requests outstanding. Descriptors are formed side
//     by side, and accesses that overlap keep program order.
//   - Tiles (tiles.go) is what TCM holds. When room is needed, the tile goes that
//     the kernel has not used for longest, by its program and not by the clock.
//   - Pipeline (pipeline.go) is the fetch/store unit, GEMM and MATH. Commands begin
//     in program order, so that their times follow by arithmetic.
//   - Composite (composite.go) runs a Plan (plan.go), tile by tile from memory to
//     memory, on all of them at once.
//   - Costs (cost.go) is how long each stage takes. formula.go states the same in
//     closed form; the models never call it.
//
// Engines are plain structs on the event engine. They know the fabric they send
// over, not the machine they are part of: paths and memories come with each
// request. Kernels, queues and signals are elsewhere. The package imports
// internal/sim, internal/fabric, internal/memory, numeric, oplog,
// internal/trace and topology.
package pe
