package benches

import (
	"math"

	"github.com/kernbench/kernbench/attention"
	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/tp"
)

// blockLayers is a rank's part of a transformer block.
type blockLayers struct {
	ctx          *torch.Context
	heads        attention.Heads // of the rank
	sequence     bool
	norm1, norm2 *tp.RMSNorm
	qkv, up      *tp.ColumnParallelLinear
	o, down      *tp.RowParallelLinear
}

func (b *block) layers(ctx *torch.Context, w way) func(x *torch.Tensor) *torch.Tensor {
	l := &blockLayers{ctx: ctx, sequence: w.sequence, heads: b.of(w.ranks)}
	column := tp.Options{DType: b.dtype, Weight: &b.placement}
	row := column
	row.InputIsParallel, row.SequenceParallel, row.Overlap = true, w.sequence, w.overlap
	norm := func(name string) *tp.RMSNorm {
		n := torch.Must(tp.NewRMSNorm(ctx, name, b.hidden, blockEps, column))
		if ctx.HasData() {
			torch.OK(n.Load(b.weights[name]))
		}
		return n
	}
	l.norm1, l.norm2 = norm("norm1"), norm("norm2")
	columns := map[string]**tp.ColumnParallelLinear{"qkv": &l.qkv, "up": &l.up}
	rows := map[string]**tp.RowParallelLinear{"o": &l.o, "down": &l.down}
	for _, spec := range b.linear() {
		var load func(weight, bias []float32) error
		if to, ok := columns[spec.name]; ok {
			o := column
			o.Gated = spec.name == "up"
			*to = torch.Must(tp.NewColumnParallelLinear(ctx, spec.name, spec.in, spec.out, o))
			load = (*to).Load
		} else {
			*rows[spec.name] = torch.Must(tp.NewRowParallelLinear(ctx, spec.name, spec.in, spec.out, row))
			load = (*rows[spec.name]).Load
		}
		if ctx.HasData() {
			torch.OK(load(b.weights[spec.name], nil))
		}
	}
	return l.forward
}

// of is the heads of one of so many ranks.
func (b *block) of(ranks int) attention.Heads {
	return attention.Heads{Query: b.heads.Query / ranks, KV: b.heads.KV / ranks, Dim: b.heads.Dim}
}

// forward is the block on the rank's input.
func (l *blockLayers) forward(x *torch.Tensor) *torch.Tensor {
	h := l.gathered(torch.Must(l.norm1.Forward(x)))
	qkv := linear(l.qkv, h)
	a := torch.Must(tp.DotProductAttention(l.ctx, "attention", qkv, l.heads))
	x = l.residual(x, l.o, a)
	free(h, qkv, a)

	h = l.gathered(torch.Must(l.norm2.Forward(x)))
	up := linear(l.up, h)
	g := torch.Must(tp.SwiGLU("SwiGLU", l.up, up))
	y := l.residual(x, l.down, g)
	free(x, h, up, g)
	return y
}

// gathered is what a norm has made with the rows of all ranks, if these have their own.
func (l *blockLayers) gathered(x *torch.Tensor) *torch.Tensor {
	if !l.sequence {
		return x
	}
	all := torch.Must(tp.GatherFromSequenceParallelRegion.Forward(l.ctx, x))
	if all != x {
		free(x)
	}
	return all
}

// residual is x + layer(h).
func (l *blockLayers) residual(x *torch.Tensor, layer *tp.RowParallelLinear, h *torch.Tensor) *torch.Tensor {
	out, _, err := layer.Forward(h)
	torch.OK(err)
	sum := torch.Must(tp.Add(l.ctx, "residual", x, out))
	free(out)
	return sum
}

// linear is a layer without bias.
func linear(l *tp.ColumnParallelLinear, x *torch.Tensor) *torch.Tensor {
	y, _, err := l.Forward(x)
	torch.OK(err)
	return y
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
