package tp

import (
	"errors"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// Norm is the common part of both norms: it scales each row and multiplies it by a gain.
type Norm struct {
	Name   string
	Weight *torch.Tensor // gain of each column
	Bias   *torch.Tensor // bias of each column; nil if there is none

	rank        *torch.Rank
	o           Options
	hidden      int
	eps         float64
	squaresKind int // kind of the partials with squares: 0 for an RMSNorm, 1 for a LayerNorm (after sums)
}

// RMSNorm divides each row of a matrix by √(mean square + eps), and multiplies it by a
// gain.
type RMSNorm struct{ Norm }

// LayerNorm subtracts the mean from each row of a matrix, divides the row by
// √(mean square + eps), multiplies it by a gain and adds a bias.
type LayerNorm struct{ Norm }

// NewRMSNorm creates a norm for rows of `hidden` features, with a gain of 1. It uses the
// options DType and Output: each PE gets the gain of the columns that it holds in a matrix
// with the placement Output. SequenceParallel changes nothing: the norm is applied to the
// rows that it is given. Every rank has the whole gain, independent of groups.
func NewRMSNorm(r *torch.Rank, name string, hidden int, eps float64, o Options) (*RMSNorm, error) {
	n, err := newNorm(r, "RMSNorm "+name, hidden, eps, o)
	if err != nil {
		return nil, err
	}
	return &RMSNorm{n}, nil
}

// NewLayerNorm creates a LayerNorm with a gain of 1 and a bias of 0. The arguments are
// those of NewRMSNorm.
func NewLayerNorm(r *torch.Rank, name string, hidden int, eps float64, o Options) (*LayerNorm, error) {
	n, err := newNorm(r, "LayerNorm "+name, hidden, eps, o)
	if err != nil {
		return nil, err
	}
	if n.Bias, err = r.Zeros(o.dtype(), torch.Shape{hidden}, vectorPlacement(o.output())); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", n.Name, err), n.Weight.Free())
	}
	n.squaresKind = 1
	return &LayerNorm{n}, nil
}

// newNorm checks the arguments of NewRMSNorm and NewLayerNorm, and creates a norm with a
// gain of 1.
func newNorm(r *torch.Rank, name string, hidden int, eps float64, o Options) (n Norm, err error) {
	n = Norm{Name: name, rank: r, o: o, hidden: hidden, eps: eps}
	if err := o.checkNonLinear(); err != nil {
		return n, fmt.Errorf("%s: %w", name, err)
	}
	if o.GradDType != 0 {
		return n, fmt.Errorf("%s: option GradDType is for layers that have a Backward: leave it out", name)
	}
	if !(eps >= 0) || math.IsInf(eps, 0) {
		return n, fmt.Errorf("%s: eps of %v: want a number, 0 or more", name, eps)
	}
	if hidden < 1 {
		return n, fmt.Errorf("%s: %d hidden features: there has to be one", name, hidden)
	}
	if n.Weight, err = r.Full(1, o.dtype(), torch.Shape{hidden}, vectorPlacement(o.output())); err != nil {
		return n, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// vectorPlacement returns the placement of a vector that has an element for each column of
// a matrix. Each PE gets the elements of the columns that it holds in a matrix with the
// given placement.
func vectorPlacement(matrix torch.DPPolicy) torch.DPPolicy {
	return replaceSplit(matrix, torch.RowWise, torch.Replicate)
}

// Load copies the gain to the device.
func (n *RMSNorm) Load(gain []float32) error { return n.load(n.Weight, "gain", gain) }

// Load copies gain and bias to the device.
func (n *LayerNorm) Load(gain, bias []float32) error {
	if err := n.load(n.Weight, "gain", gain); err != nil {
		return err
	}
	return n.load(n.Bias, "bias", bias)
}

// load copies values to the tensor `to`, the gain or the bias. It returns an error unless
// there is one value per column. `what` is the name of the tensor in the error.
func (n *Norm) load(to *torch.Tensor, what string, values []float32) error {
	if len(values) != n.hidden {
		return fmt.Errorf("%s: a %s of %d elements, and rows have %d", n.Name, what, len(values), n.hidden)
	}
	return to.CopyFrom(values)
}

// Free frees the gain and the bias.
func (n *Norm) Free() error {
	return nonNil(n.Weight, n.Bias).free()
}

// Forward returns the norm of each row of x: a new tensor with the placement of x. It is
// computed in f32 and rounded once. A LayerNorm computes the mean square after it has
// subtracted the mean.
func (n *Norm) Forward(x *torch.Tensor) (*torch.Tensor, error) {
	if shape := x.Shape(); len(shape) < 2 || colsOf(x) != n.hidden || x.DType() != n.o.dtype() {
		return nil, fmt.Errorf("%s: input %v %v: want [tokens %d] or [s b %[4]d], %[5]v", n.Name, x.DType(), shape, n.hidden, n.o.dtype())
	}
	y, err := n.rank.EmptyLike(x)
	if err != nil || x.Numel() == 0 {
		return wrapResult(n.Name, y, err)
	}
	r := newRowwise(n.rank, n.Name, x)
	p, err := r.newPartials(n.squaresKind + 1)
	if err == nil {
		err = errors.Join(n.run(r, p, y), p.Free())
	}
	return wrapResult(n.Name, y, err)
}

// run computes the norm of the rows of r's matrix and stores it in y. p holds partial
// results of the rows. A LayerNorm first sums the elements of each row, then subtracts the
// mean from the row, and adds a bias at the end.
func (n *Norm) run(r *rowwise, p *partials, y *torch.Tensor) error {
	const sums = 0
	use, step := launchOperands{others: []*torch.Tensor{p.Tensor}}, "squares"
	add := func(b *band, kind int, f func(x tl.Tile) tl.Tile) {
		b.t.Store(b.ownPartials(p, kind), b.reduceRows(sumReduction, func(x tl.Tile) []tl.Tile { return []tl.Tile{f(x)} })[0])
	}
	same := func(x tl.Tile) tl.Tile { return x }
	centered := func(*band) func(x tl.Tile) tl.Tile { return same }
	vectors := []*torch.Tensor{n.Weight}
	if n.squaresKind > 0 {
		if err := r.launch("mean", use, func(b *band) { add(b, sums, same) }); err != nil {
			return err
		}
		step, vectors = "variance", append(vectors, n.Bias)
		centered = func(b *band) func(x tl.Tile) tl.Tile {
			mean := b.keep(b.reducePartials(p, sums, sumReduction).Div(n.hidden))
			return func(x tl.Tile) tl.Tile { return x.Sub(mean) }
		}
	}
	err := r.launch(step, use, func(b *band) {
		center := centered(b)
		add(b, n.squaresKind, func(x tl.Tile) tl.Tile {
			x = center(x)
			return x.Mul(x)
		})
	})
	if err != nil {
		return err
	}
	to := r.shareStarts(y)
	use = launchOperands{vectors: vectors, others: []*torch.Tensor{p.Tensor, y}}
	return r.launch("scale", use, func(b *band) {
		center := centered(b)
		scale := b.keep(b.reducePartials(p, n.squaresKind, sumReduction).Div(n.hidden).Add(n.eps).Rsqrt())
		for x := range b.tiles() {
			z := center(x.Tile).Mul(scale).Mul(x.vectors[0])
			for _, bias := range x.vectors[1:] {
				z = z.Add(bias)
			}
			b.storeTile(to, x, z)
		}
	})
}
