package tp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/torch"
)

// Backward returns the gradient of x, given x and the gradient of what Forward made of it,
// and adds the gradients of the weight and the bias to WeightGrad and BiasGrad. The result
// is a new tensor of the shape of x, laid out as Activations says.
//
// The gradient of x is dy·weightᵀ, summed over the ranks of the tensor parallel group; with
// SequenceParallel it is the rank's rows of that sum. With GatherOutput dy has all columns,
// of which the rank uses its own.
func (l *ColumnParallelLinear) Backward(x, dy *torch.Tensor) (dx *torch.Tensor, err error) {
	mine := l.OutFeaturesPerPartition()
	if err := l.check(x, l.in); err != nil {
		return nil, err
	}
	want, first := l.resultShape(x), 0
	if l.o.GatherOutput {
		want[len(want)-1], first = l.out, l.group.Rank()*mine
	}
	if err := l.checkGradient(dy, want); err != nil {
		return nil, err
	}
	in, err := l.gathered(x)
	if err != nil {
		return result(l.Name, nil, err)
	}
	grad := columnsOf(dy, first, mine)
	dx, err = l.sum(x.Shape(), l.o.grid(), l.o.SequenceParallel, func(addend stack) error { return l.inputGradient(grad, addend) })
	if err == nil {
		err = l.accumulate(in.blocks(), grad)
	}
	return result(l.Name, dx, errors.Join(err, in.freeBut(x)))
}

// Backward returns the gradient of x, given x and the gradient of what Forward made of it,
// and adds the gradients of the weight and the bias to WeightGrad and BiasGrad. The result
// is a new tensor of the shape of x, laid out as Activations says.
//
// The gradient of x is dy·weightᵀ: the rank's columns of it with InputIsParallel, and
// otherwise those of all ranks. With SequenceParallel dy is the rank's rows, which the
// ranks gather first. The gradient of the bias is the sum over the rows of all ranks then:
// Megatron's ranks add up their own, and all-reduce the sums when the step ends.
func (l *RowParallelLinear) Backward(x, dy *torch.Tensor) (dx *torch.Tensor, err error) {
	whole, want, err := l.accept(x)
	if err != nil {
		return nil, err
	}
	mine, first := l.InFeaturesPerPartition(), 0
	if whole {
		first = l.row
	}
	if err := l.checkGradient(dy, want); err != nil {
		return nil, err
	}
	grad, err := l.gathered(dy)
	if err != nil {
		return result(l.Name, nil, err)
	}
	dx, err = l.empty(resized(x.Shape(), x.Shape()[0], mine), l.o.grid())
	if err == nil {
		err = l.inputGradient(grad.blocks(), stack{dx})
	}
	if err == nil && whole {
		part := dx
		p := &peers{r: l.rank, who: l.Name + " features", group: l.group, on: l.o.grid()}
		dx, err = p.run(gather(features), part)
		err = errors.Join(err, part.Free())
	}
	if err == nil {
		err = l.accumulate(columnsOf(x, first, mine), grad.blocks())
	}
	return result(l.Name, dx, errors.Join(err, grad.freeBut(dy)))
}

// ZeroGrad frees the gradients: WeightGrad and BiasGrad are nil until the next Backward,
// as PyTorch's grad is None after zero_grad.
func (l *Linear) ZeroGrad() error {
	list := slices.Concat(l.WeightGrad, present(l.BiasGrad))
	l.WeightGrad, l.BiasGrad = nil, nil
	return stack(list).free()
}

// checkGradient refuses a gradient of another shape than that of the result.
func (l *Linear) checkGradient(dy *torch.Tensor, want torch.Shape) error {
	if !slices.Equal(dy.Shape(), want) || dy.DType() != l.o.dtype() {
		return fmt.Errorf("%s: gradient %v %v: want that of the result, %v %v", l.Name, dy.DType(), dy.Shape(), want, l.o.dtype())
	}
	return nil
}

// inputGradient fills tensors with dy·weightᵀ.
func (l *Linear) inputGradient(dy blockMatrix, to stack) error {
	weight, copied, err := l.nearbyWeight()
	if err != nil {
		return err
	}
	err = l.multiply(l.Name+" input gradient", product{x: dy.factor(), w: weight.transpose()}, to)
	return errors.Join(err, copied.free())
}

// nearbyWeight returns the weight for a product with its transpose, and what of it is a copy.
// Where cubes make columns of that product and their PEs rows, all PEs of a cube read the
// same rows of the weight, which lie in all cubes: these rows are copied to the cube.
func (l *Linear) nearbyWeight() (weight blockMatrix, copied stack, err error) {
	weight = l.whole(l.Weight)
	on := l.o.grid()
	if on.Cube != torch.ColumnWise || on.PE != torch.RowWise {
		return weight, nil, nil
	}
	on.Cube, on.PE = torch.RowWise, torch.ColumnWise
	near, err := l.empty(torch.Shape{l.rows, len(l.biased)}, on)
	if err != nil {
		return nil, nil, err
	}
	if near, err = orFree(near, copyMatrix(l.rank, l.Name+" weight", weight, stack{near}.blocks())); err != nil {
		return nil, nil, err
	}
	return stack{near}.blocks(), stack{near}, nil
}

// accumulate adds xᵀ·dy to the gradient of the weight, and the sums of the columns of dy to
// that of the bias.
func (l *Linear) accumulate(x, dy blockMatrix) (err error) {
	add := l.WeightGrad != nil
	columns := l.o.weight() // of the one row of a bias all PEs have some
	columns.Cube, columns.PE = torch.ColumnWise, torch.ColumnWise
	if !add {
		if l.WeightGrad, l.BiasGrad, err = l.parameters(l.o.gradDType(), l.o.grid(), columns); err != nil {
			return err
		}
	}
	p := product{x: x.transpose(), w: dy.factor(), y: l.whole(l.WeightGrad), add: add}
	err = p.launch(l.rank, l.Name+" weight gradient", l.o.weight())
	if l.Bias != nil && err == nil {
		p := product{w: dy.factor(), y: blockMatrix{{corner{l.BiasGrad, 0, 0}, 0, 0, 1, len(l.biased)}}, add: add}
		err = p.launch(l.rank, l.Name+" bias gradient", columns)
	}
	if err != nil && !add {
		err = errors.Join(err, l.ZeroGrad())
	}
	return err
}

// whole returns the weight, or its gradient, as a matrix with the columns of the result:
// with Overlap each tensor has some of them.
func (l *Linear) whole(list []*torch.Tensor) (m blockMatrix) {
	if len(list) == 1 {
		return stack(list).blocks()
	}
	for i, x := range list {
		for j, col := range l.columns[i] {
			last := len(m) - 1
			switch {
			case col < 0:
			case j > 0 && l.columns[i][j-1] == col-1:
				m[last].cols++
			default:
				m = append(m, submatrix{corner{x, 0, j}, 0, col, rowsOf(x), 1})
			}
		}
	}
	return m
}
