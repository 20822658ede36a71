package numeric

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestVectorEqualsGo checks that the assembly gives the same bits as the Go code, for
// random lengths, alignments and values.
func TestVectorEqualsGo(t *testing.T) {
	if !vector {
		t.Skip("no AVX2 and F16C")
	}
	ops := []Op{Add, Sub, Mul, Div, Maximum, Minimum}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]DType{F16, BF16, F32, F64, I32, I64, U32, U64}).Draw(t, "dtype")
		op := rapid.SampledFrom(ops).Draw(t, "op")
		n := rapid.IntRange(0, 2000).Draw(t, "n")
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		args := drawArgs(r, op, d, n)
		fast, slow := newMisaligned(r.IntN(32), n*d.Size()), make([]byte, n*d.Size())
		Apply(op, d, fast, args...)
		withoutVector(func() { Apply(op, d, slow, args...) })
		if !slices.Equal(fast, slow) {
			i := firstDifference(d, fast, slow)
			t.Fatalf("%v of %v, element %d of %d: assembly gives %s, Go %s", op, d, i, n, show(d, bitsAt(d, fast, i)), show(d, bitsAt(d, slow, i)))
		}
	})
}

// firstDifference returns the index of the first element whose bits differ between a and b.
// At least one element must differ.
func firstDifference(d DType, a, b []byte) int {
	i := 0
	for bitsAt(d, a, i) == bitsAt(d, b, i) {
		i++
	}
	return i
}

// TestVectorOnAllHalves checks that the assembly gives the same bits as Go for every f16
// and bf16, combined with each special value.
func TestVectorOnAllHalves(t *testing.T) {
	if !vector {
		t.Skip("no AVX2 and F16C")
	}
	const n = 1 << 16
	for _, d := range []DType{F16, BF16} {
		x, y := make([]byte, 2*n), make([]byte, 2*n)
		fast, slow := make([]byte, 2*n), make([]byte, 2*n)
		for i := range n {
			setBits(d, x, i, uint64(i))
		}
		for _, bits := range specials(d) {
			for i := range n {
				setBits(d, y, i, bits)
			}
			for _, op := range []Op{Add, Mul, Div, Maximum} {
				Apply(op, d, fast, x, y)
				withoutVector(func() { Apply(op, d, slow, x, y) })
				if !slices.Equal(fast, slow) {
					i := firstDifference(d, fast, slow)
					t.Fatalf("%v of %v %#x and %#x: assembly gives %s, Go %s", op, d, i, bits, show(d, bitsAt(d, fast, i)), show(d, bitsAt(d, slow, i)))
				}
			}
		}
	}
}

// TestNothingAllocates checks that the functions of the package allocate no memory for
// values of 300 elements.
func TestNothingAllocates(t *testing.T) {
	const n = 300
	check := func(name string, f func()) {
		t.Helper()
		f() // fill the pools
		if got := testing.AllocsPerRun(20, f); got != 0 {
			t.Errorf("%s allocates %v times, want 0", name, got)
		}
	}
	for _, d := range DTypes {
		for op := Add; op.Valid(); op++ {
			if !op.IsElementwise() || !Supports(op, d) {
				continue
			}
			args, dst := randomArgs(op, d, n), make([]byte, n*op.Result(d).Size())
			check(op.String()+" of "+d.String(), func() {
				switch len(args) {
				case 1:
					Apply(op, d, dst, args[0])
				case 2:
					Apply(op, d, dst, args[0], args[1])
				case 3:
					Apply(op, d, dst, args[0], args[1], args[2])
				}
			})
		}
		x, y, dst := random(1, d, n), random(2, d, n), make([]byte, 8*n)
		check("reducing "+d.String(), func() {
			Reduce(Sum, d, dst[:10*d.Size()], x, 10, n/10, 1)
			Reduce(Max, d, dst[:10*d.Size()], x, 1, n/10, 10)
		})
		to, also := dst[:n*d.Size()], make([]byte, n*d.Size())
		for _, op := range combineOps {
			check(op.String()+" of "+d.String()+" to one place and two", func() {
				Combine(op, d, x, y, to)
				Combine(op, d, x, y, to, also)
				CombineStreaming(op, d, x, y, to)
				CombineStreaming(op, d, x, y, to, also)
			})
		}
		check("streaming "+d.String(), func() { CopyStreaming(to, x) })
		check("dot of "+d.String(), func() { Dot(d, dst[:100*DotType(d).Size()], x, y, 10, n/10, 10) })
		check("casting "+d.String(), func() { Cast(F16, dst[:2*n], d, x) })
		if d.IsFloat() {
			check("softmax of "+d.String(), func() { Softmax(d, x, x, 3, n/3) })
		}
	}
}

// TestConcurrentDots checks that concurrent calls of Dot give correct results, although
// they take their buffers from a common pool.
func TestConcurrentDots(t *testing.T) {
	const m, k, n = 20, 30, 40
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			a, b := random(seed, F16, m*k), random(seed+100, F16, k*n)
			want, got := make([]byte, 4*m*n), make([]byte, 4*m*n)
			Dot(F16, want, a, b, m, k, n)
			for range 50 {
				clear(got)
				if Dot(F16, got, a, b, m, k, n); !slices.Equal(got, want) {
					t.Errorf("the same product differs at element %d", Equal(F32, got, want))
				}
			}
		})
	}
	wg.Wait()
}
