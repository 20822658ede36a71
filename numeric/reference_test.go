package numeric

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"sort"
)

// The reference computes elements, given as bit patterns, one at a time with exact
// numbers, and rounds by searching for the nearest value. It shares no code with the
// package.

// exactPrec is a precision in bits at which sums and products of any two float64, and
// their sums, are exact.
const exactPrec = 5000

func bitsAt(d DType, buf []byte, i int) uint64 {
	var word [8]byte
	copy(word[:], buf[i*d.Size():(i+1)*d.Size()])
	return binary.LittleEndian.Uint64(word[:])
}

func setBits(d DType, buf []byte, i int, bits uint64) {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], bits)
	copy(buf[i*d.Size():(i+1)*d.Size()], word[:])
}

// halves holds the values of the bit patterns from 0 to infinity of F16 and BF16. Infinity
// has the value that the next finite number would have.
var halves = map[DType][]float64{F16: halfValues(10, 15), BF16: halfValues(7, 127)}

func halfValues(fraction, bias int) []float64 {
	values := make([]float64, 1<<15-1<<fraction+1)
	for pattern := range values {
		exponent, f := pattern>>fraction, pattern&(1<<fraction-1)
		if exponent > 0 {
			f += 1 << fraction
		}
		values[pattern] = math.Ldexp(float64(f), max(exponent, 1)-bias-fraction)
	}
	return values
}

// decode returns the value of the float of dtype d with the given bit pattern.
func decode(d DType, bits uint64) float64 {
	switch d {
	case F64:
		return math.Float64frombits(bits)
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	sign, magnitude := 1.0, int(bits&0x7fff)
	if bits&0x8000 != 0 {
		sign = -1
	}
	switch last := len(halves[d]) - 1; {
	case magnitude > last:
		return math.NaN()
	case magnitude == last:
		return math.Inf(int(sign))
	default:
		return math.Copysign(halves[d][magnitude], sign)
	}
}

var quietNaN = map[DType]uint64{F16: 0x7e00, BF16: 0x7fc0, F32: 0x7fc00000, F64: 0x7ff8000000000000}

// nearest returns the bit pattern of v rounded to the float dtype d. A nil v means NaN.
func nearest(d DType, v *big.Float) uint64 {
	switch {
	case v == nil:
		return quietNaN[d]
	case d == F64:
		f, _ := v.Float64()
		return math.Float64bits(f)
	case d == F32:
		f, _ := v.Float32()
		return uint64(math.Float32bits(f))
	}
	values := halves[d]
	approximate, _ := v.Float64()
	above := sort.SearchFloat64s(values, math.Abs(approximate))
	pattern := min(above, len(values)-1)
	if 0 < above && above < len(values) {
		middle := big.NewFloat((values[above-1] + values[above]) / 2)
		switch order := new(big.Float).Abs(v).Cmp(middle); {
		case order < 0, order == 0 && above%2 == 1:
			pattern--
		}
	}
	if v.Signbit() {
		pattern |= 0x8000
	}
	return uint64(pattern)
}

func nearestF64(d DType, f float64) uint64 {
	if math.IsNaN(f) {
		return nearest(d, nil)
	}
	return nearest(d, big.NewFloat(f))
}

// intOf returns the integer that a bit pattern of dtype d represents.
func intOf(d DType, bits uint64) *big.Int {
	v := new(big.Int).SetUint64(bits)
	if width := 8 * d.Size(); d.IsSigned() && bits>>(width-1)&1 == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(width)))
	}
	return v
}

// intBits returns the bit pattern of v as an element of the integer dtype d. Values that do
// not fit wrap.
func intBits(d DType, v *big.Int) uint64 {
	modulus := new(big.Int).Lsh(big.NewInt(1), uint(8*d.Size()))
	return new(big.Int).Mod(v, modulus).Uint64()
}

// refApply returns the bit pattern of op applied to elements of dtype d. It does not
// support transcendental functions.
func refApply(op Op, d DType, args []uint64) uint64 {
	switch {
	case op == Where && args[0] != 0:
		return args[1]
	case op == Where:
		return args[2]
	case op == Clamp:
		return refApply(Minimum, d, []uint64{refApply(Maximum, d, args[:2]), args[2]})
	case d.IsFloat():
		return refFloat(op, d, args)
	default:
		return refInt(op, d, args)
	}
}

// refInt returns the bit pattern of op applied to elements of the integer dtype d.
func refInt(op Op, d DType, args []uint64) uint64 {
	x, y, z := intOf(d, args[0]), new(big.Int), new(big.Int)
	if len(args) > 1 {
		y = intOf(d, args[1])
	}
	if len(args) > 2 {
		z = intOf(d, args[2])
	}
	r := new(big.Int)
	switch op {
	case Add:
		r.Add(x, y)
	case Sub:
		r.Sub(x, y)
	case Mul:
		r.Mul(x, y)
	case Div:
		if y.Sign() != 0 {
			r.Quo(x, y)
		}
	case Maximum:
		r = x
		if x.Cmp(y) < 0 {
			r = y
		}
	case Minimum:
		r = x
		if x.Cmp(y) > 0 {
			r = y
		}
	case Neg:
		r.Neg(x)
	case Abs:
		r.Abs(x)
	case FMA:
		r.Add(r.Mul(x, y), z)
	case BitAnd:
		r.And(x, y)
	case BitOr:
		r.Or(x, y)
	case BitXor:
		r.Xor(x, y)
	default:
		return refOrder(op, x.Cmp(y), false)
	}
	return intBits(d, r)
}

// refOrder returns the result of comparison op, 0 or 1. `order` is negative, zero or
// positive if the first operand is less than, equal to or greater than the second.
// `unordered` means that an operand is NaN.
func refOrder(op Op, order int, unordered bool) uint64 {
	holds := map[Op]bool{Lt: order < 0, Le: order <= 0, Gt: order > 0, Ge: order >= 0, Eq: order == 0, Ne: order != 0}
	result, ok := holds[op]
	if !ok {
		panic(fmt.Sprintf("the reference has no %v", op))
	}
	if unordered {
		result = op == Ne
	}
	if result {
		return 1
	}
	return 0
}

// refFloat returns the bit pattern of op applied to elements of the float dtype d.
func refFloat(op Op, d DType, args []uint64) uint64 {
	var f [3]float64
	var v [3]*big.Float
	finite, nan := true, false
	for i, bits := range args {
		f[i] = decode(d, bits)
		nan = nan || math.IsNaN(f[i])
		if finite = finite && !math.IsNaN(f[i]) && !math.IsInf(f[i], 0); finite {
			v[i] = new(big.Float).SetPrec(exactPrec).SetFloat64(f[i])
		}
	}
	x, y := f[0], f[1]
	r := new(big.Float).SetPrec(exactPrec)
	var special float64 // the result if an operand is not finite
	switch op {
	case Add:
		special = x + y
		if finite {
			r.Add(v[0], v[1])
		}
	case Sub:
		special = x - y
		if finite {
			r.Sub(v[0], v[1])
		}
	case Mul:
		special = x * y
		if finite {
			r.Mul(v[0], v[1])
		}
	case Div:
		special = x / y
		if finite = finite && y != 0; finite {
			r.SetPrec(300).Quo(v[0], v[1])
		}
	case Sqrt:
		special = math.Sqrt(x)
		if finite = finite && x >= 0; finite {
			r.SetPrec(300).Sqrt(v[0])
		}
	case FMA:
		special = math.FMA(x, y, f[2])
		if finite {
			r.Mul(v[0], v[1])
			r.Add(r, v[2])
		}
	case Neg:
		return nearestF64(d, -x)
	case Abs:
		return nearestF64(d, math.Abs(x))
	case Maximum:
		return nearestF64(d, math.Max(x, y)*nanIf(nan))
	case Minimum:
		return nearestF64(d, math.Min(x, y)*nanIf(nan))
	default:
		order := 0
		if x < y {
			order = -1
		} else if x > y {
			order = 1
		}
		return refOrder(op, order, nan)
	}
	if !finite {
		return nearestF64(d, special)
	}
	return nearest(d, r)
}

// nanIf returns NaN if `nan` is true, else 1. The caller multiplies a result by it to
// propagate NaN, because math.Max(+Inf, NaN) is +Inf.
func nanIf(nan bool) float64 {
	if nan {
		return math.NaN()
	}
	return 1
}
