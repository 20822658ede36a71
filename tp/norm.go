package tp

import (
	"errors"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// Norm is what both kinds of norms are: rows are scaled, and multiplied by a gain.
type Norm struct {
	Name   string
	Weight *torch.Tensor // the gain of each column
	Bias   *torch.Tensor // of each column; nil if there is none

	rank    *torch.Rank
	o       Options
	hidden  int
	eps     float64
	squares int // kind of the partials that are squares: 1 of a LayerNorm, whose sums come before
}

// RMSNorm divides each row of a matrix by the root of its mean square plus eps, and
// multiplies it by a gain.
type RMSNorm struct{ Norm }

// LayerNorm subtracts from each row of a matrix its mean, divides it by the root of its
// mean square plus eps, multiplies it by a gain and adds a bias.
type LayerNorm struct{ Norm }

// NewRMSNorm makes a norm of rows of hidden features, with a gain of 1. Of the options it
// uses DType, and Output for where it puts the gain: beside matrices that are laid out
// so; with SequenceParallel it is the same, of the rows that it is given. Every rank has
// all of it, whatever the groups.
func NewRMSNorm(r *torch.Rank, name string, hidden int, eps float64, o Options) (*RMSNorm, error) {
	n, err := newNorm(r, "RMSNorm "+name, hidden, eps, o)
	if err != nil {
		return nil, err
	}
	return &RMSNorm{n}, nil
}

// NewLayerNorm is NewRMSNorm of the other kind, with a bias of 0.
func NewLayerNorm(r *torch.Rank, name string, hidden int, eps float64, o Options) (*LayerNorm, error) {
	n, err := newNorm(r, "LayerNorm "+name, hidden, eps, o)
	if err != nil {
		return nil, err
	}
	if n.Bias, err = r.Zeros(o.dtype(), torch.Shape{hidden}, beside(o.output())); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", n.Name, err), n.Weight.Free())
	}
	n.squares = 1
	return &LayerNorm{n}, nil
}

func newNorm(r *torch.Rank, name string, hidden int, eps float64, o Options) (n Norm, err error) {
	n = Norm{Name: name, rank: r, o: o, hidden: hidden, eps: eps}
	if err := o.checkOther(); err != nil {
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
	if n.Weight, err = r.Full(1, o.dtype(), torch.Shape{hidden}, beside(o.output())); err != nil {
		return n, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// beside returns where a vector lies that has an element for each column of matrices: on
// each PE those of its columns.
func beside(matrix torch.DPPolicy) torch.DPPolicy {
	return replaced(matrix, torch.RowWise, torch.Replicate)
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

func (n *Norm) load(to *torch.Tensor, what string, values []float32) error {
	if len(values) != n.hidden {
		return fmt.Errorf("%s: a %s of %d elements, and rows have %d", n.Name, what, len(values), n.hidden)
	}
	return to.CopyFrom(values)
}

// Free gives the memory of the norm back.
func (n *Norm) Free() error {
	return present(n.Weight, n.Bias).free()
}

// Forward returns the norm of the rows of x: a new tensor, laid out as x is. It is computed in
// f32 and rounded once. The mean square of a LayerNorm is that of what is left when the mean
// has been subtracted.
func (n *Norm) Forward(x *torch.Tensor) (*torch.Tensor, error) {
	if shape := x.Shape(); len(shape) < 2 || colsOf(x) != n.hidden || x.DType() != n.o.dtype() {
		return nil, fmt.Errorf("%s: input %v %v: want [tokens %d] or [s b %[4]d], %[5]v", n.Name, x.DType(), shape, n.hidden, n.o.dtype())
	}
	y, err := n.rank.EmptyLike(x)
	if err != nil || x.Numel() == 0 {
		return result(n.Name, y, err)
	}
	r := newRowwise(n.rank, n.Name, x)
	p, err := r.partials(n.squares + 1)
	if err == nil {
		err = errors.Join(n.run(r, p, y), p.Free())
	}
	return result(n.Name, y, err)
}

// run computes y. A LayerNorm adds up the rows first, subtracts their means, and adds a bias.
func (n *Norm) run(r *rowwise, p *partials, y *torch.Tensor) error {
	const sums = 0
	use, step := besides{others: []*torch.Tensor{p.Tensor}}, "squares"
	add := func(b *band, kind int, f func(x tl.Tile) tl.Tile) {
		b.t.Store(b.own(p, kind), b.fold(adding, func(x tl.Tile) []tl.Tile { return []tl.Tile{f(x)} })[0])
	}
	same := func(x tl.Tile) tl.Tile { return x }
	centered := func(*band) func(x tl.Tile) tl.Tile { return same }
	vectors := []*torch.Tensor{n.Weight}
	if n.squares > 0 {
		if err := r.launch("mean", use, func(b *band) { add(b, sums, same) }); err != nil {
			return err
		}
		step, vectors = "variance", append(vectors, n.Bias)
		centered = func(b *band) func(x tl.Tile) tl.Tile {
			mean := b.keep(b.total(p, sums, adding).Div(n.hidden))
			return func(x tl.Tile) tl.Tile { return x.Sub(mean) }
		}
	}
	err := r.launch(step, use, func(b *band) {
		center := centered(b)
		add(b, n.squares, func(x tl.Tile) tl.Tile {
			x = center(x)
			return x.Mul(x)
		})
	})
	if err != nil {
		return err
	}
	to := r.owned(y)
	use = besides{vectors: vectors, others: []*torch.Tensor{p.Tensor, y}}
	return r.launch("scale", use, func(b *band) {
		center := centered(b)
		scale := b.keep(b.total(p, n.squares, adding).Div(n.hidden).Add(n.eps).Rsqrt())
		for x := range b.tiles() {
			z := center(x.Tile).Mul(scale).Mul(x.vectors[0])
			for _, bias := range x.vectors[1:] {
				z = z.Add(bias)
			}
			b.write(to, x, z)
		}
	})
}
