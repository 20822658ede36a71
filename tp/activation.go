package tp

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// GELU returns x·Φ(x) in the form with tanh, 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), of
// each element: a new tensor like x. It is computed in f32 and rounded once.
func GELU(ctx *torch.Context, name string, x *torch.Tensor) (*torch.Tensor, error) {
	return mapped(ctx, name, func(in []tl.Tile) tl.Tile {
		v := wide(in[0])
		inner := v.Mul(v).Mul(v).Mul(0.044715).Add(v).Mul(math.Sqrt(2 / math.Pi))
		return v.Mul(0.5).Mul(inner.Tanh().Add(1))
	}, x)
}

// SwiGLU returns gate·sigmoid(gate)·up of each element of x, which a layer with Gated has made: a
// new tensor of half as many columns. It is computed in f32 and rounded once.
func SwiGLU(name string, layer *ColumnParallelLinear, x *torch.Tensor) (*torch.Tensor, error) {
	ctx, weight := layer.ctx, layer.o.weight()
	shape := x.Shape()
	if !layer.o.Gated || len(shape) < 2 || colsOf(x) != layer.OutFeaturesPerPartition() {
		return nil, fmt.Errorf("%s: input %v of %s, Gated %t: want what a layer with Gated has made of some tokens, [tokens %d]", name, shape, layer.Name, layer.o.Gated, layer.OutFeaturesPerPartition())
	}
	shape[len(shape)-1] /= 2
	out, err := ctx.Empty(x.DType(), shape, gridOf(weight))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, elementwise(ctx, name, out, func(in []tl.Tile) tl.Tile {
		g := wide(in[0])
		return g.Mul(g.Sigmoid()).Mul(wide(in[1]))
	}, func(b box) []operand { // its gates lie before what they gate, in the same part of x
		return []operand{{x: x, shift: b.col}, {x: x, shift: b.col + b.cols}}
	})
}

// gated returns the order of a rank's columns with Gated: for each part of the result first its
// gates, and then what they gate, each of half columns from one on.
func gated(ctx *torch.Context, weight torch.DPPolicy, first, half, out int) (columns []int) {
	for _, b := range across(ctx, weight, half) {
		columns = append(columns, count(first+b.col, b.cols)...)
		columns = append(columns, count(out/2+first+b.col, b.cols)...)
	}
	return columns
}

// Add returns the sum of each element: a new tensor like x.
func Add(ctx *torch.Context, name string, x, y *torch.Tensor) (*torch.Tensor, error) {
	return mapped(ctx, name, plus, x, y)
}

// plus adds two tiles.
func plus(in []tl.Tile) tl.Tile { return in[0].Add(in[1]) }

// wide returns a tile in f32.
func wide(x tl.Tile) tl.Tile { return as(x, torch.F32) }

// mapped returns a new tensor like the first of some of one shape.
func mapped(ctx *torch.Context, name string, f func([]tl.Tile) tl.Tile, in ...*torch.Tensor) (*torch.Tensor, error) {
	var operands []operand
	for _, x := range in {
		if x.Shape().String() != in[0].Shape().String() || x.DType() != in[0].DType() {
			return nil, fmt.Errorf("%s: %v %v and %v %v: want tensors alike", name, in[0].DType(), in[0].Shape(), x.DType(), x.Shape())
		}
		operands = append(operands, operand{x: x})
	}
	out, err := ctx.EmptyLike(in[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, elementwise(ctx, name, out, f, func(box) []operand { return operands })
}
