package numeric

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"
)

// The smallest permitted speedups. The ratio benchmarks also run the simplest code, and fail
// if the package is less than this many times as fast.
const (
	minDotRatio    = 4
	minF16AddRatio = 10
)

// naiveDot adds the product of a and b to acc with three simple loops, over i, j and k.
func naiveDot(acc, a, b []float32, m, k, n int) {
	for i := range m {
		for j := range n {
			sum := acc[i*n+j]
			for p := range k {
				sum += float32(a[i*k+p] * b[p*n+j])
			}
			acc[i*n+j] = sum
		}
	}
}

// BenchmarkDotRatio measures how much faster Dot is than naiveDot.
func BenchmarkDotRatio(b *testing.B) {
	const n = 256
	x, y, acc := random(1, F32, n*n), random(2, F32, n*n), random(3, F32, n*n)
	fx, fy, facc := floats(x), floats(y), floats(acc)
	compareTimes(b, minDotRatio, "triple-loop", 4,
		func() { Dot(F32, acc, x, y, n, n, n) },
		func() { naiveDot(facc, fx, fy, n, n, n) })
}

// scalarAddF16 adds f16 elements in the simplest way: it converts two elements to f32, adds
// them and converts the sum back.
func scalarAddF16(dst, x, y []byte) {
	for i := 0; i < len(dst); i += 2 {
		sum := F16ToF32(binary.LittleEndian.Uint16(x[i:])) + F16ToF32(binary.LittleEndian.Uint16(y[i:]))
		binary.LittleEndian.PutUint16(dst[i:], F32ToF16(sum))
	}
}

// BenchmarkF16AddRatio measures how much faster Apply adds f16 elements than scalarAddF16
// does.
func BenchmarkF16AddRatio(b *testing.B) {
	const n = 64 << 10
	x, y, dst := random(1, F16, n), random(2, F16, n), make([]byte, 2*n)
	compareTimes(b, minF16AddRatio, "scalar", 100,
		func() { Apply(Add, F16, dst, x, y) },
		func() { scalarAddF16(dst, x, y) })
}

// compareTimes measures the functions `ours` and `theirs` in alternation and uses the
// fastest round of each, so that other load on the computer affects both equally. It fails
// if `theirs` takes less than `least` times as long as `ours`. A round consists of `steps`
// calls. `name` is the name of `theirs` in the report. On a processor without the vector
// instructions, compareTimes skips the benchmark.
func compareTimes(b *testing.B, least float64, name string, steps int, ours, theirs func()) {
	if !vector {
		b.Skip("no AVX2 and F16C: nothing is promised")
	}
	rounds := max(b.N, 5)
	best := [2]time.Duration{1 << 62, 1 << 62}
	for range rounds {
		for i, f := range []func(){ours, theirs} {
			start := time.Now()
			for range steps {
				f()
			}
			best[i] = min(best[i], time.Since(start)/time.Duration(steps))
		}
	}
	ratio := float64(best[1]) / float64(best[0])
	b.ReportMetric(0, "ns/op") // the time of both together means nothing
	b.ReportMetric(float64(best[0].Nanoseconds()), "ns/ours")
	b.ReportMetric(float64(best[1].Nanoseconds()), "ns/"+name)
	b.ReportMetric(ratio, "x")
	if ratio < least {
		b.Fatalf("%.1f times as fast as %s, want at least %v", ratio, name, least)
	}
}

// BenchmarkDot measures Dot for several dtypes and sizes. 32×64×32 is a tile of the default
// machine.
func BenchmarkDot(b *testing.B) {
	for _, d := range []DType{F16, BF16, F32, F64, I8, I32} {
		for _, s := range [][3]int{{1, 256, 256}, {32, 64, 32}, {256, 256, 256}} {
			b.Run(fmt.Sprintf("%v/%dx%dx%d", d, s[0], s[1], s[2]), func(b *testing.B) {
				m, k, n := s[0], s[1], s[2]
				x, y, acc := random(1, d, m*k), random(2, d, k*n), make([]byte, m*n*DotType(d).Size())
				b.ReportAllocs()
				for b.Loop() {
					Dot(d, acc, x, y, m, k, n)
				}
				b.ReportMetric(float64(m*k*n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "mac/ns")
			})
		}
	}
}

// BenchmarkApply measures Apply for several operations and dtypes, on a tile of 4 Ki
// elements.
func BenchmarkApply(b *testing.B) {
	const n = 4 << 10
	for _, d := range []DType{F16, F32, F64, I32} {
		for _, op := range []Op{Add, Div, Maximum, Lt, Neg, Exp, Log, Rsqrt, Sigmoid, Tanh, FMA, Clamp, Where, BitAnd, BitXor} {
			if !Supports(op, d) {
				continue
			}
			b.Run(fmt.Sprintf("%v/%v", d, op), func(b *testing.B) {
				args := randomArgs(op, d, n)
				dst := make([]byte, n*op.Result(d).Size())
				b.ReportAllocs()
				for b.Loop() {
					Apply(op, d, dst, args...)
				}
				perElement(b, n)
			})
		}
	}
}

func BenchmarkReduce(b *testing.B) {
	for _, d := range []DType{F16, F32, I32} {
		for _, shape := range [][3]int{{64, 64, 1}, {1, 64, 64}} {
			b.Run(fmt.Sprintf("%v/%v", d, shape), func(b *testing.B) {
				src, dst := random(1, d, 64*64), make([]byte, 64*d.Size())
				b.ReportAllocs()
				for b.Loop() {
					Reduce(Sum, d, dst, src, shape[0], shape[1], shape[2])
				}
				perElement(b, 64*64)
			})
		}
	}
}

func BenchmarkSoftmax(b *testing.B) {
	for _, d := range []DType{F16, F64} {
		b.Run(d.String(), func(b *testing.B) {
			src := random(1, d, 64*64)
			b.ReportAllocs()
			for b.Loop() {
				Softmax(d, src, src, 64, 64)
			}
			perElement(b, 64*64)
		})
	}
}

func BenchmarkCast(b *testing.B) {
	const n = 4 << 10
	for _, c := range [][2]DType{{F32, F16}, {F16, F32}, {F32, BF16}, {F32, F64}, {F32, I8}, {I8, I32}} {
		b.Run(fmt.Sprintf("%v-%v", c[0], c[1]), func(b *testing.B) {
			src, dst := random(1, c[0], n), make([]byte, n*c[1].Size())
			b.ReportAllocs()
			for b.Loop() {
				Cast(c[1], dst, c[0], src)
			}
			perElement(b, n)
		})
	}
}

// perElement reports the time per element of a benchmark whose iterations each process n
// elements.
func perElement(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/element")
}

// random returns n random elements of dtype d: floats between -2 and 2, or small integers.
func random(seed uint64, d DType, n int) []byte {
	r := newRand(seed)
	buf := make([]byte, n*d.Size())
	for i := range n {
		if d.IsFloat() {
			Set(d, buf, i, 4*r.Float64()-2)
		} else {
			SetInt(d, buf, i, int64(r.Uint64N(100)))
		}
	}
	return buf
}

func randomArgs(op Op, d DType, n int) [][]byte {
	args := make([][]byte, op.Arity())
	for i := range args {
		args[i] = random(uint64(i), d, n)
	}
	if op == Where {
		args[0] = random(0, U8, n)
	}
	return args
}

func floats(b []byte) []float32 {
	f := make([]float32, len(b)/4)
	for i := range f {
		f[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return f
}
