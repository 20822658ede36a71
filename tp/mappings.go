package tp

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// Mapping takes matrices of tokens by features, or tensors of [s, b, h], from one region of a
// model to another: how they are cut over the ranks of the tensor parallel group. Forward is
// for values, Backward for the gradients of what Forward made.
//
// The result is either x itself, changed or not, or a new tensor, laid out as Spread says,
// which the caller frees; x is the caller's in any case. Each mapping says which it is.
// Over a group of one rank it is always x itself.
type Mapping struct {
	Name              string
	forward, backward step
	group             *dist.Group // the tensor parallel one if it is nil
}

// The mappings, with Megatron's names. The first dimension is tokens, the last features.
var (
	// CopyToTensorModelParallelRegion has all ranks use the same x. Forward: x as it is.
	// Backward: the sum over all ranks, in x.
	CopyToTensorModelParallelRegion = Mapping{Name: "CopyToTensorModelParallelRegion", forward: keep, backward: allReduce}

	// ReduceFromTensorModelParallelRegion adds up what the ranks have. Forward: the sum, in
	// x. Backward: x as it is.
	ReduceFromTensorModelParallelRegion = Mapping{Name: "ReduceFromTensorModelParallelRegion", forward: allReduce, backward: keep}

	// ScatterToTensorModelParallelRegion gives each rank its part of the last dimension.
	// Forward: the part, new. Backward: the parts of all ranks, new.
	ScatterToTensorModelParallelRegion = Mapping{Name: "ScatterToTensorModelParallelRegion", forward: split(features), backward: gather(features)}

	// GatherFromTensorModelParallelRegion is the reverse. Forward: the parts of all ranks,
	// new. Backward: the rank's part, new.
	GatherFromTensorModelParallelRegion = Mapping{Name: "GatherFromTensorModelParallelRegion", forward: gather(features), backward: split(features)}

	// ScatterToSequenceParallelRegion gives each rank its part of the first dimension.
	// Forward: the part, new. Backward: the parts of all ranks, new.
	ScatterToSequenceParallelRegion = Mapping{Name: "ScatterToSequenceParallelRegion", forward: split(tokens), backward: gather(tokens)}

	// GatherFromSequenceParallelRegion puts the ranks' parts of the first dimension together
	// for work that is cut over the ranks. Forward: the parts of all ranks, new. Backward:
	// the rank's part of the sum over all ranks, new.
	GatherFromSequenceParallelRegion = Mapping{Name: "GatherFromSequenceParallelRegion", forward: gather(tokens), backward: reduceScatter(tokens)}

	// GatherFromSequenceParallelRegionSplitGrad does so for work that all ranks do alike:
	// Megatron's tensor_parallel_output_grad=False. Forward: the parts of all ranks, new.
	// Backward: the rank's part, new.
	GatherFromSequenceParallelRegionSplitGrad = Mapping{Name: "GatherFromSequenceParallelRegionSplitGrad", forward: gather(tokens), backward: split(tokens)}

	// ReduceScatterToSequenceParallelRegion adds up what the ranks have and gives each its
	// part of the first dimension. Forward: the part, new. Backward: the parts of all ranks,
	// new.
	ReduceScatterToSequenceParallelRegion = Mapping{Name: "ReduceScatterToSequenceParallelRegion", forward: reduceScatter(tokens), backward: gather(tokens)}

	// AllGatherLastDimFromTensorParallelRegion puts the ranks' parts of the last dimension
	// together for work that is cut over the ranks. Forward: the parts of all ranks, new.
	// Backward: the rank's part of the sum over all ranks, new.
	AllGatherLastDimFromTensorParallelRegion = Mapping{Name: "AllGatherLastDimFromTensorParallelRegion", forward: gather(features), backward: reduceScatter(features)}

	// ReduceScatterLastDimToTensorParallelRegion adds up what the ranks have and gives each
	// its part of the last dimension. Forward: the part, new. Backward: the parts of all
	// ranks, new.
	ReduceScatterLastDimToTensorParallelRegion = Mapping{Name: "ReduceScatterLastDimToTensorParallelRegion", forward: reduceScatter(features), backward: gather(features)}

	// AllToAllSP2HP goes from a part of the tokens with all features to all tokens with a
	// part of the features, from sequence to hidden parallel: tokens/n × features to tokens ×
	// features/n. Both ways the result is new.
	AllToAllSP2HP = Mapping{Name: "AllToAllSP2HP", forward: allToAll(features, tokens, nil, nil), backward: allToAll(tokens, features, nil, nil)}

	// AllToAllHP2SP is the reverse of it.
	AllToAllHP2SP = Mapping{Name: "AllToAllHP2SP", forward: allToAll(tokens, features, nil, nil), backward: allToAll(features, tokens, nil, nil)}
)

// AllToAll gives each rank of a group, such as that of experts, some tokens: the first
// inputSplits[0] to rank 0, and so on; outputSplits is how many come from each. Without
// splits, nil for both, they are even, and without a group it is the tensor parallel one.
// Both ways the result is new.
func AllToAll(group *dist.Group, outputSplits, inputSplits []int) Mapping {
	return Mapping{
		Name: "AllToAll", group: group,
		forward: allToAll(tokens, tokens, inputSplits, outputSplits), backward: allToAll(tokens, tokens, outputSplits, inputSplits),
	}
}

// Forward maps values.
func (m Mapping) Forward(r *torch.Rank, x *torch.Tensor) (*torch.Tensor, error) {
	return m.run(r, m.Name, m.forward, x)
}

// Backward maps gradients.
func (m Mapping) Backward(r *torch.Rank, x *torch.Tensor) (*torch.Tensor, error) {
	return m.run(r, m.Name+" backward", m.backward, x)
}

func (m Mapping) run(r *torch.Rank, who string, do step, x *torch.Tensor) (*torch.Tensor, error) {
	p := &peers{r: r, who: who, group: cmp.Or(m.group, groupFor(who, r, Tensor)), on: Spread}
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
