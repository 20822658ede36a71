// Package pe is the processing element: the engines that a kernel commands.
//
// The DMA engine (dma.go) moves data between memories. It has a read and a write
// channel, each with several requests outstanding, and keeps the program order of
// accesses that overlap.
//
// Engines are plain structs on the event engine. They know the fabric they send
// over, not the machine they are part of: paths and memories come with each
// request. The package imports internal/sim, internal/fabric, internal/memory and
// topology.
package pe
