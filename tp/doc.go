// Package tp implements tensor parallelism with the names of Megatron: groups of ranks,
// mappings between the regions of a model, and layers that are divided over ranks.
//
//	err := ctx.Spawn(func(r *torch.Rank) error {
//		torch.OK(dist.InitProcessGroup(r, "ahbm"))
//		torch.OK(tp.InitializeModelParallel(r, 4, 1, 1, 1, ""))
//		...
//		y, err := tp.ReduceFromTensorModelParallelRegion.Forward(r, x)
//
// Every rank has one group of each kind (groups.go). The order of the dimensions of
// parallelism determines which ranks are neighbours (order.go). InitializeModelParallel
// creates the groups, and Group(r, tp.Data) returns one of them.
//
// Tensors are matrices of tokens by features, or [s, b, h], which is treated as a matrix of
// s·b rows. New tensors have the placement Spread. There is no autograd, so a mapping
// (mappings.go) is a pair of functions: Forward for values and Backward for gradients.
// Each is a collective on parts of a matrix (exchange.go, parts.go). A collective needs
// tensors with the same placement, but a part of a matrix is placed differently from the
// whole matrix. Therefore a kernel copies boxes from one to the other.
//
// ColumnParallelLinear (column.go) and RowParallelLinear (row.go) multiply on all PEs of a
// device. Each PE computes a box of the result (plan.go, parts.go, gemm.go) and reads its
// operands wherever they are stored. A row-parallel layer can reduce one piece of the
// result while it computes the next (overlap.go). Weights have the placement Spread or
// ByTokens, or any torch.DPPolicy. Backward of both layers (backward.go) returns the
// gradient of the input and accumulates the gradients of weight and bias. Backward of
// VocabParallelEmbedding (embedding.go) accumulates the gradient of the table.
//
// RMSNorm, LayerNorm and VocabParallelCrossEntropy reduce rows whose columns are on several
// PEs: each PE computes partial results for its columns (rowwise.go, walk.go, band.go).
// VocabParallelEmbedding, activations (rowwise.go, pass.go) and DotProductAttention
// complete a transformer.
//
// Package torch provides process groups, collectives and tensors. Package attention
// provides attention over meshes and the running softmax that this package uses. Package
// tp imports both, and tl. Benches and examples import tp.
package tp
