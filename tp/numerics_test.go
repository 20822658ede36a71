package tp

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
)

// mlp is a test case: a column-parallel layer, GELU and a row-parallel layer, with operands
// and expected results.
type mlp struct {
	tokens, hidden, ffn int
	dtype               torch.DType
	weight              torch.DPPolicy
	x, w1, b1, w2, b2   []float32
	h, y                *dense.Matrix // the results of both layers
}

// newMLP creates a test case with random operands. It computes the expected results for the
// given number of ranks.
func newMLP(dtype torch.DType, weight torch.DPPolicy, ranks int) *mlp {
	m := &mlp{tokens: 8, hidden: 16, ffn: 32, dtype: dtype, weight: weight}
	m.x = gaussian(m.tokens*m.hidden, 1, 1)
	m.w1, m.b1 = gaussian(m.hidden*m.ffn, 1/math.Sqrt(float64(m.hidden)), 2), gaussian(m.ffn, 1, 3)
	m.w2, m.b2 = gaussian(m.ffn*m.hidden, 1/math.Sqrt(float64(m.ffn)), 4), gaussian(m.hidden, 1, 5)
	toDense := func(rows, cols int, data []float32) *dense.Matrix { return dense.New(rows, cols, data, dtype) }
	product := dense.MatMul(toDense(m.tokens, m.hidden, m.x), toDense(m.hidden, m.ffn, m.w1), 1, torch.F32)
	m.h = dense.Add(product, toDense(1, m.ffn, m.b1), torch.F32).Round(dtype)
	g := dense.Map(m.h, dense.GELU, torch.F32).Round(dtype)
	m.y = dense.Add(dense.MatMul(g, toDense(m.ffn, m.hidden, m.w2), ranks, dtype), toDense(1, m.hidden, m.b2), dtype)
	return m
}

// run runs the MLP on a rank and compares its results with those of m. It uses the weights
// of `own`, which may differ from the weights of m.
func (m *mlp) run(r *torch.Rank, rank, ranks int, sequence bool, overlap int, own *mlp) {
	o := Options{DType: m.dtype, Bias: true, SequenceParallel: sequence, Weight: &m.weight}
	fc1 := torch.Must(NewColumnParallelLinear(r, "fc1", m.hidden, m.ffn, o))
	o.InputIsParallel, o.Overlap = true, overlap
	fc2 := torch.Must(NewRowParallelLinear(r, "fc2", m.ffn, m.hidden, o))
	torch.OK(fc1.Load(own.w1, own.b1))
	torch.OK(fc2.Load(own.w2, own.b2))
	rows, first := m.tokens, 0
	if sequence {
		rows = m.tokens / ranks
		first = rank * rows
	}
	x := torch.Must(r.FromSlice(m.x[first*m.hidden:(first+rows)*m.hidden], m.dtype, torch.Shape{rows, m.hidden}, Activations(m.weight)))
	h, _, err := fc1.Forward(x)
	torch.OK(err)
	g := torch.Must(GELU(r, "GELU", h))
	y, _, err := fc2.Forward(g)
	torch.OK(err)
	check := func(what string, x *torch.Tensor, want *dense.Matrix) {
		name := fmt.Sprintf("%s of %v, %v, tp %d, sequence %t, overlap %d, rank %d", what, m.dtype, m.weight, ranks, sequence, overlap, rank)
		torch.OK(r.CheckWithin(name, x, want.V, want.Tolerances()))
	}
	check("h", h, m.h.Slice(0, rank*m.ffn/ranks, m.tokens, m.ffn/ranks))
	check("y", y, m.y.Slice(first, 0, rows, m.hidden))
	torch.OK(stack{x, h, g, y}.free())
	torch.OK(fc1.Free())
	torch.OK(fc2.Free())
}

// TestMLP compares the results of both layers of an MLP with a dense computation.
func TestMLP(t *testing.T) {
	for _, ranks := range []int{1, 2, 4, 8} {
		r := newSystem(t, ranks)
		var cases []*mlp
		for _, dtype := range []torch.DType{torch.F16, torch.BF16, torch.F32} {
			cases = append(cases, newMLP(dtype, Spread, ranks))
		}
		if ranks < 8 {
			cases = append(cases, newMLP(torch.F16, ByTokens, ranks))
		}
		overlaps := []int{1, 2, 4}
		if ranks == 1 {
			overlaps = overlaps[:1] // there is nothing to reduce
		}
		spawn(t, r, ranks, ranks, func(r *torch.Rank) error {
			for _, m := range cases {
				for _, sequence := range []bool{false, true} {
					for _, overlap := range overlaps {
						m.run(r, r.Rank(), ranks, sequence, overlap, m)
					}
				}
			}
			return nil
		})
		requireChecks(t, r)
		if n := usedHBM(r); n > 0 {
			t.Errorf("tp %d: %v are not freed", ranks, n)
		}
	}
}

// TestMLPDetectsErrors checks that the comparisons of TestMLP fail if a weight or a bias is
// wrong. It uses the dtype with the largest tolerance.
func TestMLPDetectsErrors(t *testing.T) {
	const ranks = 2
	ways := []struct {
		sequence bool
		overlap  int
	}{{false, 1}, {false, 2}, {true, 1}, {true, 2}}
	for what, wrong := range map[string]func(m *mlp, rank int){
		"one element of the bias of the columns": func(m *mlp, _ int) { m.b1[m.ffn-1] += 0.5 },
		"one element of the bias of the rows":    func(m *mlp, _ int) { m.b2[3] += 0.5 },
		"no bias of the rows":                    func(m *mlp, _ int) { clear(m.b2) },
		"a rank without its columns": func(m *mlp, rank int) {
			if rank == 1 {
				clear(m.w1)
			}
		},
		"a rank without its rows": func(m *mlp, rank int) {
			if rank == 1 {
				clear(m.w2)
			}
		},
		"a block of K of one rank missing": func(m *mlp, rank int) {
			if rank == 1 {
				clear(m.w2[20*m.hidden : 22*m.hidden])
			}
		},
		"a row of K counted twice": func(m *mlp, _ int) {
			for i := range m.hidden {
				m.w2[5*m.hidden+i] *= 2
			}
		},
		"two rows of K exchanged": func(m *mlp, _ int) {
			for i := range m.ffn {
				m.w1[i], m.w1[m.ffn+i] = m.w1[m.ffn+i], m.w1[i]
			}
		},
	} {
		m := newMLP(torch.BF16, Spread, ranks)
		r := newSystem(t, ranks)
		spawn(t, r, ranks, ranks, func(r *torch.Rank) error {
			own := *m
			for _, list := range []*[]float32{&own.w1, &own.b1, &own.w2, &own.b2} {
				*list = slices.Clone(*list)
			}
			wrong(&own, r.Rank())
			for _, way := range ways {
				m.run(r, r.Rank(), ranks, way.sequence, way.overlap, &own)
			}
			return nil
		})
		for _, way := range ways {
			name := fmt.Sprintf("sequence %t, overlap %d", way.sequence, way.overlap)
			if !slices.ContainsFunc(r.Checks(), func(c torch.Check) bool { return c.Wrong != "" && strings.Contains(c.Name, name) }) {
				t.Errorf("%s, %s: no error detected", what, name)
			}
		}
	}
}
