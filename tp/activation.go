package tp

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// GELU is x·Φ(x) in the form with tanh, 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), of
// each element: a new tensor like x. It is computed in f32 and rounded once.
func GELU(ctx *torch.Context, name string, x *torch.Tensor) (*torch.Tensor, error) {
	return mapped(ctx, name, func(_ *tl.PE, in []tl.Tile) tl.Tile {
		v := wide(in[0])
		inner := v.Mul(v).Mul(v).Mul(0.044715).Add(v).Mul(math.Sqrt(2 / math.Pi))
		return v.Mul(0.5).Mul(inner.Tanh().Add(1))
	}, x)
}

// SwiGLU is gate·sigmoid(gate)·up of each element: a new tensor like gate. It is computed
// in f32 and rounded once.
func SwiGLU(ctx *torch.Context, name string, gate, up *torch.Tensor) (*torch.Tensor, error) {
	return mapped(ctx, name, func(_ *tl.PE, in []tl.Tile) tl.Tile {
		g := wide(in[0])
		return g.Mul(g.Sigmoid()).Mul(wide(in[1]))
	}, gate, up)
}

// Add is the sum of each element: a new tensor like x.
func Add(ctx *torch.Context, name string, x, y *torch.Tensor) (*torch.Tensor, error) {
	return mapped(ctx, name, func(_ *tl.PE, in []tl.Tile) tl.Tile { return in[0].Add(in[1]) }, x, y)
}

// wide is a tile in f32.
func wide(x tl.Tile) tl.Tile {
	if x.DType() == torch.F32 {
		return x
	}
	return x.To(torch.F32)
}

// mapped is a new tensor like the first of some of one shape.
func mapped(ctx *torch.Context, name string, f func(*tl.PE, []tl.Tile) tl.Tile, in ...*torch.Tensor) (*torch.Tensor, error) {
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
	return out, elementwise(ctx, name, out, f, operands...)
}
