package tp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// Linear is the common part of both linear layers: y = x·weight + bias.
type Linear struct {
	Name string
	// Weight is the rank's part of the weight, in × out: one tensor or, with Overlap, one
	// tensor for the columns of each piece.
	Weight []*torch.Tensor
	Bias   *torch.Tensor // bias of the columns of Weight; nil without Options.Bias

	// WeightGrad and BiasGrad are the sums of the gradients that Backward has computed
	// since the layer was created or since ZeroGrad. They have the shapes of Weight and
	// Bias and the dtype Options.GradDType. There is only one copy: PEs with the
	// same columns of Weight hold different rows of WeightGrad. Both are nil before the
	// first Backward. The layer frees them.
	WeightGrad []*torch.Tensor
	BiasGrad   *torch.Tensor

	rank        *torch.Rank
	group       *dist.Group
	o           Options
	in, out     int     // features of the whole layer
	firstRow    int     // first row of the rank's part in the whole weight
	rows        int     // rows of the rank's part
	columns     [][]int // for each tensor, columns of the whole weight; -1 is a column of zeros
	biasColumns []int   // columns of the whole bias that Bias has
}

// newLinear creates the tensors of a rank's part of a layer. `columns` lists, for each
// tensor of the weight, which columns of the whole weight the tensor has. All tensors have
// the given number of rows. The bias has the columns biasColumns of the whole bias.
func newLinear(r *torch.Rank, g *dist.Group, name string, o Options, rows int, columns [][]int, biasColumns []int) (l Linear, err error) {
	l = Linear{Name: name, rank: r, group: g, o: o, rows: rows, columns: columns, biasColumns: biasColumns}
	if err := o.check(); err != nil {
		return l, err
	}
	// Every PE of a cube needs the bias of the cube's columns.
	l.Weight, l.Bias, err = l.newParameters(o.dtype(), o.weight(), torch.DPPolicy{Cube: torch.ColumnWise, NumCubes: o.weight().NumCubes})
	return l, err
}

// newParameters creates tensors of zeros with the shapes of the weight and the bias, and
// with the given dtype and placements. bias is nil without Options.Bias.
func (l *Linear) newParameters(dtype torch.DType, onWeight, onBias torch.DPPolicy) (weight []*torch.Tensor, bias *torch.Tensor, err error) {
	weight, err = newStack(len(l.columns), func(i int) (*torch.Tensor, error) {
		return l.rank.Zeros(dtype, torch.Shape{l.rows, len(l.columns[i])}, onWeight)
	})
	if err != nil || !l.o.Bias {
		return weight, nil, err
	}
	if bias, err = l.rank.Zeros(dtype, torch.Shape{len(l.biasColumns)}, onBias); err != nil {
		return nil, nil, errors.Join(err, stack(weight).free())
	}
	return weight, bias, nil
}

// Load copies the rank's part of the whole weight and of the whole bias to the device.
// weight has a row for each input feature and a column for each output feature, in
// row-major order. bias is nil if the layer has none.
func (l *Linear) Load(weight, bias []float32) error {
	if len(weight) != l.in*l.out {
		return fmt.Errorf("%s: a weight of %d elements, and the layer has %d × %d", l.Name, len(weight), l.in, l.out)
	}
	if l.Bias == nil && bias != nil {
		return fmt.Errorf("%s: a bias of %d elements, and Options.Bias is false: set it to true, or give nil", l.Name, len(bias))
	}
	if l.Bias != nil && len(bias) != l.out {
		return fmt.Errorf("%s: a bias of %d elements, and the layer has %d outputs, with Options.Bias: give all of them", l.Name, len(bias), l.out)
	}
	for i, w := range l.Weight {
		cols := len(l.columns[i])
		part := make([]float32, l.rows*cols)
		for row := range l.rows {
			for j, col := range l.columns[i] {
				if col >= 0 {
					part[row*cols+j] = weight[(l.firstRow+row)*l.out+col]
				}
			}
		}
		if err := w.CopyFrom(part); err != nil {
			return err
		}
	}
	if l.Bias == nil {
		return nil
	}
	part := lists.Map(l.biasColumns, func(col int) float32 { return bias[col] })
	return l.Bias.CopyFrom(part)
}

// InFeatures returns the number of input features of the whole layer: Megatron's
// input_size.
func (l *Linear) InFeatures() int { return l.in }

// OutFeatures returns the number of output features of the whole layer: Megatron's
// output_size.
func (l *Linear) OutFeatures() int { return l.out }

// InFeaturesPerPartition returns the number of rows of the rank's part of the weight. For a
// RowParallelLinear this is InFeatures divided by the size of the tensor parallel group,
// which Megatron calls input_size_per_partition. For a ColumnParallelLinear it is
// InFeatures.
func (l *Linear) InFeaturesPerPartition() int { return l.rows }

// OutFeaturesPerPartition returns the number of columns of the rank's part of the weight.
// For a ColumnParallelLinear this is OutFeatures divided by the size of the tensor parallel
// group, which Megatron calls output_size_per_partition. For a RowParallelLinear it is
// OutFeatures.
func (l *Linear) OutFeaturesPerPartition() int { return len(l.biasColumns) }

// Free frees the tensors of the layer and its gradients.
func (l *Linear) Free() error {
	return errors.Join(stack(l.Weight).free(), l.ZeroGrad(), nonNil(l.Bias).free())
}

// check returns an error unless x has the given number of columns and the dtype of the
// layer. It panics if InitializeModelParallel has created different groups since the layer
// was created.
func (l *Linear) check(x *torch.Tensor, cols int) error {
	requireSameGroup(l.Name, l.rank, l.group)
	shape := x.Shape()
	if len(shape) < 2 || shape[len(shape)-1] != cols || x.DType() != l.o.dtype() {
		return fmt.Errorf("%s: input %v %v: want [tokens %d] or [s b %[4]d], %[5]v", l.Name, x.DType(), shape, cols, l.o.dtype())
	}
	return nil
}

// forwardResult returns the three results of Forward: y, the bias if Forward did not add
// it, and nil. If err is not nil, it frees y and returns err with the name of the layer in
// front.
func (l *Linear) forwardResult(y *torch.Tensor, err error) (_, bias *torch.Tensor, _ error) {
	if y, err = wrapResult(l.Name, y, err); err == nil && l.o.SkipBiasAdd {
		bias = l.Bias
	}
	return y, bias, err
}

// biasToAdd returns the bias if Forward adds it, and nil otherwise.
func (l *Linear) biasToAdd() *torch.Tensor {
	if l.o.SkipBiasAdd {
		return nil
	}
	return l.Bias
}

// newTensor creates an uninitialized tensor with the dtype of the layer.
func (l *Linear) newTensor(shape torch.Shape, on torch.DPPolicy) (*torch.Tensor, error) {
	return l.rank.Empty(l.o.dtype(), shape, on)
}

// gatherRows returns the input rows of all ranks. Without SequenceParallel, or in a group
// of one rank, that is x itself. Otherwise it is a list with one tensor for each rank, each
// with the placement of x. All PEs of a cube read the rows of the tokens that the cube
// computes. If the cubes compute different tokens, gatherRows therefore copies the list to
// one tensor in which each cube has these rows.
func (l *Linear) gatherRows(x *torch.Tensor) (stack, error) {
	if !l.o.SequenceParallel || l.group.Size() == 1 {
		return stack{x}, nil
	}
	all, err := allGather(l.rank, l.group, x)
	grid := l.o.grid()
	if err != nil || grid.Cube != torch.RowWise {
		return all, err
	}
	whole, err := l.newTensor(all.shape(), grid)
	if err == nil {
		err = copyMatrix(l.rank, l.Name+" tokens", all.blocks(), stack{whole}.blocks())
	}
	whole, err = freeOnError(whole, errors.Join(err, all.free()))
	return stack{whole}, err
}

// reduceAddends calls `fill`, which computes the rank's addend, and returns the sum of the
// addends of all ranks. If `scatter` is set, it returns only the rank's rows of the sum.
//
// The order in which an all-reduce adds may depend on where an element is stored. A tensor
// with three axes may be divided into different shards than the matrix of its rows. In that
// case the matrix is reduced and then copied to the tensor. So the bits of the result do
// not depend on the number of axes.
func (l *Linear) reduceAddends(shape torch.Shape, on torch.DPPolicy, scatter bool, fill func(addend stack) error) (*torch.Tensor, error) {
	y, err := l.newTensor(shape, on)
	if err != nil {
		return nil, err
	}
	rows := torch.Shape{rowsOf(y), colsOf(y)}
	if scatter || l.group.Size() == 1 || slices.Equal(layoutBoxes(l.rank, shape, on), layoutBoxes(l.rank, rows, on)) {
		return freeOnError(y, fillAndReduce(l.rank, l.group, y, scatter, fill))
	}
	matrix, err := l.newTensor(rows, on)
	if err != nil {
		return freeOnError(y, err)
	}
	if err = fillAndReduce(l.rank, l.group, matrix, false, fill); err == nil {
		err = copyMatrix(l.rank, l.Name+" rows", stack{matrix}.blocks(), stack{y}.blocks())
	}
	return freeOnError(y, errors.Join(err, matrix.Free()))
}

// multiply computes product p and stores it in the rank's addend. The addend has one tensor
// for the rows of each rank, or one tensor for all rows. If the cubes compute different
// tokens, the tensor of one rank has only a few rows on each of many cubes, and a product
// divided like that would compute few rows at a time. In this case multiply computes all
// rows as one tensor and copies it to the addend.
func (l *Linear) multiply(name string, p product, addend stack) error {
	grid := l.o.grid()
	if len(addend) == 1 || grid.Cube != torch.RowWise {
		p.y = addend.blocks()
		return p.launch(l.rank, name, l.o.weight())
	}
	whole, err := l.newTensor(addend.shape(), grid)
	if err != nil {
		return err
	}
	p.y = stack{whole}.blocks()
	if err = p.launch(l.rank, name, l.o.weight()); err == nil {
		err = copyMatrix(l.rank, l.Name+" tokens", p.y, addend.blocks())
	}
	return errors.Join(err, whole.Free())
}
