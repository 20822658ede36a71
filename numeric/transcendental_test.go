package numeric

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/big"
	"testing"
)

// transcendentals lists the functions, each with an exact reference (to at least 150 bits)
// and an approximate one from package math (to about 2^-50).
var transcendentals = []struct {
	op          Op
	ours        func(float64) float64
	exact       func(float64) *big.Float
	approximate func(float64) float64
}{
	{Exp, exp, func(x float64) *big.Float { return bigExp(wide(x)) }, math.Exp},
	{Log, log, bigLog, math.Log},
	{Rsqrt, rsqrt, bigRsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }},
	{Sigmoid, sigmoid, bigSigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	{Tanh, tanh, bigTanh, math.Tanh},
}

// bigPrec is the precision of exact references in bits.
const bigPrec = 400

func wide(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

// bigExp returns e^x. It halves x until a short Taylor series is exact enough, and then
// squares the result once for each halving.
func bigExp(x *big.Float) *big.Float {
	halvings := max(0, x.MantExp(nil)+16)
	r := new(big.Float).SetMantExp(x, -halvings)
	sum, term := wide(1), wide(1)
	for i := 1; i <= 24; i++ {
		term.Quo(term.Mul(term, r), wide(float64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog returns the natural logarithm of x. It starts with an approximation y, which is
// exact to 2^-50. The result is y + 2(x-e^y)/(x+e^y), which is exact to 2^-150. bigLog
// splits off the exponent of x, because math.Log is inaccurate for subnormals on some
// machines.
func bigLog(x float64) *big.Float {
	f, exponent := math.Frexp(x)
	y := wide(math.Log(f) + float64(exponent)*math.Ln2)
	e := bigExp(y)
	step := new(big.Float).Sub(wide(x), e)
	step.Quo(step, e.Add(e, wide(x)))
	return y.Add(y, step.Add(step, step))
}

func bigRsqrt(x float64) *big.Float {
	root := new(big.Float).SetPrec(bigPrec).Sqrt(wide(x))
	return root.Quo(wide(1), root)
}

func bigSigmoid(x float64) *big.Float {
	e := bigExp(wide(-x))
	return e.Quo(wide(1), e.Add(e, wide(1)))
}

func bigTanh(x float64) *big.Float {
	if math.Abs(x) > 100 {
		return wide(math.Copysign(1, x))
	}
	if math.Abs(x) < 0x1p-60 { // x - x³/3; the rest is below 2^-120
		cube := wide(x)
		cube.Mul(cube, wide(x))
		cube.Mul(cube, wide(x))
		return cube.Sub(wide(x), cube.Quo(cube, wide(3)))
	}
	e := bigExp(wide(2 * x))
	above := new(big.Float).Sub(e, wide(1))
	return above.Quo(above, e.Add(e, wide(1)))
}

// maxError is the largest permitted error of float64 functions, in units in the last
// place.
const maxError = 0.85

// TestTranscendentalAccuracy checks that the error of each float64 function is at most
// maxError.
func TestTranscendentalAccuracy(t *testing.T) {
	for _, f := range transcendentals {
		worst, at := 0.0, 0.0
		for _, x := range accuracyPoints(f.op) {
			if e := ulps(f.ours(x), f.exact(x)); e > worst {
				worst, at = e, x
			}
		}
		t.Logf("%v: at most %.3f units in the last place wrong, at %v", f.op, worst, at)
		if worst > maxError {
			t.Errorf("%v(%v) is %v, wrong by %.3f units in the last place, want at most %v", f.op, at, f.ours(at), worst, maxError)
		}
	}
}

// accuracyPoints returns arguments of op with finite results: numbers of every magnitude,
// numbers in the range where results change most, and numbers at the boundaries between the
// cases of the code.
func accuracyPoints(op Op) []float64 {
	r := newRand(uint64(op))
	var xs []float64
	add := func(x float64) {
		if op == Log || op == Rsqrt {
			if x = math.Abs(x); x == 0 {
				return
			}
		}
		if limit := 745.; op == Exp && (x > 709.78 || x < -limit) || op == Sigmoid && math.Abs(x) > limit || math.IsInf(x, 0) || x != x {
			return
		}
		xs = append(xs, x)
	}
	for range 1000 {
		add(math.Float64frombits(r.Uint64()))
		add(math.Ldexp(r.Float64()-0.5, r.IntN(40)-29))
		add(8*r.Float64() - 4)
		add(1 + (r.Float64()-0.5)/50)
	}
	for k := -60; k <= 60; k++ { // where the range reduction changes the exponent
		for _, x := range []float64{(float64(k) + 0.5) * math.Ln2, float64(k) * math.Ln2, math.Ldexp(math.Sqrt2, k), math.Ldexp(1, 17*k), float64(k)} {
			add(math.Nextafter(x, 0))
			add(x)
			add(math.Nextafter(x, math.Inf(1)))
		}
	}
	for _, x := range []float64{709.78, -708.4, -740.5, -744.9, 20, 37.5, 38, 0x1p-1074, 0x1.8p-1060, 0x1p-900, math.MaxFloat64} {
		add(x)
		add(-x)
	}
	return xs
}

// ulps returns the difference between got and want in units in the last place of want.
func ulps(got float64, want *big.Float) float64 {
	rounded, _ := want.Float64()
	_, exponent := math.Frexp(rounded)
	ulp := math.Ldexp(1, max(exponent-53, -1074))
	diff := new(big.Float).Sub(wide(got), want)
	e, _ := diff.Quo(diff, wide(ulp)).Float64()
	return math.Abs(e)
}

// TestTranscendentalsOfAllHalves checks that the result for every f16 and bf16 is correctly
// rounded. The expected value comes from package math or, close to a midpoint between two
// values, from the exact reference.
func TestTranscendentalsOfAllHalves(t *testing.T) {
	for _, d := range []DType{F16, BF16} {
		src := make([]byte, 2<<16)
		for bits := range 1 << 16 {
			setBits(d, src, bits, uint64(bits))
		}
		dst := make([]byte, len(src))
		for _, f := range transcendentals {
			Apply(f.op, d, dst, src)
			for bits := range 1 << 16 {
				x := decode(d, uint64(bits))
				y := f.approximate(x)
				want := nearestF64(d, y*(1+0x1p-48))
				if want != nearestF64(d, y*(1-0x1p-48)) {
					want = nearest(d, f.exact(x))
				}
				if got := bitsAt(d, dst, bits); got != want {
					t.Fatalf("%v of %v %s is %s, want %s", f.op, d, show(d, uint64(bits)), show(d, got), show(d, want))
				}
			}
		}
	}
}

// TestTranscendentalsOfF32 checks that results for f32 are correctly rounded. If the exact
// result times 1±2^-52 rounds to another value, that value is accepted too. The argument 0
// and arguments without a finite result are not checked.
func TestTranscendentalsOfF32(t *testing.T) {
	for _, f := range transcendentals {
		points := accuracyPoints(f.op)
		src, dst := make([]byte, 4*len(points)), make([]byte, 4*len(points))
		for i, x := range points {
			Set(F32, src, i, x)
		}
		Apply(f.op, F32, dst, src)
		for i := range points {
			x := Get(F32, src, i)
			if y := f.approximate(x); y != y || math.IsInf(y, 0) || x == 0 {
				continue
			}
			v := f.exact(x)
			low, high := nearest(F32, nudge(v, 1-0x1p-52)), nearest(F32, nudge(v, 1+0x1p-52))
			if got := bitsAt(F32, dst, i); got != low && got != high {
				t.Fatalf("%v of f32 %v is %s, want %s", f.op, x, show(F32, got), show(F32, nearest(F32, v)))
			}
		}
	}
}

// nudge returns v multiplied by the factor `by`, which is close to 1.
func nudge(v *big.Float, by float64) *big.Float { return new(big.Float).Mul(v, wide(by)) }

// TestTranscendentalsAreTheSameEverywhere checks that the hash of many results equals a
// fixed value. This makes sure that results are the same on all machines, including those
// whose compilers fuse products and sums.
func TestTranscendentalsAreTheSameEverywhere(t *testing.T) {
	want := map[Op]uint64{
		Exp: 0x5aa687e6e13ad280, Log: 0xce3ccfb203ba9666, Rsqrt: 0x64e71505e77a087f,
		Sigmoid: 0xbdf9565fa5dcc576, Tanh: 0x3eeecb0232063d31,
	}
	for _, f := range transcendentals {
		hash := fnv.New64a()
		for _, x := range accuracyPoints(f.op) {
			hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f.ours(x))))
		}
		if got := hash.Sum64(); got != want[f.op] {
			t.Errorf("%v: the results sum up to %#x, want %#x", f.op, got, want[f.op])
		}
	}
}
