package tp

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// Mapping is a collective between two regions of a model. It changes how a matrix of tokens
// by features, or a tensor [s, b, h], is divided over the ranks of the tensor parallel
// group. Forward maps values, and Backward maps the gradients of its results.
//
// The result is either x itself, changed or not, or a new tensor with the placement Spread,
// which the caller frees. Each mapping documents which. The caller also frees x. In a group
// of one rank the result is always x itself.
type Mapping struct {
	Name              string
	forward, backward mapFunc
	group             *dist.Group // nil means the tensor parallel group
}

// The mappings, with Megatron's names. The first dimension is tokens, the last features.
var (
	// CopyToTensorModelParallelRegion passes the same x to all ranks. Forward: x,
	// unchanged. Backward: the sum over all ranks, in x.
	CopyToTensorModelParallelRegion = Mapping{Name: "CopyToTensorModelParallelRegion", forward: identity, backward: allReduce}

	// ReduceFromTensorModelParallelRegion adds the tensors of all ranks. Forward: the sum,
	// in x. Backward: x, unchanged.
	ReduceFromTensorModelParallelRegion = Mapping{Name: "ReduceFromTensorModelParallelRegion", forward: allReduce, backward: identity}

	// ScatterToTensorModelParallelRegion gives each rank its part of the last dimension.
	// Forward: the part, new. Backward: the parts of all ranks, new.
	ScatterToTensorModelParallelRegion = Mapping{Name: "ScatterToTensorModelParallelRegion", forward: split(features), backward: gather(features)}

	// GatherFromTensorModelParallelRegion joins the ranks' parts of the last dimension.
	// Forward: the parts of all ranks, new. Backward: the rank's part, new.
	GatherFromTensorModelParallelRegion = Mapping{Name: "GatherFromTensorModelParallelRegion", forward: gather(features), backward: split(features)}

	// ScatterToSequenceParallelRegion gives each rank its part of the first dimension.
	// Forward: the part, new. Backward: the parts of all ranks, new.
	ScatterToSequenceParallelRegion = Mapping{Name: "ScatterToSequenceParallelRegion", forward: split(tokens), backward: gather(tokens)}

	// GatherFromSequenceParallelRegion joins the ranks' parts of the first dimension for an
	// operation that is divided over the ranks. Forward: the parts of all ranks, new.
	// Backward: the rank's part of the sum over all ranks, new.
	GatherFromSequenceParallelRegion = Mapping{Name: "GatherFromSequenceParallelRegion", forward: gather(tokens), backward: reduceScatter(tokens)}

	// GatherFromSequenceParallelRegionSplitGrad joins the ranks' parts of the first
	// dimension for an operation that is the same on all ranks: Megatron's
	// tensor_parallel_output_grad=False. Forward: the parts of all ranks, new. Backward:
	// the rank's part, new.
	GatherFromSequenceParallelRegionSplitGrad = Mapping{Name: "GatherFromSequenceParallelRegionSplitGrad", forward: gather(tokens), backward: split(tokens)}

	// ReduceScatterToSequenceParallelRegion adds the tensors of all ranks and gives each
	// rank its part of the first dimension. Forward: the part, new. Backward: the parts of
	// all ranks, new.
	ReduceScatterToSequenceParallelRegion = Mapping{Name: "ReduceScatterToSequenceParallelRegion", forward: reduceScatter(tokens), backward: gather(tokens)}

	// AllGatherLastDimFromTensorParallelRegion joins the ranks' parts of the last dimension
	// for an operation that is divided over the ranks. Forward: the parts of all ranks,
	// new. Backward: the rank's part of the sum over all ranks, new.
	AllGatherLastDimFromTensorParallelRegion = Mapping{Name: "AllGatherLastDimFromTensorParallelRegion", forward: gather(features), backward: reduceScatter(features)}

	// ReduceScatterLastDimToTensorParallelRegion adds the tensors of all ranks and gives
	// each rank its part of the last dimension. Forward: the part, new. Backward: the parts
	// of all ranks, new.
	ReduceScatterLastDimToTensorParallelRegion = Mapping{Name: "ReduceScatterLastDimToTensorParallelRegion", forward: reduceScatter(features), backward: gather(features)}

	// AllToAllSP2HP changes from sequence parallel to hidden parallel: from tokens/n ×
	// features to tokens × features/n on each of n ranks. In both directions the result is
	// new.
	AllToAllSP2HP = Mapping{Name: "AllToAllSP2HP", forward: allToAll(features, tokens, nil, nil), backward: allToAll(tokens, features, nil, nil)}

	// AllToAllHP2SP is the reverse of AllToAllSP2HP.
	AllToAllHP2SP = Mapping{Name: "AllToAllHP2SP", forward: allToAll(tokens, features, nil, nil), backward: allToAll(features, tokens, nil, nil)}
)

// AllToAll returns a mapping that sends tokens to each rank of a group, such as an expert
// group: the first inputSplits[0] tokens to rank 0, and so on. outputSplits[i] is the
// number of tokens that the rank receives from rank i. If inputSplits and outputSplits are
// nil, the splits are even. If group is nil, the mapping uses the tensor parallel group.
// Forward and Backward both return a new tensor.
func AllToAll(group *dist.Group, outputSplits, inputSplits []int) Mapping {
	return Mapping{
		Name: "AllToAll", group: group,
		forward: allToAll(tokens, tokens, inputSplits, outputSplits), backward: allToAll(tokens, tokens, outputSplits, inputSplits),
	}
}

// Forward applies the mapping to the values x. The comment of each mapping says which
// tensor Forward returns.
func (m Mapping) Forward(r *torch.Rank, x *torch.Tensor) (*torch.Tensor, error) {
	return m.run(r, m.Name, m.forward, x)
}

// Backward applies the mapping to x, the gradient of Forward's result, and returns the
// gradient of Forward's input.
func (m Mapping) Backward(r *torch.Rank, x *torch.Tensor) (*torch.Tensor, error) {
	return m.run(r, m.Name+" backward", m.backward, x)
}

// run applies `do`, one direction of the mapping, to x. In a group of one rank it returns x
// itself. `who` is the name of the mapping and the direction in errors.
func (m Mapping) run(r *torch.Rank, who string, do mapFunc, x *torch.Tensor) (*torch.Tensor, error) {
	p := &exchange{r: r, who: who, group: cmp.Or(m.group, groupFor(who, r, Tensor)), on: Spread}
	switch {
	case do == nil:
		panic(&torch.Error{Op: "Mapping", Err: errors.New("the zero Mapping maps nothing: use one of the package's")})
	case x == nil:
		panic(&torch.Error{Op: who, Err: errors.New("a nil tensor")})
	}
	if dist.GetWorldSize(r, p.group) == 1 {
		return x, nil
	}
	if len(x.Shape()) < 2 {
		return nil, fmt.Errorf("%s: a tensor of shape %v: it has to be a matrix of tokens by features, or [s, b, h]", who, x.Shape())
	}
	y, err := p.run(do, x)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	return y, nil
}
