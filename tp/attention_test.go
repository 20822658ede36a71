package tp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kernbench/kernbench/attention"
	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
)

// gaussian returns n normally distributed numbers with the given standard deviation.
func gaussian(n int, scale float64, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(r.NormFloat64() * scale)
	}
	return list
}

// TestDotProductAttention compares each head of DotProductAttention with dense attention.
// It covers several placements of the input, ragged numbers of tokens, and more or fewer
// heads than PEs.
func TestDotProductAttention(t *testing.T) {
	for _, c := range []struct {
		tokens int
		h      attention.Heads
		dtype  torch.DType
		on     torch.DPPolicy
	}{
		{16, attention.Heads{Query: 8, KV: 1, Dim: 16}, torch.F16, Spread},
		{33, attention.Heads{Query: 8, KV: 2, Dim: 16}, torch.F16, Spread},
		{13, attention.Heads{Query: 6, KV: 6, Dim: 8}, torch.F32, torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise}},
		{150, attention.Heads{Query: 4, KV: 1, Dim: 16}, torch.F32, torch.DPPolicy{PE: torch.RowWise}},
		{1, attention.Heads{Query: 2, KV: 1, Dim: 4}, torch.F16, Spread},
	} {
		t.Run(fmt.Sprint(c.tokens, c.h, c.dtype), func(t *testing.T) {
			r := newSystem(t, 1)
			spawn(t, r, 1, 1, func(r *torch.Rank) error {
				wide := (c.h.Query + 2*c.h.KV) * c.h.Dim
				data := gaussian(c.tokens*wide, 1, 1)
				qkv := dense.New(c.tokens, wide, data, c.dtype)
				x := torch.Must(r.FromSlice(data, c.dtype, torch.Shape{c.tokens, wide}, c.on))
				y := torch.Must(DotProductAttention(r, "attention", x, c.h))
				var heads []*dense.Matrix
				for i := range c.h.Query {
					kv := c.h.Query + i/(c.h.Query/c.h.KV)
					headOf := func(head int) *dense.Matrix { return qkv.Slice(0, head*c.h.Dim, c.tokens, c.h.Dim) }
					heads = append(heads, dense.Attention(headOf(i), headOf(kv), headOf(kv+c.h.KV), 1/math.Sqrt(float64(c.h.Dim)), 0, torch.F32, c.dtype))
				}
				want := dense.Beside(heads...)
				return r.CheckWithin("y", y, want.V, want.Tolerances())
			})
			requireChecks(t, r)
		})
	}
}
