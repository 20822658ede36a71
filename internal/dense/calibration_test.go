package dense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kernbench/kernbench/numeric"
)

const (
	f16  = numeric.F16
	bf16 = numeric.BF16
	f32  = numeric.F32
)

// chain is a computation that runs twice: with the reference, which returns a *Matrix, and
// with the simulated arithmetic, which returns a tile. Steps inside operations round to the
// dtype `work`; stored results round to d.
type chain func(r *rand.Rand, work, d numeric.DType) (*Matrix, tile)

// TestCalibration checks that all elements of correct results are within their tolerance.
// It also checks that the tolerance is not too wide: errors are about as large as the
// reference predicts. `rms` and `worst` are the expected root mean square and maximum of
// the error divided by the standard deviation, as measured.
func TestCalibration(t *testing.T) {
	for _, c := range []struct {
		name       string
		run        chain
		work, d    numeric.DType
		rms, worst float64
	}{
		{"matmul", matmul, f32, f16, 0.72, 1.8},
		{"matmul", matmul, f32, bf16, 0.74, 1.7},
		{"matmul", matmul, f32, f32, 0.71, 2.6},
		{"mlp in 1 part", mlp(1), f32, f16, 0.79, 2.5},
		{"mlp in 2 parts", mlp(2), f32, f16, 0.80, 2.4},
		{"mlp in 4 parts", mlp(4), f32, f16, 0.80, 2.4},
		{"mlp in 8 parts", mlp(8), f32, f16, 0.78, 2.5},
		{"mlp in 1 part", mlp(1), f32, f32, 0.72, 2.6},
		{"mlp in 2 parts", mlp(2), f32, f32, 0.71, 2.5},
		{"mlp in 4 parts", mlp(4), f32, f32, 0.72, 2.3},
		{"mlp in 8 parts", mlp(8), f32, f32, 0.73, 2.7},
		{"mlp in 8 parts", mlp(8), f32, bf16, 0.79, 2.8},
		{"gelu", elementwise(GELU, tile.gelu), f32, f16, 0.71, 1.7},
		{"gelu", elementwise(GELU, tile.gelu), f16, f16, 0.54, 1.8},
		{"gelu", elementwise(GELU, tile.gelu), f32, f32, 0.57, 2.0},
		{"silu", elementwise(SiLU, tile.silu), f32, f16, 0.74, 1.7},
		{"silu", elementwise(SiLU, tile.silu), f16, f16, 0.59, 1.8},
		{"silu", elementwise(SiLU, tile.silu), f32, f32, 0.57, 1.8},
		{"softmax", softmax(NoMask), f32, f16, 0.74, 1.7},
		{"softmax", softmax(NoMask), f16, f16, 0.72, 2.1},
		{"softmax", softmax(NoMask), f32, f32, 0.72, 2.2},
		{"causal softmax", softmax(0), f32, f16, 0.52, 1.7},
		{"attention", attention(NoMask), f32, f16, 0.72, 2.6},
		{"attention", attention(NoMask), f16, f16, 0.71, 2.4},
		{"attention", attention(NoMask), f32, f32, 0.68, 2.6},
		{"causal attention", attention(0), f32, f16, 0.71, 2.5},
		{"causal attention", attention(0), f32, f32, 0.55, 2.5},
		{"rmsnorm", rmsNorm, f32, f16, 0.74, 1.7},
		{"rmsnorm", rmsNorm, f16, f16, 0.72, 2.3},
		{"rmsnorm", rmsNorm, f32, f32, 0.61, 2.3},
		{"4 layers", layers, f32, f16, 0.75, 2.9},
		{"4 layers", layers, f32, bf16, 0.79, 3.0},
		{"4 layers", layers, f32, f32, 0.71, 2.5},
	} {
		t.Run(fmt.Sprintf("%s/%v in %v", c.name, c.d, c.work), func(t *testing.T) {
			want, got := c.run(rand.New(rand.NewPCG(1, 1)), c.work, c.d)
			wrong, rms, worst := got.compare(want)
			if wrong != 0 {
				t.Errorf("%d of %d elements are beyond their tolerance, want none", wrong, len(want.V))
			}
			if rms < 0.2 || rms > 2 {
				t.Errorf("root mean square of error over standard deviation is %.2f, want 0.2 to 2", rms)
			}
			if math.Abs(rms-c.rms) > 0.0051 || math.Abs(worst-c.worst) > 0.051 {
				t.Errorf("error over standard deviation: rms %.2f, worst %.1f; want %.2f and %.1f", rms, worst, c.rms, c.worst)
			}
		})
	}
}

// TestTails applies GELU and SiLU to large negative numbers. It checks that the results,
// which are close to zero, are within their tolerance, in spite of the rounding errors of
// earlier steps.
func TestTails(t *testing.T) {
	x := zeros(1, 80)
	for i := range x.V {
		x.V[i] = -0.25 * float64(i)
	}
	swish := func(t tile) tile { return t.apply(numeric.Mul, t.apply(numeric.Sigmoid)) }
	for _, d := range []numeric.DType{f16, bf16, f32} {
		for _, c := range []struct {
			name    string
			f       Func
			machine func(tile) tile
		}{{"gelu", GELU, tile.gelu}, {"silu", SiLU, swish}} {
			if wrong, _, worst := c.machine(tileOf(x, d)).compare(Map(x, c.f, d)); wrong != 0 {
				t.Errorf("%s in %v: %d elements are beyond their tolerance, by up to %.1f standard deviations, want none", c.name, d, wrong, worst)
			}
		}
	}
}

// storeBoth converts the result of an operation from the dtype `work`, in which it was
// computed, to dtype d, in which it is stored. It does so for the reference m and for the
// tile t of the machine, and returns both.
func storeBoth(m *Matrix, t tile, work, d numeric.DType) (*Matrix, tile) {
	if work == d {
		return m, t
	}
	return m.Round(d), t.convertTo(d)
}

func matmul(r *rand.Rand, _, d numeric.DType) (*Matrix, tile) {
	a, b := normal(r, 32, 256, 1, d), normal(r, 256, 64, 1, d)
	return MatMul(a, b, 1, d), tileOf(a, d).matmul(tileOf(b, d), 1, d)
}

// mlp returns a chain of two layers with a bias and GELU between them. The sum over k of
// the second layer is divided into the given number of parts.
func mlp(parts int) chain {
	return func(r *rand.Rand, work, d numeric.DType) (*Matrix, tile) {
		x, w1, bias, w2 := normal(r, 32, 64, 1, d), weights(r, 64, 256, d), normal(r, 1, 256, 1, d), weights(r, 256, 64, d)
		h, th := Add(MatMul(x, w1, 1, d), bias, d), tileOf(x, d).matmul(tileOf(w1, d), 1, d).apply(numeric.Add, tileOf(bias, d))
		h, th = storeBoth(Map(h, GELU, work), th.convertTo(work).gelu(), work, d)
		return MatMul(h, w2, parts, d), th.matmul(tileOf(w2, d), parts, d)
	}
}

func elementwise(f Func, machine func(tile) tile) chain {
	return func(r *rand.Rand, work, d numeric.DType) (*Matrix, tile) {
		x := normal(r, 64, 64, 2, d)
		return storeBoth(Map(x, f, work), machine(tileOf(x, d).convertTo(work)), work, d)
	}
}

func softmax(offset int) chain {
	return func(r *rand.Rand, work, d numeric.DType) (*Matrix, tile) {
		x := normal(r, 64, 64, 2, d)
		return storeBoth(Softmax(x, offset, work), tileOf(x, d).convertTo(work).causal(offset).softmax(), work, d)
	}
}

func attention(offset int) chain {
	return func(r *rand.Rand, work, d numeric.DType) (*Matrix, tile) {
		q, k, v := normal(r, 64, 32, 1, d), normal(r, 64, 32, 1, d), normal(r, 64, 32, 1, d)
		scores := tileOf(q, d).dot(tileOf(k, d).transpose()).convertTo(work).scale(1 / math.Sqrt(32))
		p := scores.causal(offset).softmax().convertTo(d)
		return Attention(q, k, v, 1/math.Sqrt(32), offset, work, d), p.matmul(tileOf(v, d), 1, d)
	}
}

func rmsNorm(r *rand.Rand, work, d numeric.DType) (*Matrix, tile) {
	x, gain := normal(r, 64, 96, 1, d), normal(r, 1, 96, 1, d)
	return storeBoth(RMSNorm(x, gain, 1e-5, work), tileOf(x, d).convertTo(work).rmsNorm(tileOf(gain, d).convertTo(work), 1e-5), work, d)
}

// layers computes a transformer of four layers. Each consists of a norm, an attention and a
// perceptron, with residual connections.
func layers(r *rand.Rand, work, d numeric.DType) (*Matrix, tile) {
	const tokens, width = 32, 64
	x := normal(r, tokens, width, 1, d)
	tx := tileOf(x, d)
	linear := func(m *Matrix, t tile, cols, parts int) (*Matrix, tile) {
		w := weights(r, m.Cols, cols, d)
		return MatMul(m, w, parts, d), t.matmul(tileOf(w, d), parts, d)
	}
	for range 4 {
		gain := normal(r, 1, width, 1, d)
		h, th := storeBoth(RMSNorm(x, gain, 1e-5, work), tx.convertTo(work).rmsNorm(tileOf(gain, d).convertTo(work), 1e-5), work, d)
		q, tq := linear(h, th, width, 1)
		k, tk := linear(h, th, width, 1)
		v, tv := linear(h, th, width, 1)
		scores := tq.dot(tk.transpose()).convertTo(work).scale(1.0 / 8)
		o, to := Attention(q, k, v, 1.0/8, 0, work, d), scores.causal(0).softmax().convertTo(d).matmul(tv, 1, d)
		o, to = linear(o, to, width, 4)
		x, tx = Add(x, o, d), tx.apply(numeric.Add, to)

		h, th = storeBoth(RMSNorm(x, gain, 1e-5, work), tx.convertTo(work).rmsNorm(tileOf(gain, d).convertTo(work), 1e-5), work, d)
		h, th = linear(h, th, 4*width, 1)
		h, th = storeBoth(Map(h, SiLU, work), th.convertTo(work).silu(), work, d)
		h, th = linear(h, th, width, 4)
		x, tx = Add(x, h, d), tx.apply(numeric.Add, th)
	}
	return x, tx
}

// weights returns a random matrix whose numbers are so small that its product with an input
// has about the size of the input.
func weights(r *rand.Rand, rows, cols int, d numeric.DType) *Matrix {
	return normal(r, rows, cols, 1/math.Sqrt(float64(rows)), d)
}

// normal returns a matrix of normally distributed numbers of dtype d, with mean 0 and
// standard deviation `size`. Its variances are zero.
func normal(r *rand.Rand, rows, cols int, size float64, d numeric.DType) *Matrix {
	values := make([]float64, rows*cols)
	for i := range values {
		values[i] = size * r.NormFloat64()
	}
	return New(rows, cols, values, d)
}
