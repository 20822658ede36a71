package tp

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// RowParallelLinear is a linear layer whose weight is divided by rows: each rank of the
// tensor parallel group computes an addend of the result, and the ranks reduce the addends.
type RowParallelLinear struct{ Linear }

// NewRowParallelLinear creates the calling rank's part of a layer with `in` input features
// and `out` output features. In a tensor parallel group of tp ranks, the part has in/tp ×
// out elements of the weight and, with Options.Bias, the whole bias. All elements are zero.
func NewRowParallelLinear(r *torch.Rank, name string, in, out int, o Options) (*RowParallelLinear, error) {
	who := "RowParallelLinear " + name
	g := groupFor(who, r, Tensor)
	switch {
	case o.GatherOutput || o.Gated:
		return nil, fmt.Errorf("%s: GatherOutput and Gated are for a ColumnParallelLinear", who)
	case o.SequenceParallel && !o.InputIsParallel:
		return nil, fmt.Errorf("%s: SequenceParallel without InputIsParallel: the rows of the input are not the result's: set both", who)
	case out < 1:
		return nil, fmt.Errorf("%s: %d output features: there has to be one", who, out)
	case o.Overlap < 0 || o.Overlap > out:
		return nil, fmt.Errorf("%s: Overlap %d: the result has %d columns to cut into pieces", who, o.Overlap, out)
	}
	mine, err := divide(who, "input features", in, g.Size())
	if err != nil {
		return nil, err
	}
	columns := [][]int{lists.Count(0, out)}
	if o.Overlap > 1 && g.Size() > 1 {
		if list := pieceColumns(r, o, out); len(list) > 1 { // there is one piece if each PE has a single column
			columns = list
			does := ccl.AllReduce
			if o.SequenceParallel {
				does = ccl.ReduceScatter
			}
			if err := dist.CheckMaking(r, does, g); err != nil {
				return nil, fmt.Errorf("%s: Overlap: %w", who, err)
			}
		}
	}
	l, err := newLinear(r, g, who, o, mine, columns, lists.Count(0, out))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	l.in, l.out, l.firstRow = in, out, g.Rank()*mine
	return &RowParallelLinear{l}, nil
}

// Forward returns x·weight + bias as a new tensor. On each rank this is the whole result
// or, with SequenceParallel, the rank's rows of the result. x has all columns of the input
// or, with InputIsParallel, only the rank's columns. The second result is the bias with
// SkipBiasAdd, and nil otherwise.
func (l *RowParallelLinear) Forward(x *torch.Tensor) (y, bias *torch.Tensor, err error) {
	scatter, shape, err := l.inspectInput(x)
	if err != nil {
		return nil, nil, err
	}
	if scatter {
		if x, err = ScatterToTensorModelParallelRegion.Forward(l.rank, x); err != nil {
			return l.forwardResult(nil, err)
		}
	}
	y, err = l.multiplyAndReduce(x, shape)
	if scatter {
		err = errors.Join(err, x.Free())
	}
	return l.forwardResult(y, err)
}

// checkInput returns an error unless x has the given number of columns and the dtype of the
// layer. If x has the number of columns that the opposite value of InputIsParallel
// requires, the error names this option.
func (l *RowParallelLinear) checkInput(x *torch.Tensor, cols int) error {
	err := l.check(x, cols)
	shape, mine := x.Shape(), l.InFeaturesPerPartition()
	if err == nil || len(shape) < 2 || x.DType() != l.o.dtype() || mine == l.in {
		return err
	}
	switch last := shape[len(shape)-1]; {
	case last == mine:
		return fmt.Errorf("%s: input %v %v has the rank's %d of %d columns, and Options.InputIsParallel is false, which asks for all of them: set it to true, or give all columns", l.Name, x.DType(), shape, mine, l.in)
	case last == l.in && l.o.SequenceParallel:
		return fmt.Errorf("%s: input %v %v has all %d columns, and Options.InputIsParallel is true, which asks for the rank's %d: give these, since SequenceParallel needs InputIsParallel", l.Name, x.DType(), shape, l.in, mine)
	case last == l.in:
		return fmt.Errorf("%s: input %v %v has all %d columns, and Options.InputIsParallel is true, which asks for the rank's %d: set it to false, or give these", l.Name, x.DType(), shape, l.in, mine)
	}
	return err
}

// inspectInput checks the input x and returns the shape of the rank's part of the result.
// `whole` reports whether x has the columns of all ranks, so that the rank must take its
// own columns. In a group of one rank, `whole` is false.
func (l *RowParallelLinear) inspectInput(x *torch.Tensor) (whole bool, shape torch.Shape, err error) {
	cols := l.InFeaturesPerPartition()
	if whole = !l.o.InputIsParallel && l.group.Size() > 1; whole {
		cols = l.in
	}
	if err := l.checkInput(x, cols); err != nil {
		return whole, nil, err
	}
	shape = resize(x.Shape(), x.Shape()[0], l.out)
	if l.o.SequenceParallel {
		shape[0], err = divide(l.Name, "tokens", shape[0], l.group.Size())
	}
	return whole, shape, err
}

// multiplyAndReduce returns the sum of the products of all ranks, plus the bias unless
// SkipBiasAdd is set. With SequenceParallel it returns the rank's rows of the sum. shape is
// the shape of the returned tensor.
func (l *RowParallelLinear) multiplyAndReduce(x *torch.Tensor, shape torch.Shape) (*torch.Tensor, error) {
	if len(l.Weight) > 1 {
		y, err := l.newTensor(shape, l.o.output())
		if err != nil {
			return nil, err
		}
		return freeOnError(y, l.multiplyOverlapped(x, y))
	}
	y, err := l.reduceAddends(shape, l.o.output(), l.o.SequenceParallel, func(addend stack) error {
		return l.multiply(l.Name, product{x: stack{x}.blocks().factor(), w: stack(l.Weight).blocks().factor()}, addend)
	})
	if b := l.biasToAdd(); b != nil && err == nil {
		err = applyElementwise(l.rank, l.Name+" bias", y, addTiles, func(box) []operand { return []operand{{x: y}, {x: b, vector: true}} })
	}
	return freeOnError(y, err)
}
