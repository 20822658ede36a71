package tp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/torch"
)

// Backward returns the gradient of x, given the input x of Forward and the gradient dy of
// Forward's result. It adds the gradients of the weight and the bias to WeightGrad and
// BiasGrad. The returned tensor is new. It has the shape of x and the placement that
// Activations returns for the placement of the weight.
//
// The gradient of x is dy·weightᵀ, summed over the ranks of the tensor parallel group. With
// SequenceParallel it is the rank's rows of this sum. With GatherOutput dy has the columns
// of all ranks, and the rank uses its own columns.
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
	in, err := l.gatherRows(x)
	if err != nil {
		return wrapResult(l.Name, nil, err)
	}
	grad := columnsOf(dy, first, mine)
	dx, err = l.reduceAddends(x.Shape(), l.o.grid(), l.o.SequenceParallel, func(addend stack) error { return l.inputGradient(grad, addend) })
	if err == nil {
		err = l.accumulate(in.blocks(), grad)
	}
	return wrapResult(l.Name, dx, errors.Join(err, in.freeExcept(x)))
}

// Backward returns the gradient of x, given the input x of Forward and the gradient dy of
// Forward's result. It adds the gradients of the weight and the bias to WeightGrad and
// BiasGrad. The returned tensor is new. It has the shape of x and the placement that
// Activations returns for the placement of the weight.
//
// The gradient of x is dy·weightᵀ. With InputIsParallel, the returned tensor has only the
// rank's columns of this product, and otherwise the columns of all ranks. With
// SequenceParallel dy has only the rank's rows, and the ranks gather all rows first. The
// gradient of the bias is then the sum over the rows of all ranks. (In Megatron each rank
// sums its own rows, and the sums are all-reduced at the end of the step.)
func (l *RowParallelLinear) Backward(x, dy *torch.Tensor) (dx *torch.Tensor, err error) {
	whole, want, err := l.inspectInput(x)
	if err != nil {
		return nil, err
	}
	mine, first := l.InFeaturesPerPartition(), 0
	if whole {
		first = l.firstRow
	}
	if err := l.checkGradient(dy, want); err != nil {
		return nil, err
	}
	grad, err := l.gatherRows(dy)
	if err != nil {
		return wrapResult(l.Name, nil, err)
	}
	dx, err = l.newTensor(resize(x.Shape(), x.Shape()[0], mine), l.o.grid())
	if err == nil {
		err = l.inputGradient(grad.blocks(), stack{dx})
	}
	if err == nil && whole {
		part := dx
		p := &exchange{r: l.rank, who: l.Name + " features", group: l.group, on: l.o.grid()}
		dx, err = p.run(gather(features), part)
		err = errors.Join(err, part.Free())
	}
	if err == nil {
		err = l.accumulate(columnsOf(x, first, mine), grad.blocks())
	}
	return wrapResult(l.Name, dx, errors.Join(err, grad.freeExcept(dy)))
}

// ZeroGrad frees the gradients. WeightGrad and BiasGrad are then nil until the next
// Backward, as grad of PyTorch is None after zero_grad.
func (l *Linear) ZeroGrad() error {
	list := slices.Concat(l.WeightGrad, nonNil(l.BiasGrad))
	l.WeightGrad, l.BiasGrad = nil, nil
	return stack(list).free()
}

// checkGradient returns an error unless dy has the shape `want` and the dtype of the
// layer's result.
func (l *Linear) checkGradient(dy *torch.Tensor, want torch.Shape) error {
	if !slices.Equal(dy.Shape(), want) || dy.DType() != l.o.dtype() {
		return fmt.Errorf("%s: gradient %v %v: want that of the result, %v %v", l.Name, dy.DType(), dy.Shape(), want, l.o.dtype())
	}
	return nil
}

// inputGradient computes dy·weightᵀ and stores it in the tensors of `to`.
func (l *Linear) inputGradient(dy blockMatrix, to stack) error {
	weight, copied, err := l.localWeight()
	if err != nil {
		return err
	}
	err = l.multiply(l.Name+" input gradient", product{x: dy.factor(), w: weight.transpose()}, to)
	return errors.Join(err, copied.free())
}

// localWeight returns the weight as inputGradient reads it, for a product with the
// transpose of the weight. copied holds tensors that localWeight created for this; the
// caller frees them.
//
// A copy is made if cubes compute columns of the product and the PEs of a cube compute
// rows. Then all PEs of a cube read the same rows of the weight, which are spread over all
// cubes, so localWeight copies these rows to the cube.
func (l *Linear) localWeight() (weight blockMatrix, copied stack, err error) {
	weight = l.joinColumns(l.Weight)
	on := l.o.grid()
	if on.Cube != torch.ColumnWise || on.PE != torch.RowWise {
		return weight, nil, nil
	}
	on.Cube, on.PE = torch.RowWise, torch.ColumnWise
	near, err := l.newTensor(torch.Shape{l.rows, len(l.biasColumns)}, on)
	if err != nil {
		return nil, nil, err
	}
	if near, err = freeOnError(near, copyMatrix(l.rank, l.Name+" weight", weight, stack{near}.blocks())); err != nil {
		return nil, nil, err
	}
	return stack{near}.blocks(), stack{near}, nil
}

// accumulate adds xᵀ·dy to WeightGrad and the column sums of dy to BiasGrad. It creates
// these tensors if they are nil.
func (l *Linear) accumulate(x, dy blockMatrix) (err error) {
	add := l.WeightGrad != nil
	columns := l.o.weight() // divides the only row of the bias over all PEs
	columns.Cube, columns.PE = torch.ColumnWise, torch.ColumnWise
	if !add {
		if l.WeightGrad, l.BiasGrad, err = l.newParameters(l.o.gradDType(), l.o.grid(), columns); err != nil {
			return err
		}
	}
	p := product{x: x.transpose(), w: dy.factor(), y: l.joinColumns(l.WeightGrad), addToY: add}
	err = p.launch(l.rank, l.Name+" weight gradient", l.o.weight())
	if l.Bias != nil && err == nil {
		p := product{w: dy.factor(), y: blockMatrix{{corner{l.BiasGrad, 0, 0}, 0, 0, 1, len(l.biasColumns)}}, addToY: add}
		err = p.launch(l.rank, l.Name+" bias gradient", columns)
	}
	if err != nil && !add {
		err = errors.Join(err, l.ZeroGrad())
	}
	return err
}

// joinColumns returns a matrix that consists of the columns of the tensors in `list`, in
// the order of the result's columns. `list` is the weight or its gradient. With Overlap
// each tensor has a part of the columns.
func (l *Linear) joinColumns(list []*torch.Tensor) (m blockMatrix) {
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
