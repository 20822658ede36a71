package benches

import (
	"math"
	"slices"

	"github.com/kernbench/kernbench/attention"
	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/tp"
)

// layers makes a rank's part of a transformer block.
func (b *block) layers(ctx *torch.Context, w way) func(x *torch.Tensor) *torch.Tensor {
	column := tp.Options{DType: b.dtype, Weight: &b.placement}
	gated, row := column, column
	gated.Gated = true
	row.InputIsParallel, row.SequenceParallel, row.Overlap = true, w.sequence, w.overlap
	norm1, norm2 := b.norm(ctx, "norm1", column), b.norm(ctx, "norm2", column)
	qkv := linear(ctx, b, "qkv", column, tp.NewColumnParallelLinear)
	o := linear(ctx, b, "o", row, tp.NewRowParallelLinear)
	up := linear(ctx, b, "up", gated, tp.NewColumnParallelLinear)
	down := linear(ctx, b, "down", row, tp.NewRowParallelLinear)
	gathered := func(x *torch.Tensor) *torch.Tensor { // with the rows of all ranks, if these have their own
		if !w.sequence {
			return x
		}
		all := torch.Must(tp.GatherFromSequenceParallelRegion.Forward(ctx, x))
		if all != x {
			free(x)
		}
		return all
	}
	residual := func(x *torch.Tensor, layer *tp.RowParallelLinear, h *torch.Tensor) *torch.Tensor { // x + layer(h)
		out := forward(layer, h)
		sum := torch.Must(tp.Add(ctx, "residual", x, out))
		free(out)
		return sum
	}
	return func(x *torch.Tensor) *torch.Tensor {
		h := gathered(torch.Must(norm1.Forward(x)))
		heads := forward(qkv, h)
		a := torch.Must(tp.DotProductAttention(ctx, "attention", heads, b.of(w.ranks)))
		x = residual(x, o, a)
		free(h, heads, a)

		h = gathered(torch.Must(norm2.Forward(x)))
		wide := forward(up, h)
		g := torch.Must(tp.SwiGLU("SwiGLU", up, wide))
		y := residual(x, down, g)
		free(x, h, wide, g)
		return y
	}
}

// norm makes a norm with its weights.
func (b *block) norm(ctx *torch.Context, name string, o tp.Options) *tp.RMSNorm {
	n := torch.Must(tp.NewRMSNorm(ctx, name, b.hidden, blockEps, o))
	if ctx.HasData() {
		torch.OK(n.Load(b.weights[name]))
	}
	return n
}

// layer is a linear layer of a rank.
type layer interface {
	Forward(x *torch.Tensor) (y, bias *torch.Tensor, err error)
	Load(weight, bias []float32) error
}

// linear makes a linear layer of a block with its weights.
func linear[L layer](ctx *torch.Context, b *block, name string, o tp.Options, make func(*torch.Context, string, int, int, tp.Options) (L, error)) L {
	size := b.linear()[slices.IndexFunc(b.linear(), func(l blockLayer) bool { return l.name == name })]
	l := torch.Must(make(ctx, name, size.in, size.out, o))
	if ctx.HasData() {
		torch.OK(l.Load(b.weights[name], nil))
	}
	return l
}

// forward returns what a linear layer makes of x.
func forward(l layer, x *torch.Tensor) *torch.Tensor {
	y, _, err := l.Forward(x)
	torch.OK(err)
	return y
}

// of returns the heads of one of some ranks.
func (b *block) of(ranks int) attention.Heads {
	return attention.Heads{Query: b.heads.Query / ranks, KV: b.heads.KV / ranks, Dim: b.heads.Dim}
}

func free(list ...*torch.Tensor) {
	for _, x := range list {
		torch.OK(x.Free())
	}
}

// reference is the block in float64, with the rounding of so many ranks.
func (b *block) reference(ranks int) *dense.Matrix {
	weight := func(name string, in, out int) *dense.Matrix { return dense.New(in, out, b.weights[name], b.dtype) }
	w := map[string]*dense.Matrix{}
	for _, l := range b.linear() {
		w[l.name] = weight(l.name, l.in, l.out)
	}
	column := func(x *dense.Matrix, name string) *dense.Matrix { return dense.MatMul(x, w[name], 1, b.dtype) }
	norm := func(x *dense.Matrix, name string) *dense.Matrix {
		return dense.RMSNorm(x, weight(name, 1, b.hidden), blockEps, torch.F32).Round(b.dtype)
	}
	x := dense.New(b.tokens, b.hidden, b.x, b.dtype)
	h := norm(x, "norm1")
	qkv := column(h, "qkv")
	head := func(i int) *dense.Matrix { return qkv.Slice(0, i*b.heads.Dim, b.tokens, b.heads.Dim) }
	own := b.of(ranks)
	var heads []*dense.Matrix
	for rank := range ranks {
		first := rank * (own.Query + 2*own.KV)
		for i := range own.Query {
			kv := first + own.Query + i*own.KV/own.Query
			heads = append(heads, dense.Attention(head(first+i), head(kv), head(kv+own.KV), 1/math.Sqrt(float64(own.Dim)), 0, torch.F32, b.dtype))
		}
	}
	x = dense.Add(x, dense.MatMul(dense.Beside(heads...), w["o"], ranks, b.dtype), b.dtype)
	h = norm(x, "norm2")
	up := column(h, "up") // the gates, and what they gate
	gate := dense.Map(up.Slice(0, 0, b.tokens, b.ffn), dense.SiLU, torch.F32)
	g := dense.Mul(gate, up.Slice(0, b.ffn, b.tokens, b.ffn), torch.F32).Round(b.dtype)
	return dense.Add(x, dense.MatMul(g, w["down"], ranks, b.dtype), b.dtype)
}
