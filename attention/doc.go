// Package attention computes grouped-query attention over a mesh of PEs. Each PE holds a
// shard of the keys and values. Several query heads share a KV head.
//
// Running (running.go) is a softmax that is updated block by block, for any kernel.
// Pipeline interleaves several updates, so that the engines of a PE stay busy. Mask says
// which keys a query sees.
//
// Prefill divides the tokens of a prompt over the holders of a mesh. Keys and values pass
// through the mesh while every PE computes with the blocks that have arrived. Decode
// divides a KV cache over the holders. All holders compute at the same time, and their
// states are merged towards the middle of the mesh. A Mesh (mesh.go) lists the PEs and the
// connections between them. route.go computes which shard each place sends and receives at
// each step; it does not depend on a machine.
//
// Callers provide weights, projections, positions and reference values. The package
// imports torch, tl and topology.
package attention
