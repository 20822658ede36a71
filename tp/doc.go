// Package tp is tensor parallelism with Megatron's names: which ranks belong together,
// the mappings between the regions of a model, and layers that are cut over ranks.
//
//	err := ctx.Spawn(func(r *torch.Rank) error {
//		torch.OK(dist.InitProcessGroup(r, "ahbm"))
//		torch.OK(tp.InitializeModelParallel(r, 4, 1, 1, 1, ""))
//		...
//		y, err := tp.ReduceFromTensorModelParallelRegion.Forward(r, x)
//
// Every rank has one group of each kind (groups.go), along dimensions of parallelism whose
// order says which ranks are next to each other (order.go). InitializeModelParallel makes the
// groups, and Group(r, tp.Data) returns one of them.
//
// Tensors are matrices of tokens by features, or [s, b, h], which is seen as a matrix of s·b
// rows. What this package makes is laid out as Spread says. A mapping (mappings.go) is a
// pair of functions, since there is no autograd: Forward for values and Backward for
// gradients. Each is a collective (moves.go) of parts of a matrix (parts.go). A collective
// needs tensors that are laid out alike, and a part of a matrix is not laid out like the
// whole: a kernel copies boxes from one to the other (moves.go).
//
// ColumnParallelLinear (column.go) and RowParallelLinear (row.go) multiply on all PEs of a
// device: each makes a box of the result (plan.go, parts.go, gemm.go) out of what it reads
// wherever it lies. A row-parallel layer can reduce what is done while it computes the
// rest (overlap.go). Weights are laid out as Spread or ByTokens say, or any torch.DPPolicy.
// Backward of both layers (backward.go), and of VocabParallelEmbedding
// (embedding.go), returns the gradient of the input and adds up those of the
// weights.
//
// Work along rows, which cubes share, goes by partial results (rowwise.go, walk.go,
// band.go): RMSNorm, LayerNorm, VocabParallelCrossEntropy. VocabParallelEmbedding,
// activations (rowwise.go over pass.go) and DotProductAttention make up the rest of a
// transformer.
//
// Process groups, collectives and tensors are package torch's, attention over meshes is in
// package attention, whose running softmax this one uses. It imports these two and tl.
// Benches and examples are above it.
package tp
