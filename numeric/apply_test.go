package numeric

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

var elementwiseOps = []Op{Add, Sub, Mul, Div, Maximum, Minimum, Lt, Le, Gt, Ge, Eq, Ne, Neg, Abs, Sqrt, FMA, Clamp, Where, BitAnd, BitOr, BitXor}

// TestApply checks that operations with exact results give the same bits as the reference,
// for every tuple of special values and for random values of several lengths.
func TestApply(t *testing.T) {
	withAndWithoutVector(t, func(t *testing.T) {
		for _, op := range elementwiseOps {
			for _, d := range DTypes {
				if !Supports(op, d) {
					continue
				}
				if !vector || op <= Minimum {
					checkApplyResult(t, op, d, allTuples(op, d))
				}
				r := newRand(uint64(op)<<8 | uint64(d))
				for _, n := range []int{0, 1, 2, 7, 8, 9, 31, 127, 128, 129, 300} {
					checkApplyResult(t, op, d, drawArgs(r, op, d, n))
				}
			}
		}
	})
}

// TestFMARoundsOnce checks FMA for products that are halfway between two values of the
// dtype, where even the smallest addend decides the rounding.
func TestFMARoundsOnce(t *testing.T) {
	for d, digits := range map[DType]int{F16: 11, BF16: 8, F32: 24, F64: 53} {
		var args [3][]uint64
		for k := 1; k < digits; k++ {
			for _, c := range specials(d) {
				// (1 + 2^-k)·(1 + 2^(k-digits)) = 1 + 2^-k + 2^(k-digits) + 2^-digits
				for a, v := range []uint64{nearestF64(d, 1+math.Ldexp(1, -k)), nearestF64(d, 1+math.Ldexp(1, k-digits)), c} {
					args[a] = append(args[a], v)
				}
			}
		}
		values := make([][]byte, 3)
		for a := range args {
			values[a] = make([]byte, len(args[a])*d.Size())
			for i, bits := range args[a] {
				setBits(d, values[a], i, bits)
			}
		}
		checkApplyResult(t, FMA, d, values)
	}
}

// allTuples returns arguments for op that together contain every combination of the special
// values of d.
func allTuples(op Op, d DType) [][]byte {
	n := 1
	for i := range op.Arity() {
		n *= len(specials(argType(op, d, i)))
	}
	args := make([][]byte, op.Arity())
	period := 1
	for a := range args {
		of := argType(op, d, a)
		all := specials(of)
		args[a] = make([]byte, n*of.Size())
		for i := range n {
			setBits(of, args[a], i, all[i/period%len(all)])
		}
		period *= len(all)
	}
	return args
}

// checkApplyResult checks that Apply gives the same bits as the reference for args. It also
// checks that Apply does not change args and writes nothing outside of the destination.
func checkApplyResult(t *testing.T, op Op, d DType, args [][]byte) {
	t.Helper()
	to := op.Result(d)
	n := len(args[0]) / argType(op, d, 0).Size()
	dst, check := newGuarded(t, n%3, n*to.Size())
	before := make([][]byte, len(args))
	for i := range args {
		before[i] = slices.Clone(args[i])
	}
	Apply(op, d, dst, args...)
	check()
	for i := range n {
		operands := make([]uint64, len(args))
		text := ""
		for a := range args {
			operands[a] = bitsAt(argType(op, d, a), before[a], i)
		}
		got, want := bitsAt(to, dst, i), refApply(op, d, operands)
		if got == want {
			continue
		}
		for a, bits := range operands {
			text += " " + show(argType(op, d, a), bits)
		}
		t.Fatalf("%v of %v, element %d of %d:%s gives %s, want %s", op, d, i, n, text, show(to, got), show(to, want))
	}
	for a := range args {
		if !slices.Equal(args[a], before[a]) {
			t.Fatalf("%v of %v changed argument %d", op, d, a)
		}
	}
}

// TestApplyInPlace checks that Apply gives the same result if its destination is also its
// last argument.
func TestApplyInPlace(t *testing.T) {
	withAndWithoutVector(t, func(t *testing.T) {
		for _, op := range elementwiseOps {
			for _, d := range DTypes {
				if !Supports(op, d) || op.IsComparison() && d.Size() != 1 {
					continue
				}
				args := drawArgs(newRand(7), op, d, 301)
				want := make([]byte, 301*d.Size())
				Apply(op, d, want, args...)
				last := args[len(args)-1]
				if Apply(op, d, last, args...); !slices.Equal(last, want) {
					t.Errorf("%v of %v in place differs at element %d", op, d, Equal(d, last, want))
				}
			}
		}
	})
}

// TestSpecialResults checks results for special operands against bit patterns written in
// the test, not against the reference.
func TestSpecialResults(t *testing.T) {
	const zero, minusZero, one, quiet = 0, 0x8000, 0x3c00, 0x7e00
	for _, c := range []struct {
		op   Op
		args []uint64
		want uint64
	}{
		{Maximum, []uint64{minusZero, zero}, zero},
		{Maximum, []uint64{zero, minusZero}, zero},
		{Minimum, []uint64{minusZero, zero}, minusZero},
		{Minimum, []uint64{zero, minusZero}, minusZero},
		{Maximum, []uint64{one, 0xfc01}, quiet},
		{Minimum, []uint64{0x7d00, one}, quiet},
		{Sub, []uint64{0x7c00, 0x7c00}, quiet},
		{Neg, []uint64{0xfe01}, quiet},
		{Abs, []uint64{minusZero}, zero},
		{Clamp, []uint64{0xfe01, zero, one}, quiet},
		{Where, []uint64{2, 0xfc01, one}, 0xfc01},
		{Sqrt, []uint64{minusZero}, minusZero},
		{Rsqrt, []uint64{minusZero}, 0xfc00},
		{Rsqrt, []uint64{zero}, 0x7c00},
		{Rsqrt, []uint64{0x7c00}, zero},
		{Rsqrt, []uint64{0xbc00}, quiet},
		{Log, []uint64{minusZero}, 0xfc00},
		{Log, []uint64{0xbc00}, quiet},
		{Log, []uint64{one}, zero},
		{Exp, []uint64{0xfc00}, zero},
		{Exp, []uint64{minusZero}, one},
		{Sigmoid, []uint64{zero}, 0x3800},
		{Sigmoid, []uint64{0xfc00}, zero},
		{Sigmoid, []uint64{0x7c00}, one},
		{Tanh, []uint64{minusZero}, minusZero},
		{Tanh, []uint64{0xfc00}, 0xbc00},
		{Tanh, []uint64{0xffff}, quiet},
	} {
		for _, n := range []int{1, 8} { // Go converts one element, assembly eight if there is any
			args := make([][]byte, len(c.args))
			for a, bits := range c.args {
				of := argType(c.op, F16, a)
				args[a] = make([]byte, n*of.Size())
				for i := range n {
					setBits(of, args[a], i, bits)
				}
			}
			dst := make([]byte, 2*n)
			Apply(c.op, F16, dst, args...)
			if got := bitsAt(F16, dst, n-1); got != c.want {
				t.Errorf("%v of f16 %#x: %#x, want %#x", c.op, c.args, got, c.want)
			}
		}
	}
}

// TestMisusePanics checks that functions of the package panic with a message if the caller
// passes wrong arguments.
func TestMisusePanics(t *testing.T) {
	two, four := make([]byte, 2), make([]byte, 4)
	for name, f := range map[string]func(){
		"unsupported dtype":     func() { Apply(Exp, I32, four, four) },
		"bits of floats":        func() { Apply(BitAnd, F32, four, four, four) },
		"unknown operation":     func() { Apply(0, F16, two, two) },
		"unknown dtype":         func() { Apply(Add, 0, two, two, two) },
		"reduction":             func() { Apply(Sum, F16, two, two) },
		"argument count":        func() { Apply(Add, F16, two, two) },
		"argument length":       func() { Apply(Add, F16, four, four, two) },
		"condition length":      func() { Apply(Where, F16, four, four, four, four) },
		"part of an element":    func() { Apply(Neg, F32, two, two) },
		"Reduce operation":      func() { Reduce(Add, F16, two, two, 1, 1, 1) },
		"Reduce shape":          func() { Reduce(Sum, F16, two, four, 1, 3, 1) },
		"Reduce negative":       func() { Reduce(Sum, F16, two, two, -1, 1, -1) },
		"Softmax of integers":   func() { Softmax(I16, two, two, 1, 1) },
		"Softmax shape":         func() { Softmax(F16, two, four, 1, 2) },
		"Dot accumulator":       func() { Dot(F16, two, two, two, 1, 1, 1) },
		"Cast length":           func() { Cast(F32, four, F16, four) },
		"element out of bounds": func() { Get(F16, two, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r == nil {
					t.Error("did not panic")
				} else if fmt.Sprint(r) == "" {
					t.Error("panicked without saying why")
				}
			}()
			f()
		})
	}
}
