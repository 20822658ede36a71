// Package attention is attention over a mesh of PEs, each of which holds a shard of the
// keys and values: grouped-query attention, with several query heads for each KV head.
//
// Running (running.go) is the softmax that goes along with blocks of keys, for any kernel;
// Pipeline keeps the engines of a PE busy with several of its steps, and Mask says which keys
// a query sees. Prefill has the tokens of a prompt cut over the
// holders and passes keys and values through the mesh, while every PE computes with what
// has come. Decode has a KV cache cut over them, computes with all parts at once and merges
// what comes out towards the middle. A Mesh (mesh.go) is which PEs these are, and the
// connections between them; how shards pass through it is in route.go, without machines.
//
// Weights, projections and positions are not here, and neither are references to compare
// with: these belong to whoever calls. The package imports torch, tl and topology.
package attention
