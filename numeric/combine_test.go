package numeric

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

var combineOps = []Op{Add, Mul, Maximum, Minimum}

// combineOperands returns pairs of operands of n elements. The first pair is random and
// contains many NaNs. If there is assembly, a second pair gives no NaN, because the
// assembly has a shorter path for groups without NaN.
func combineOperands(d DType, n int) [][2][]byte {
	r := newRand(uint64(d))
	return [][2][]byte{{draw(r, d, n), draw(r, d, n)}, {random(1, d, n), random(2, d, n)}}[:1+boolToInt(vector)]
}

// TestCombine checks that Combine and CombineStreaming give the same bits as Apply without
// assembly. It varies the length, the number of destinations and their alignment, and also
// combines in place.
func TestCombine(t *testing.T) {
	lengths := []int{1000, 4099}
	for n := range 201 {
		lengths = append(lengths, n)
	}
	withAndWithoutVector(t, func(t *testing.T) {
		for _, d := range DTypes {
			for _, op := range combineOps {
				r := newRand(uint64(op)<<8 | uint64(d))
				for _, operands := range combineOperands(d, slices.Max(lengths)) {
					want := make([]byte, len(operands[0]))
					withoutVector(func() { Apply(op, d, want, operands[0], operands[1]) })
					for _, n := range lengths {
						size := n * d.Size()
						checkCombineResult(t, r, op, d, operands[0][:size], operands[1][:size], want[:size])
					}
				}
			}
		}
	})
}

func checkCombineResult(t *testing.T, r *rand.Rand, op Op, d DType, x, y, want []byte) {
	t.Helper()
	for i, combine := range []func(Op, DType, []byte, []byte, ...[]byte){Combine, CombineStreaming} {
		name := []string{"Combine", "CombineStreaming"}[i]
		for _, c := range []struct {
			places int
			inX    int // index of the destination that is also x, or -1
			inY    int // index of the destination that is also y, or -1
		}{{1, -1, -1}, {1, 0, -1}, {1, -1, 0}, {2, -1, -1}, {2, 1, -1}, {2, 1, 0}} {
			// Mostly both have the same offset in a cache line, which streaming needs.
			off := r.IntN(64/d.Size()) * d.Size()
			offsets := [][]int{{0, 0}, {off, off}, {off, 32}, {1, 3}}[r.IntN(4)]
			var dst [][]byte
			var untouched []func()
			for i := range c.places {
				place, check := newGuarded(t, offsets[i], len(x))
				dst, untouched = append(dst, place), append(untouched, check)
			}
			left, right := x, y
			if c.inX >= 0 {
				left = dst[c.inX]
				copy(left, x)
			}
			if c.inY >= 0 {
				right = dst[c.inY]
				copy(right, y)
			}
			combine(op, d, left, right, dst...)
			for i := range dst {
				untouched[i]()
				if !slices.Equal(dst[i], want) {
					at := firstDifference(d, dst[i], want)
					t.Fatalf("%s of %v of %v to %d places, x in %d, y in %d, offsets %v: place %d, element %d of %d is %s, Apply in Go gives %s",
						name, op, d, c.places, c.inX, c.inY, offsets, i, at, len(x)/d.Size(),
						show(d, bitsAt(d, dst[i], at)), show(d, bitsAt(d, want, at)))
				}
			}
		}
	}
}

// TestCombineSeesEveryNaN checks that a NaN at any index of a group, in either operand,
// gives NaN at that index of the result.
func TestCombineSeesEveryNaN(t *testing.T) {
	for _, d := range []DType{F16, BF16, F32, F64} {
		const n = 128
		for _, op := range []Op{Add, Sub, Mul, Div, Maximum, Minimum} {
			for at := range n {
				for which := range 2 {
					operands := [2][]byte{random(1, d, n), random(2, d, n)}
					want, got := make([]byte, n*d.Size()), make([]byte, n*d.Size())
					Apply(op, d, want, operands[0], operands[1])
					setBits(d, want, at, quietNaN[d])
					signalling := quietNaN[d]&(quietNaN[d]-1) | 1 | 1<<(8*d.Size()-1)
					setBits(d, operands[which], at, signalling)
					if Apply(op, d, got, operands[0], operands[1]); !slices.Equal(got, want) {
						i := firstDifference(d, got, want)
						t.Fatalf("%v of %v, NaN at %d of operand %d: element %d is %s, want %s", op, d, at, which, i, show(d, bitsAt(d, got, i)), show(d, bitsAt(d, want, i)))
					}
				}
			}
		}
	}
}

// TestCopyStreaming checks that CopyStreaming fills a destination that is shorter than the
// source, and writes nothing outside of the destination.
func TestCopyStreaming(t *testing.T) {
	all := random(1, U8, 9999)
	lengths := []int{4096, 9996}
	for n := range 400 {
		lengths = append(lengths, n)
	}
	withAndWithoutVector(t, func(t *testing.T) {
		for _, n := range lengths {
			for _, offset := range []int{0, 1, 32, 63} {
				dst, untouched := newGuarded(t, offset, n)
				CopyStreaming(dst, all[3:])
				untouched()
				if want := all[3 : 3+n]; !slices.Equal(dst, want) {
					i := firstDifference(U8, dst, want)
					t.Fatalf("byte %d of %d at offset %d is %d, want %d", i, n, offset, dst[i], want[i])
				}
			}
		}
	})
}

// TestCombineMisusePanics checks that Combine panics with a clear message if the caller
// passes wrong arguments.
func TestCombineMisusePanics(t *testing.T) {
	two, four := make([]byte, 2), make([]byte, 4)
	for _, c := range []struct {
		name, want string
		f          func()
	}{
		{"operation", "numeric: Combine does not do sub: use Add, Mul, Maximum or Minimum, or Apply for others",
			func() { Combine(Sub, F16, two, two, two) }},
		{"no place", "numeric: Combine got 0 destinations, wants one or two", func() { Combine(Add, F16, two, two) }},
		{"three places", "numeric: Combine got 3 destinations, wants one or two", func() { CombineStreaming(Add, F16, two, two, two, two, two) }},
		{"part of an element", "numeric: Combine of f32: 2 bytes are no whole number of elements", func() { Combine(Add, F32, two, two, two) }},
		{"operands", "numeric: Combine of 4 and 2 bytes into 4: pass as many of each", func() { Combine(Add, F16, four, two, four) }},
		{"second place", "numeric: Combine of 4 and 4 bytes into 2: pass as many of each", func() { Combine(Add, F16, four, four, four, two) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); got != c.want {
					t.Errorf("panics with %q, want %q", got, c.want)
				}
			}()
			c.f()
		})
	}
}
