package tp

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/torch"
)

// ColumnParallelLinear is a linear layer whose weight is cut by columns: each rank of the
// tensor parallel group makes its own columns of the result.
type ColumnParallelLinear struct{ Linear }

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
	s := l.state()
	if err := l.check(x, l.in); err != nil {
		return nil, nil, err
	}
	in := stack{x}
	if l.o.SequenceParallel && s.tensorSize() > 1 {
		if in, err = l.gathered(s, x); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", l.Name, err)
		}
	}
	y, err = l.times(in)
	if in[0] != x {
		err = errors.Join(err, in.free())
	}
	if err == nil && l.o.GatherOutput && s.tensorSize() > 1 {
		part := y
		y, err = GatherFromTensorModelParallelRegion.Forward(l.ctx, part)
		err = errors.Join(err, part.Free())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	return y, l.skipped(), nil
}

// gathered is the rows of all ranks, each laid out as those of the rank. Where cubes have
// tokens of their own, they then move to the cubes that work on them: all PEs of a cube
// read them.
func (l *ColumnParallelLinear) gathered(s *state, x *torch.Tensor) (stack, error) {
	all, err := alike(l.ctx, x, s.tensorSize())
	if err != nil {
		return nil, err
	}
	if err := l.ctx.Distributed().AllGather(all, x, s.tensor); err != nil {
		return nil, errors.Join(err, all.free())
	}
	grid := gridOf(l.o.weight())
	if grid.Cube != torch.RowWise {
		return all, nil
	}
	whole, err := l.ctx.Empty(l.o.dtype(), torch.Shape{all.rows(), all.cols()}, grid)
	if err != nil {
		return nil, errors.Join(err, all.free())
	}
	if err := errors.Join(copyBoxes(l.ctx, l.Name+" tokens", all.restack(stack{whole})), all.free()); err != nil {
		return nil, errors.Join(err, whole.Free())
	}
	return stack{whole}, nil
}

// times is x·weight + bias, of the rank's columns.
func (l *ColumnParallelLinear) times(x stack) (*torch.Tensor, error) {
	y, err := l.ctx.Empty(l.o.dtype(), torch.Shape{x.rows(), l.Weight[0].Shape()[1]}, l.o.output())
	if err != nil {
		return nil, err
	}
	p := product{x: x, w: l.Weight[0], bias: l.added(), y: stack{y}}
	if err := p.launch(l.ctx, l.Name, l.o.weight()); err != nil {
		return nil, errors.Join(err, y.Free())
	}
	return y, nil
}
