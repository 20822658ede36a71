package tp

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/torch"
)

// ColumnParallelLinear is a linear layer whose weight is cut by columns: each rank of the
// tensor parallel group makes its own columns of the result.
type ColumnParallelLinear struct{ linear }

// NewColumnParallelLinear makes the calling rank's part of a layer from in to out
// features, all zero: in × out/tp of the weight, out/tp of the bias.
func NewColumnParallelLinear(ctx *torch.Context, name string, in, out int, o Options) (*ColumnParallelLinear, error) {
	who := "ColumnParallelLinear " + name
	s := of(ctx, who)
	switch {
	case o.GatherOutput && o.SequenceParallel:
		return nil, fmt.Errorf("%s: GatherOutput with SequenceParallel: outside of the layers ranks have rows, not all columns: choose one", who)
	case o.GatherOutput && o.Gated:
		return nil, fmt.Errorf("%s: GatherOutput with Gated: the columns of the result are not in their order: choose one", who)
	case o.InputIsParallel || o.Overlap > 1:
		return nil, fmt.Errorf("%s: InputIsParallel and Overlap are for a RowParallelLinear", who)
	}
	what := out
	if o.Gated {
		what = out / 2
	}
	mine, err := divide(who, "output features", what, s.tensorSize())
	if err != nil {
		return nil, err
	}
	columns := count(s.tensorRank()*mine, mine)
	if o.Gated {
		if err := evenly(ctx, mine, o.weight()); err != nil {
			return nil, fmt.Errorf("%s: %w", who, err)
		}
		columns = gated(ctx, o.weight(), s.tensorRank()*mine, mine, out)
	}
	l, err := newLinear(ctx, who, o, in, [][]int{columns}, columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	l.in, l.out = in, out
	return &ColumnParallelLinear{l}, nil
}

// Forward is x·weight + bias: new tensors of all rows of x, and of the rank's columns or
// all of them. With SequenceParallel x is the rank's rows. The second result is the bias
// with SkipBiasAdd, and nil otherwise.
func (l *ColumnParallelLinear) Forward(x *torch.Tensor) (y, bias *torch.Tensor, err error) {
	s := of(l.ctx, l.Name)
	if err := l.check(x, l.in); err != nil {
		return nil, nil, err
	}
	in := stack{x}
	rows := x.Shape()[0]
	if l.o.SequenceParallel && s.tensorSize() > 1 {
		if in, err = l.empties(s.tensorSize(), x.Shape(), Spread); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		rows *= s.tensorSize()
		if err := l.ctx.Distributed().AllGather(in, x, s.tensor); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", l.Name, err)
		}
	}
	if y, err = l.ctx.Empty(l.o.dtype(), torch.Shape{rows, l.Weight[0].Shape()[1]}, l.o.output()); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	p := product{x: in, w: l.Weight[0], bias: l.added(), y: stack{y}}
	err = p.launch(l.ctx, l.Name, l.o.weight())
	if l.o.SequenceParallel && s.tensorSize() > 1 {
		err = errors.Join(err, in.free())
	}
	if err == nil && l.o.GatherOutput && s.tensorSize() > 1 {
		part := y
		if y, err = GatherFromTensorModelParallelRegion.Forward(l.ctx, part); err == nil {
			err = part.Free()
		}
	}
	return y, l.skipped(), err
}
