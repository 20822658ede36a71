package dense

import (
	"math"
	"math/rand/v2"
	"testing"
)

// exact returns a matrix of random numbers that are not rounded to any dtype.
func exact(r *rand.Rand, rows, cols int) *Matrix {
	m := zeros(rows, cols)
	for i := range m.V {
		m.V[i] = r.NormFloat64()
	}
	return m
}

// TestGradientsAreDerivatives compares gradients with central differences of a loss, in
// float64. The loss, the sum of y²·c/2, has y·c as its gradient by y.
func TestGradientsAreDerivatives(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	ids := []int{3, 0, 3, 5, 1, 3, 0}
	x, w, bias, table := exact(r, 7, 6), exact(r, 6, 4), exact(r, 1, 4), exact(r, 6, 4)
	c := exact(r, 7, 4)
	linear := func() *Matrix { return Add(MatMul(x, w, 1, f32), bias, f32) }
	embedding := func() *Matrix { return Embedding(table, ids) }
	gradient := func(y *Matrix) *Matrix { return Mul(y, c, f32) }
	dx, dw, dbias := LinearBackward(x, w, gradient(linear()), 2, f16)
	for _, g := range []struct {
		name    string
		y       func() *Matrix
		by, got *Matrix
	}{
		{"x", linear, x, dx}, {"w", linear, w, dw}, {"bias", linear, bias, dbias},
		{"table", embedding, table, EmbeddingBackward(gradient(embedding()), ids, table.Rows, f16)},
	} {
		if g.got.Rows != g.by.Rows || g.got.Cols != g.by.Cols {
			t.Fatalf("%s: gradient of %v, want %v", g.name, g.got, g.by)
		}
		loss := func() (sum float64) {
			y := g.y()
			for i, v := range y.V {
				sum += v * v * c.V[i] / 2
			}
			return sum
		}
		const h = 1e-3 // differences of a square are exact but for the rounding of float64
		for i, v := range g.by.V {
			g.by.V[i] = v + h
			above := loss()
			g.by.V[i] = v - h
			below := loss()
			g.by.V[i] = v
			if want := (above - below) / (2 * h); math.Abs(g.got.V[i]-want) > 1e-10 {
				t.Errorf("by element %d of %s: %.12g, want %.12g", i, g.name, g.got.V[i], want)
			}
		}
	}
}

// TestGradientsOfOtherRows: ids that the table does not have count for nothing.
func TestGradientsOfOtherRows(t *testing.T) {
	dy := of([]float64{1, 2}, []float64{10, 20}, []float64{100, 200}, []float64{1000, 2000})
	got := EmbeddingBackward(dy, []int{1, -1, 2, 1}, 2, f32)
	if want := of([]float64{0, 0}, []float64{1001, 2002}); !sameValues(got, want) {
		t.Errorf("got %v, want %v", got.V, want.V)
	}
}

func sameValues(a, b *Matrix) bool {
	for i := range a.V {
		if a.V[i] != b.V[i] {
			return false
		}
	}
	return a.Rows == b.Rows && a.Cols == b.Cols
}
