package tp

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/torch"
)

// Linear is what both kinds of linear layers are: y = x·weight + bias.
type Linear struct {
	Name string
	// Weight is the rank's part of the weight, in × out: one tensor, or with Overlap one
	// for each piece, whose columns are those of the piece.
	Weight []*torch.Tensor
	Bias   *torch.Tensor // of the columns of Weight; nil if there is none

	ctx     *torch.Context
	group   *torch.Group
	o       Options
	in, out int     // of the whole layer
	row     int     // of the whole weight where the rank's part begins
	columns [][]int // of the whole weight, for each tensor: -1 is none, and zero
	biased  []int   // columns that Bias has
}

// newLinear makes the tensors of a rank's part of a layer: so many rows of the weight,
// for each tensor these columns, and these of the bias.
func newLinear(ctx *torch.Context, name string, o Options, in int, columns [][]int, biased []int) (l Linear, err error) {
	l = Linear{Name: name, ctx: ctx, group: of(ctx, name).tensor, o: o, columns: columns, biased: biased}
	if err := o.check(); err != nil {
		return l, err
	}
	for _, list := range columns {
		w, err := ctx.Zeros(o.dtype(), torch.Shape{in, len(list)}, o.weight())
		if err != nil {
			return l, errors.Join(err, l.Free())
		}
		l.Weight = append(l.Weight, w)
	}
	if o.Bias {
		w := o.weight()
		// Every PE of a cube needs the bias of the cube's columns.
		if l.Bias, err = ctx.Zeros(o.dtype(), torch.Shape{len(biased)}, torch.DPPolicy{Cube: torch.ColumnWise, NumCubes: w.NumCubes}); err != nil {
			return l, errors.Join(err, l.Free())
		}
	}
	return l, nil
}

// Load copies a rank's part of the whole weight, in × out in row-major order, and of the
// whole bias, nil if the layer has none, to the device.
func (l *Linear) Load(weight, bias []float32) error {
	if len(weight) != l.in*l.out {
		return fmt.Errorf("%s: a weight of %d elements, and the layer has %d × %d", l.Name, len(weight), l.in, l.out)
	}
	if l.Bias == nil && bias != nil || l.Bias != nil && len(bias) != l.out {
		return fmt.Errorf("%s: a bias of %d elements, and the layer has %d outputs, with a bias: %t", l.Name, len(bias), l.out, l.Bias != nil)
	}
	for i, w := range l.Weight {
		rows, cols := w.Shape()[0], len(l.columns[i])
		part := make([]float32, rows*cols)
		for row := range rows {
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
	part := make([]float32, len(l.biased))
	for i, col := range l.biased {
		part[i] = bias[col]
	}
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
func (l *Linear) InFeaturesPerPartition() int { return l.Weight[0].Shape()[0] }

// OutFeaturesPerPartition returns the number of columns of the rank's part of the weight:
// out/tp of a ColumnParallelLinear, which Megatron calls output_size_per_partition, and
// all of them of a RowParallelLinear.
func (l *Linear) OutFeaturesPerPartition() int { return len(l.biased) }

// Free gives the memory of the layer back.
func (l *Linear) Free() error {
	err := stack(l.Weight).free()
	if l.Bias != nil {
		err = errors.Join(err, l.Bias.Free())
	}
	return err
}

// state is the groups of the calling rank, which have to be those that the layer was made
// for.
func (l *Linear) state() *state { return sameGroups(l.ctx, l.Name, l.group) }

// check looks at an input, which has to have so many columns.
func (l *Linear) check(x *torch.Tensor, cols int) error {
	shape := x.Shape()
	if len(shape) != 2 || shape[1] != cols || x.DType() != l.o.dtype() {
		return fmt.Errorf("%s: input %v %v: want [tokens %d] %v", l.Name, x.DType(), shape, cols, l.o.dtype())
	}
	return nil
}

// skipped is the bias that Forward has not added.
func (l *Linear) skipped() *torch.Tensor {
	if l.o.SkipBiasAdd {
		return l.Bias
	}
	return nil
}

// added is the bias that Forward adds.
func (l *Linear) added() *torch.Tensor {
	if l.o.SkipBiasAdd {
		return nil
	}
	return l.Bias
}

// count is n numbers from one on.
func count(first, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = first + i
	}
	return list
}

// empties makes tensors of a shape.
func (l *Linear) empties(n int, shape torch.Shape, on torch.DPPolicy) (list stack, err error) {
	for range n {
		x, err := l.ctx.Empty(l.o.dtype(), shape, on)
		if err != nil {
			return nil, errors.Join(err, list.free())
		}
		list = append(list, x)
	}
	return list, nil
}

// free frees all of them.
func (s stack) free() (err error) {
	for _, x := range s {
		err = errors.Join(err, x.Free())
	}
	return err
}
