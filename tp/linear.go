package tp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// Linear is what both kinds of linear layers are: y = x·weight + bias.
type Linear struct {
	Name string
	// Weight is the rank's part of the weight, in × out: one tensor, or with Overlap one
	// for each piece, whose columns are those of the piece.
	Weight []*torch.Tensor
	Bias   *torch.Tensor // of the columns of Weight; nil if there is none

	// WeightGrad and BiasGrad are the sums of the gradients that Backward has computed since
	// the layer was made, or since ZeroGrad: of the shapes of Weight and Bias, and of
	// Options.GradDType. There is one copy of them, whatever the layout of Weight: PEs that
	// share columns of it have rows of its gradient. They are nil before the first Backward,
	// and the layer's to free.
	WeightGrad []*torch.Tensor
	BiasGrad   *torch.Tensor

	rank    *torch.Rank
	group   *dist.Group
	o       Options
	in, out int     // of the whole layer
	row     int     // of the whole weight where the rank's part begins
	rows    int     // of the rank's part
	columns [][]int // of the whole weight, for each tensor: -1 is none, and zero
	biased  []int   // columns that Bias has
}

// newLinear makes the tensors of a rank's part of a layer: so many rows of the weight,
// for each tensor these columns, and these of the bias.
func newLinear(r *torch.Rank, g *dist.Group, name string, o Options, rows int, columns [][]int, biased []int) (l Linear, err error) {
	l = Linear{Name: name, rank: r, group: g, o: o, rows: rows, columns: columns, biased: biased}
	if err := o.check(); err != nil {
		return l, err
	}
	// Every PE of a cube needs the bias of the cube's columns.
	l.Weight, l.Bias, err = l.parameters(o.dtype(), o.weight(), torch.DPPolicy{Cube: torch.ColumnWise, NumCubes: o.weight().NumCubes})
	return l, err
}

// parameters makes tensors of zeros of the shapes of the weight and the bias, of which
// there is none without Bias.
func (l *Linear) parameters(dtype torch.DType, onWeight, onBias torch.DPPolicy) (weight []*torch.Tensor, bias *torch.Tensor, err error) {
	weight, err = newStack(len(l.columns), func(i int) (*torch.Tensor, error) {
		return l.rank.Zeros(dtype, torch.Shape{l.rows, len(l.columns[i])}, onWeight)
	})
	if err != nil || !l.o.Bias {
		return weight, nil, err
	}
	if bias, err = l.rank.Zeros(dtype, torch.Shape{len(l.biased)}, onBias); err != nil {
		return nil, nil, errors.Join(err, stack(weight).free())
	}
	return weight, bias, nil
}

// Load copies a rank's part of the whole weight, in × out in row-major order, and of the
// whole bias, nil if the layer has none, to the device.
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
					part[row*cols+j] = weight[(l.row+row)*l.out+col]
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
	part := lists.Map(l.biased, func(col int) float32 { return bias[col] })
	return l.Bias.CopyFrom(part)
}

// InFeatures returns the number of input features of the whole layer: Megatron's
// input_size.
func (l *Linear) InFeatures() int { return l.in }

// OutFeatures returns the number of output features of the whole layer: Megatron's
// output_size.
func (l *Linear) OutFeatures() int { return l.out }

// InFeaturesPerPartition returns the number of rows of the rank's part of the weight:
// in/tp of a RowParallelLinear, which Megatron calls input_size_per_partition, and all of
// them of a ColumnParallelLinear.
func (l *Linear) InFeaturesPerPartition() int { return l.rows }

// OutFeaturesPerPartition returns the number of columns of the rank's part of the weight:
// out/tp of a ColumnParallelLinear, which Megatron calls output_size_per_partition, and
// all of them of a RowParallelLinear.
func (l *Linear) OutFeaturesPerPartition() int { return len(l.biased) }

// Free gives the memory of the layer and of its gradients back.
func (l *Linear) Free() error {
	return errors.Join(stack(l.Weight).free(), l.ZeroGrad(), present(l.Bias).free())
}

// check refuses an input that does not have so many columns, and panics if the layer was made
// for other groups.
func (l *Linear) check(x *torch.Tensor, cols int) error {
	sameGroup(l.Name, l.rank, l.group)
	shape := x.Shape()
	if len(shape) < 2 || shape[len(shape)-1] != cols || x.DType() != l.o.dtype() {
		return fmt.Errorf("%s: input %v %v: want [tokens %d] or [s b %[4]d], %[5]v", l.Name, x.DType(), shape, cols, l.o.dtype())
	}
	return nil
}

// forwarded returns the results of Forward: y and the bias that y is without, or what went
// wrong.
func (l *Linear) forwarded(y *torch.Tensor, err error) (_, bias *torch.Tensor, _ error) {
	if y, err = result(l.Name, y, err); err == nil && l.o.SkipBiasAdd {
		bias = l.Bias
	}
	return y, bias, err
}

// added returns the bias that Forward adds.
func (l *Linear) added() *torch.Tensor {
	if l.o.SkipBiasAdd {
		return nil
	}
	return l.Bias
}

// empty makes a tensor of the layer's dtype.
func (l *Linear) empty(shape torch.Shape, on torch.DPPolicy) (*torch.Tensor, error) {
	return l.rank.Empty(l.o.dtype(), shape, on)
}

// gathered returns x, or with SequenceParallel the rows of all ranks, each laid out as those
// of the rank. Where cubes have tokens of their own, they then move to the cubes that work
// on them: all PEs of a cube read them.
func (l *Linear) gathered(x *torch.Tensor) (stack, error) {
	if !l.o.SequenceParallel || l.group.Size() == 1 {
		return stack{x}, nil
	}
	all, err := gatheredRows(l.rank, l.group, x)
	grid := l.o.grid()
	if err != nil || grid.Cube != torch.RowWise {
		return all, err
	}
	whole, err := l.empty(all.shape(), grid)
	if err == nil {
		err = copyMatrix(l.rank, l.Name+" tokens", all.blocks(), stack{whole}.blocks())
	}
	whole, err = orFree(whole, errors.Join(err, all.free()))
	return stack{whole}, err
}

// sum returns the sum of the ranks' addends of a shape, or with scatter the rank's rows of
// it. In which order an all-reduce adds may depend on where an element lies. Where a tensor
// of three axes lies otherwise than the matrix of its rows, that matrix is reduced, and
// copied: the bits are the same whatever the number of axes.
func (l *Linear) sum(shape torch.Shape, on torch.DPPolicy, scatter bool, fill func(addend stack) error) (*torch.Tensor, error) {
	y, err := l.empty(shape, on)
	if err != nil {
		return nil, err
	}
	rows := torch.Shape{rowsOf(y), colsOf(y)}
	if scatter || l.group.Size() == 1 || slices.Equal(layout(l.rank, shape, on), layout(l.rank, rows, on)) {
		return orFree(y, addUp(l.rank, l.group, y, scatter, fill))
	}
	matrix, err := l.empty(rows, on)
	if err != nil {
		return orFree(y, err)
	}
	if err = addUp(l.rank, l.group, matrix, false, fill); err == nil {
		err = copyMatrix(l.rank, l.Name+" rows", stack{matrix}.blocks(), stack{y}.blocks())
	}
	return orFree(y, errors.Join(err, matrix.Free()))
}

// multiply runs a product into a rank's addend. Where cubes have tokens of their own, those
// of a rank are a few of many cubes: a product that was cut so would be one of few rows at
// a time.
func (l *Linear) multiply(name string, p product, addend stack) error {
	grid := l.o.grid()
	if len(addend) == 1 || grid.Cube != torch.RowWise {
		p.y = addend.blocks()
		return p.launch(l.rank, name, l.o.weight())
	}
	whole, err := l.empty(addend.shape(), grid)
	if err != nil {
		return err
	}
	p.y = stack{whole}.blocks()
	if err = p.launch(l.rank, name, l.o.weight()); err == nil {
		err = copyMatrix(l.rank, l.Name+" tokens", p.y, addend.blocks())
	}
	return errors.Join(err, whole.Free())
}
