package tp

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
)

// ColumnParallelLinear is a linear layer whose weight is divided by columns: each rank of
// the tensor parallel group computes its own columns of the result.
type ColumnParallelLinear struct{ Linear }

// NewColumnParallelLinear creates the calling rank's part of a layer with `in` input
// features and `out` output features. In a tensor parallel group of tp ranks, the part has
// in × out/tp elements of the weight and, with Options.Bias, out/tp elements of the bias.
// All elements are zero.
func NewColumnParallelLinear(r *torch.Rank, name string, in, out int, o Options) (*ColumnParallelLinear, error) {
	who := "ColumnParallelLinear " + name
	g := groupFor(who, r, Tensor)
	switch {
	case o.GatherOutput && o.SequenceParallel:
		return nil, fmt.Errorf("%s: GatherOutput with SequenceParallel: outside of the layers ranks have rows, not all columns: choose one", who)
	case o.GatherOutput && o.Gated:
		return nil, fmt.Errorf("%s: GatherOutput with Gated: the columns of the result are not in their order: choose one", who)
	case o.InputIsParallel || o.Overlap < 0 || o.Overlap > 1:
		return nil, fmt.Errorf("%s: InputIsParallel and Overlap are for a RowParallelLinear", who)
	case in < 1:
		return nil, fmt.Errorf("%s: %d input features: there has to be one", who, in)
	case o.Gated && out%2 != 0:
		return nil, fmt.Errorf("%s: %d output features with Gated: there are as many gates as features that they gate: choose an even number", who, out)
	}
	what := out
	if o.Gated {
		what = out / 2
	}
	mine, err := divide(who, "output features", what, g.Size())
	if err != nil {
		return nil, err
	}
	columns := lists.Count(g.Rank()*mine, mine)
	if o.Gated {
		if parts := len(firstRowBoxes(r, o.weight(), mine)); mine%parts != 0 {
			return nil, fmt.Errorf("%s: %d gated features of a rank do not divide by the %d parts that cubes and PEs have of them: choose a multiple, or another placement of the weight", who, mine, parts)
		}
		columns = gatedColumns(r, o.weight(), g.Rank()*mine, mine, out)
	}
	l, err := newLinear(r, g, who, o, in, [][]int{columns}, columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	l.in, l.out = in, out
	return &ColumnParallelLinear{l}, nil
}

// Forward returns x·weight + bias, a new tensor y. The tensor has the rank's columns of the
// result, or all columns with GatherOutput. With SequenceParallel x has only the rank's
// rows, and y has the rows of all ranks. The second result is the bias with SkipBiasAdd,
// and nil otherwise.
func (l *ColumnParallelLinear) Forward(x *torch.Tensor) (y, bias *torch.Tensor, err error) {
	if err := l.check(x, l.in); err != nil {
		return nil, nil, err
	}
	in, err := l.gatherRows(x)
	if err != nil {
		return l.forwardResult(nil, err)
	}
	if y, err = l.newTensor(l.resultShape(x), l.o.output()); err == nil {
		p := product{x: in.blocks().factor(), w: stack(l.Weight).blocks().factor(), bias: l.biasToAdd(), y: stack{y}.blocks()}
		err = p.launch(l.rank, l.Name, l.o.weight())
	}
	err = errors.Join(err, in.freeExcept(x))
	if err == nil && l.o.GatherOutput && l.group.Size() > 1 {
		part := y
		y, err = GatherFromTensorModelParallelRegion.Forward(l.rank, part)
		err = errors.Join(err, part.Free())
	}
	return l.forwardResult(y, err)
}

// resultShape returns the shape of the rank's part of the result of Forward for an input x.
func (l *ColumnParallelLinear) resultShape(x *torch.Tensor) torch.Shape {
	shape := resize(x.Shape(), x.Shape()[0], l.OutFeaturesPerPartition())
	if l.o.SequenceParallel {
		shape[0] *= l.group.Size()
	}
	return shape
}
