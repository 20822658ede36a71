package tp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/torch"
)

// zeroMatrix returns a matrix of zeros. The variances of the errors of its elements are 0.
func zeroMatrix(rows, cols int) *dense.Matrix {
	return &dense.Matrix{Rows: rows, Cols: cols, V: make([]float64, rows*cols), Var: make([]float64, rows*cols)}
}

// roundingError returns the variance of the error that rounding z to dtype d causes.
func roundingError(z float64, d torch.DType) float64 {
	m := zeroMatrix(1, 1)
	m.V[0] = z
	return m.Round(d).Var[0]
}

// layerNorm computes the expected result of LayerNorm. It subtracts the mean from each row
// of x, divides the row by √(mean square + eps), multiplies it by gain and adds bias. It
// treats x as exact. gain and bias have one row. Each step rounds to d. A machine that
// computes the mean square before it subtracts the mean has larger errors.
func layerNorm(x, gain, bias *dense.Matrix, eps float64, d torch.DType) *dense.Matrix {
	centred, n := zeroMatrix(x.Rows, x.Cols), float64(x.Cols)
	for i := range x.Rows {
		total, totalVar := 0.0, 0.0
		for j := range x.Cols {
			total += x.V[i*x.Cols+j]
			totalVar += roundingError(total, torch.F32)
		}
		mean := total / n
		// The sum rounds when it is stored, and so does the mean.
		meanVar := totalVar/(n*n) + 2*roundingError(mean, d)
		for at := i * x.Cols; at < (i+1)*x.Cols; at++ {
			centred.V[at] = x.V[at] - mean
			centred.Var[at] = meanVar + roundingError(centred.V[at], d)
		}
	}
	return dense.Add(dense.RMSNorm(centred, gain, eps, d), bias, d)
}

// crossEntropy computes the expected loss: log Σ exp(x) - x[target] for each row x of
// logits, in one column. It treats the logits as exact. Each step rounds to d.
func crossEntropy(logits *dense.Matrix, targets []int, d torch.DType) *dense.Matrix {
	out := zeroMatrix(logits.Rows, 1)
	for i, target := range targets {
		row := logits.V[i*logits.Cols:][:logits.Cols]
		greatest := slices.Max(row)
		sum, sumVar := 0.0, 0.0 // sum of exponentials and its variance
		for j, v := range row {
			e := math.Exp(v - greatest)
			sum += e
			sumVar += roundingError(sum, torch.F32) + roundingError(e, d)
			if j != target {
				sumVar += e * e * roundingError(v-greatest, d)
			}
		}
		sumVar += roundingError(sum, d)
		log, shifted := math.Log(sum), row[target]-greatest
		out.V[i] = log - shifted
		// The rounding error of the target's logit is in both terms. The rounding
		// error of its exponential is only in the sum.
		p := math.Exp(shifted) / sum
		out.Var[i] = (1-p)*(1-p)*roundingError(shifted, d) + sumVar/(sum*sum) + roundingError(log, d) + roundingError(out.V[i], d)
	}
	return out
}

// linearBackward computes the expected gradients of a linear layer. Given the gradient dy
// of a loss with respect to y = x·w + bias, it returns the gradients with respect to x, w
// and bias: dy·wᵀ, xᵀ·dy and the column sums of dy. Each is accumulated in f32 and rounded
// to d. The sum of dy·wᵀ is divided into parts, as in [dense.MatMul], because ranks have
// different columns of the weight.
func linearBackward(x, w, dy *dense.Matrix, parts int, d torch.DType) (dx, dw, dbias *dense.Matrix) {
	rows := make([]int, dy.Rows) // every row of dy is added to row 0, the bias
	return dense.MatMul(dy, w.Transpose(), parts, d), dense.MatMul(x.Transpose(), dy, 1, d), embeddingBackward(dy, rows, 1, d)
}

// embeddingBackward computes the expected gradient of a table of embeddings with the given
// number of rows. `dy` is the gradient of the embeddings, and row k of `dy` belongs to
// ids[k]. Row i of the table's gradient is the sum of all rows of `dy` whose id is i. The
// rows are added in f32 in ascending order, and the sum is rounded to d. Ids outside of the
// table, such as those of another rank, are ignored.
func embeddingBackward(dy *dense.Matrix, ids []int, rows int, d torch.DType) *dense.Matrix {
	out := zeroMatrix(rows, dy.Cols)
	for i, id := range ids {
		if id < 0 || id >= rows {
			continue
		}
		for j := range dy.Cols {
			from, to := i*dy.Cols+j, id*dy.Cols+j
			out.V[to] += dy.V[from]
			out.Var[to] += dy.Var[from] + roundingError(out.V[to], torch.F32)
		}
	}
	if d == torch.F32 {
		return out
	}
	return out.Round(d)
}

// TestReferences checks the reference functions of this file against numbers computed by
// hand.
func TestReferences(t *testing.T) {
	toDense := func(cols int, v ...float64) *dense.Matrix { return dense.New(len(v)/cols, cols, v, torch.F32) }
	l2, l3 := math.Log(2), math.Log(3)
	logs := zeroMatrix(2, 3)
	copy(logs.V, []float64{0, l2, l3, l3, l3, l3})
	u16, u32 := 0x1p-22/3, 0x1p-48/3
	col, erring := toDense(1, 4, 5, 6), toDense(1, 1, 2, 3)
	copy(erring.Var, []float64{1, 10, 100})
	for name, c := range map[string]struct{ got, want []float64 }{
		"layerNorm":                      {layerNorm(toDense(2, 1, 7), toDense(2, 2, 3), toDense(2, 5, 6), 0, torch.F32).V, []float64{3, 9}},
		"layerNorm with eps":             {layerNorm(toDense(2, 1, 7), toDense(2, 2, 3), toDense(2, 5, 6), 7, torch.F32).V, []float64{3.5, 8.25}},
		"crossEntropy":                   {crossEntropy(logs, []int{0, 2}, torch.F32).V, []float64{math.Log(6), l3}},
		"rows of other tables":           {embeddingBackward(toDense(2, 1, 2, 10, 20, 100, 200, 1000, 2000), []int{1, -1, 2, 1}, 2, torch.F32).V, []float64{0, 0, 1001, 2002}},
		"variances of sums in f32":       {embeddingBackward(col, []int{0, 0, 0}, 1, torch.F32).Var, []float64{u32 * (16 + 81 + 225)}}, // partial sums 4, 9, 15
		"variances of sums in f16":       {embeddingBackward(col, []int{0, 0, 0}, 1, torch.F16).Var, []float64{u32*(16+81+225) + u16*225}},
		"variances of erring sums":       {embeddingBackward(erring, []int{0, 0, 0}, 1, torch.F32).Var, []float64{111 + u32*(1+9+36)}},
		"variances of what is not there": {embeddingBackward(col, []int{0, 0, 0}, 2, torch.F32).Var[1:], []float64{0}},
	} {
		if len(c.got) != len(c.want) {
			t.Fatalf("%s: got %v, want %v", name, c.got, c.want)
		}
		for i, want := range c.want {
			if math.Abs(c.got[i]-want) > 1e-12*math.Abs(want) {
				t.Errorf("%s: element %d is %.15g, want %.15g", name, i, c.got[i], want)
			}
		}
	}
}

// TestGradientsAreDerivatives checks that the gradients of linearBackward and
// embeddingBackward equal central differences of a loss, in float64. The loss is the sum of
// y²·c/2, and its gradient with respect to y is y·c.
func TestGradientsAreDerivatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	exact := func(rows, cols int) *dense.Matrix {
		m := zeroMatrix(rows, cols)
		for i := range m.V {
			m.V[i] = rng.NormFloat64()
		}
		return m
	}
	ids := []int{3, 0, 3, 5, 1, 3, 0}
	x, w, bias, table := exact(7, 6), exact(6, 4), exact(1, 4), exact(6, 4)
	c := exact(7, 4)
	linear := func() *dense.Matrix { return dense.Add(dense.MatMul(x, w, 1, torch.F32), bias, torch.F32) }
	embedding := func() *dense.Matrix {
		y := zeroMatrix(len(ids), table.Cols)
		for i, id := range ids {
			copy(y.V[i*y.Cols:], table.V[id*table.Cols:][:table.Cols])
		}
		return y
	}
	gradient := func(y *dense.Matrix) *dense.Matrix { return dense.Mul(y, c, torch.F32) }
	dx, dw, dbias := linearBackward(x, w, gradient(linear()), 2, torch.F16)
	for _, g := range []struct {
		name       string
		y          func() *dense.Matrix
		param, got *dense.Matrix
	}{
		{"x", linear, x, dx}, {"w", linear, w, dw}, {"bias", linear, bias, dbias},
		{"table", embedding, table, embeddingBackward(gradient(embedding()), ids, table.Rows, torch.F16)},
	} {
		if g.got.Rows != g.param.Rows || g.got.Cols != g.param.Cols {
			t.Fatalf("%s: gradient of %v, want %v", g.name, g.got, g.param)
		}
		loss := func() (sum float64) {
			y := g.y()
			for i, v := range y.V {
				sum += v * v * c.V[i] / 2
			}
			return sum
		}
		const h = 1e-3 // central differences of a square are exact, apart from rounding in float64
		for i, v := range g.param.V {
			g.param.V[i] = v + h
			above := loss()
			g.param.V[i] = v - h
			below := loss()
			g.param.V[i] = v
			if want := (above - below) / (2 * h); math.Abs(g.got.V[i]-want) > 1e-10 {
				t.Errorf("by element %d of %s: %.12g, want %.12g", i, g.name, g.got.V[i], want)
			}
		}
	}
}

// TestReferencesAreTight checks that the errors of layers are about as large as the
// references predict, so that tolerances are not too large. For each layer it divides the
// errors by the predicted standard deviations, and checks that the root mean square and the
// maximum of these quotients equal recorded numbers.
func TestReferencesAreTight(t *testing.T) {
	for _, c := range []struct {
		d    torch.DType
		want string
	}{
		{torch.F16, "norm 0.73 1.7, entropy 0.60 1.6, table 0.74 1.7"},
		{torch.F32, "norm 0.41 1.3, entropy 0.67 1.6, table 0.74 2.2"},
	} {
		self := newSystem(t, 1)
		spawn(t, self, 1, 1, func(r *torch.Rank) error {
			const rows, cols, tokens, vocab, ids = 64, 96, 256, 128, 72
			toDense := func(rows, cols int, v []float32) *dense.Matrix { return dense.New(rows, cols, v, c.d) }
			x, gain, bias := normal(rows*cols, 1, 3), normal(cols, 2, 0), normal(cols, 3, 0)
			norm := torch.Must(NewLayerNorm(r, "norm", cols, 1e-5, Options{DType: c.d}))
			torch.OK(norm.Load(gain, bias))
			normed := torch.Must(norm.Forward(torch.Must(r.FromSlice(x, c.d, torch.Shape{rows, cols}, Spread))))
			got := "norm " + tightness(normed, layerNorm(toDense(rows, cols, x), toDense(1, cols, gain), toDense(1, cols, bias), 1e-5, torch.F32).Round(c.d))

			logits, targets := normal(tokens*vocab, 4, 0), make([]int, tokens)
			for i := range targets {
				targets[i] = i * 37 % vocab
			}
			entropy := torch.Must(VocabParallelCrossEntropy(r, torch.Must(r.FromSlice(logits, c.d, torch.Shape{tokens, vocab}, Spread)), targets, 0))
			got += ", entropy " + tightness(entropy.Loss, crossEntropy(toDense(tokens, vocab, logits), targets, torch.F32))

			e := torch.Must(NewVocabParallelEmbedding(r, "table", 8, cols, Options{DType: c.d}))
			positions, dy := make([]int, ids), normal(ids*cols, 5, 0)
			for i := range positions {
				positions[i] = i * 5 % 8
			}
			torch.OK(e.Backward(positions, torch.Must(r.FromSlice(dy, c.d, torch.Shape{ids, cols}, Spread))))
			got += ", table " + tightness(e.WeightGrad, embeddingBackward(toDense(ids, cols, dy), positions, 8, c.d))
			if got != c.want {
				t.Errorf("%v: got %s, want %s", c.d, got, c.want)
			}
			return nil
		})
	}
}

// tightness divides the error of each element of y by the standard deviation that `want`
// predicts for the element. It formats the root mean square and the maximum of these
// ratios.
func tightness(y *torch.Tensor, want *dense.Matrix) string {
	a := torch.Must(y.Numpy())
	squares, worst, count := 0.0, 0.0, 0.0
	for i, v := range want.V {
		if want.Var[i] > 0 {
			ratio := math.Abs(numeric.Get(a.DType, a.Bytes, i)-v) / math.Sqrt(want.Var[i])
			squares, worst, count = squares+ratio*ratio, max(worst, ratio), count+1
		}
	}
	return fmt.Sprintf("%.2f %.1f", math.Sqrt(squares/count), worst)
}
