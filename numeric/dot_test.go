package numeric

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDot checks that Dot gives the same bits as the reference, for several dtypes and
// shapes.
func TestDot(t *testing.T) {
	shapes := [][3]int{{0, 3, 3}, {3, 0, 3}, {3, 3, 0}, {1, 1, 1}, {1, 5, 16}, {5, 3, 17}, {4, 7, 15}, {7, 20, 33}, {6, 130, 9}, {66, 3, 130}, {3, 260, 20}}
	withAndWithoutVector(t, func(t *testing.T) {
		for _, d := range DTypes {
			if vector && DotType(d) != F32 {
				continue
			}
			r := newRand(uint64(d))
			for _, s := range shapes {
				m, k, n := s[0], s[1], s[2]
				acc := draw(r, DotType(d), m*n)
				checkDot(t, d, acc, draw(r, d, m*k), draw(r, d, k*n), m, k, n)
				// Sums of drawn values soon become NaN or infinite; these do not.
				checkDot(t, d, random(1, DotType(d), m*n), random(2, d, m*k), random(3, d, k*n), m, k, n)
			}
		}
	})
}

func checkDot(t *testing.T, d DType, acc, a, b []byte, m, k, n int) {
	t.Helper()
	to := DotType(d)
	got, check := newGuarded(t, n%5, len(acc))
	copy(got, acc)
	Dot(d, got, a, b, m, k, n)
	check()
	for i := range m {
		for j := range n {
			want := bitsAt(to, acc, i*n+j)
			for p := range k {
				want = refMultiplyAdd(d, want, bitsAt(d, a, i*k+p), bitsAt(d, b, p*n+j))
			}
			if got := bitsAt(to, got, i*n+j); got != want {
				t.Fatalf("dot of %v %dx%dx%d at (%d, %d): %s, want %s", d, m, k, n, i, j, show(to, got), show(to, want))
			}
		}
	}
}

// refMultiplyAdd returns sum + x·y for elements of dtype d. The product is rounded before
// it is added.
func refMultiplyAdd(d DType, sum, x, y uint64) uint64 {
	switch to := DotType(d); to {
	case F32:
		product := float32(decode(d, x)) * float32(decode(d, y))
		s := math.Float32frombits(uint32(sum)) + float32(product)
		if s != s {
			return quietNaN[F32]
		}
		return uint64(math.Float32bits(s))
	case F64:
		product := math.Float64frombits(x) * math.Float64frombits(y)
		s := math.Float64frombits(sum) + float64(product)
		if s != s {
			return quietNaN[F64]
		}
		return math.Float64bits(s)
	default:
		product := new(big.Int).Mul(intOf(d, x), intOf(d, y))
		return intBits(to, product.Add(product, intOf(to, sum)))
	}
}

// TestDotInParts checks that two calls of Dot, each for a part of K, give the same bits as
// one call. The first of the two calls runs without the assembly, so that the test also
// checks that the assembly gives the same bits as Go.
func TestDotInParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(DTypes).Draw(t, "dtype")
		m, k, n := rapid.IntRange(0, 70).Draw(t, "m"), rapid.IntRange(0, 150).Draw(t, "k"), rapid.IntRange(0, 140).Draw(t, "n")
		part := rapid.IntRange(0, k).Draw(t, "part")
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		values := func(d DType, n int) []byte {
			if r.IntN(2) == 0 {
				return draw(r, d, n)
			}
			return random(r.Uint64(), d, n)
		}
		a, b, acc := values(d, m*k), values(d, k*n), values(DotType(d), m*n)

		whole := slices.Clone(acc)
		Dot(d, whole, a, b, m, k, n)
		parts := slices.Clone(acc)
		withoutVector(func() {
			Dot(d, parts, columns(a, m, k*d.Size(), 0, part*d.Size()), b[:part*n*d.Size()], m, part, n)
		})
		Dot(d, parts, columns(a, m, k*d.Size(), part*d.Size(), k*d.Size()), b[part*n*d.Size():], m, k-part, n)
		// With k = 0 nothing is written, not even a quiet NaN for another NaN.
		if i := Equal(DotType(d), whole, parts); i >= 0 || k > 0 && !slices.Equal(whole, parts) {
			t.Fatalf("dot of %v %dx%dx%d in parts from %d on: element %d is %s, want %s", d, m, k, n, part, i,
				show(DotType(d), bitsAt(DotType(d), parts, max(i, 0))), show(DotType(d), bitsAt(DotType(d), whole, max(i, 0))))
		}
	})
}

// columns returns the bytes in [from, to) of each of the m rows of a. Each row is `row`
// bytes long.
func columns(a []byte, m, row, from, to int) []byte {
	var part []byte
	for i := range m {
		part = append(part, a[i*row+from:i*row+to]...)
	}
	return part
}

// withoutVector runs f with the assembly switched off.
func withoutVector(f func()) {
	was := vector
	defer func() { vector = was }()
	vector = false
	f()
}

func TestDotType(t *testing.T) {
	want := map[DType]DType{F16: F32, BF16: F32, F32: F32, F64: F64, I8: I32, I16: I32, I32: I32, I64: I64, U8: I32, U16: I32, U32: I32, U64: I64}
	for _, d := range DTypes {
		if got := DotType(d); got != want[d] {
			t.Errorf("DotType(%v) is %v, want %v", d, got, want[d])
		}
	}
}
