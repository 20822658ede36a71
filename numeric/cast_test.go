package numeric

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
)

// TestCast checks that Cast gives the same bits as the reference for every pair of dtypes.
func TestCast(t *testing.T) {
	withAndWithoutVector(t, func(t *testing.T) {
		for _, from := range DTypes {
			for _, to := range DTypes {
				if vector && max(from, to) > F32 {
					continue
				}
				r := newRand(uint64(from)<<8 | uint64(to))
				values := append(specials(from), boundaries(from, to)...)
				for range 2000 {
					values = append(values, drawBits(r, from))
				}
				for _, n := range []int{0, 1, 7, 8, 9, len(values)} {
					checkCast(t, to, from, values[:n])
				}
			}
		}
	})
}

// boundaries returns elements of the dtype `from` that are near values at which a
// conversion to the dtype `to` may begin to saturate, wrap or round.
func boundaries(from, to DType) []uint64 {
	var all []uint64
	for _, exponent := range []int{7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64} {
		for delta := int64(-3); delta <= 3; delta++ {
			v := new(big.Int).Lsh(big.NewInt(1), uint(exponent))
			v.Add(v, big.NewInt(delta))
			for range 2 {
				if from.IsFloat() {
					all = append(all, nearest(from, new(big.Float).SetPrec(exactPrec).SetInt(v)))
				} else {
					all = append(all, intBits(from, v))
				}
				v.Neg(v)
			}
		}
	}
	if !from.IsFloat() && from.Size() == 8 && to.IsFloat() { // next to a midpoint
		for _, fraction := range []uint{53, 24, 11, 8} {
			middle := uint64(1)<<62 | 1<<(62-fraction)
			all = append(all, middle-1, middle, middle+1, middle|1<<(63-fraction), 2*middle+1)
		}
	}
	return all
}

func checkCast(t *testing.T, to, from DType, values []uint64) {
	t.Helper()
	src := make([]byte, len(values)*from.Size())
	for i, bits := range values {
		setBits(from, src, i, bits)
	}
	dst, check := newGuarded(t, 1, len(values)*to.Size())
	Cast(to, dst, from, src)
	check()
	for i, bits := range values {
		if got, want := bitsAt(to, dst, i), refCast(to, from, bits); got != want {
			t.Fatalf("cast from %v to %v, element %d of %d: %s gives %s, want %s", from, to, i, len(values), show(from, bits), show(to, got), show(to, want))
		}
	}
}

func refCast(to, from DType, bits uint64) uint64 {
	switch {
	case to == from:
		return bits
	case from.IsFloat() && to.IsFloat():
		return nearestF64(to, decode(from, bits))
	case from.IsFloat():
		return refTruncate(to, decode(from, bits))
	case to.IsFloat():
		return nearest(to, new(big.Float).SetPrec(64).SetInt(intOf(from, bits)))
	default:
		return intBits(to, intOf(from, bits))
	}
}

func refTruncate(to DType, x float64) uint64 {
	if math.IsNaN(x) {
		return 0
	}
	least, greatest := new(big.Int), intOf(to, 1<<(8*to.Size()-1)-1)
	if to.IsSigned() {
		least = intOf(to, 1<<(8*to.Size()-1))
	} else {
		greatest = intOf(to, 1<<(8*to.Size())-1)
	}
	if math.IsInf(x, 0) {
		x = math.Copysign(1e30, x)
	}
	v, _ := big.NewFloat(x).Int(nil)
	if v.Cmp(least) < 0 {
		v = least
	} else if v.Cmp(greatest) > 0 {
		v = greatest
	}
	return intBits(to, v)
}

// TestGetSet checks that Set converts a number as Cast from F64 does, and that Get converts
// an element as Cast to F64 does.
func TestGetSet(t *testing.T) {
	r := newRand(5)
	for _, d := range DTypes {
		values := append(specials(F64), boundaries(F64, d)...)
		for range 500 {
			values = append(values, drawBits(r, F64))
		}
		buf := make([]byte, 3*d.Size())
		for _, bits := range values {
			x := math.Float64frombits(bits)
			want := refCast(d, F64, bits)
			if x != x && d.IsFloat() {
				want = quietNaN[d]
			}
			if Set(d, buf, 1, x); bitsAt(d, buf, 1) != want {
				t.Fatalf("Set(%v, %v) is %s, want %s", d, x, show(d, bitsAt(d, buf, 1)), show(d, want))
			}
			got, value := Get(d, buf, 1), math.Float64frombits(refCast(F64, d, want))
			if got != value && (got == got || value == value) {
				t.Fatalf("Get(%v) of %s is %v, want %v", d, show(d, want), got, value)
			}
			if bitsAt(d, buf, 0) != 0 || bitsAt(d, buf, 2) != 0 {
				t.Fatalf("Set(%v) of one element changed another", d)
			}
		}
	}
}

func TestGetIntSetInt(t *testing.T) {
	for _, d := range DTypes[4:] {
		buf := make([]byte, 2*d.Size())
		for _, bits := range specials(d) {
			want := int64(intBits(I64, intOf(d, bits)))
			SetInt(d, buf, 1, int64(bits))
			if got := GetInt(d, buf, 1); got != want || bitsAt(d, buf, 1) != bits {
				t.Errorf("%v %#x: GetInt gives %d, want %d", d, bits, got, want)
			}
		}
	}
}

func TestEqual(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		a, b []float64
		want int
	}{
		{nil, nil, -1},
		{[]float64{1, 2}, []float64{1, 2}, -1},
		{[]float64{1, 2, 3}, []float64{1, 5, 4}, 1},
		{[]float64{0, 1}, []float64{math.Copysign(0, -1), 1}, 0},
		{[]float64{nan, 1}, []float64{nan, 2}, 1},
		{[]float64{1, nan}, []float64{1, inf}, 1},
		{[]float64{1}, []float64{1, 2}, 1},
	} {
		for _, d := range []DType{F16, BF16, F32, F64} {
			t.Run(fmt.Sprint(d, c.a, c.b), func(t *testing.T) {
				a, b := make([]byte, len(c.a)*d.Size()), make([]byte, len(c.b)*d.Size())
				for i, v := range c.a {
					Set(d, a, i, v)
				}
				for i, v := range c.b {
					if Set(d, b, i, v); v != v { // make it a different NaN
						setBits(d, b, i, bitsAt(d, b, i)|1|1<<(8*d.Size()-1))
					}
				}
				if got := Equal(d, a, b); got != c.want {
					t.Errorf("Equal is %d, want %d", got, c.want)
				}
			})
		}
	}
	if got := Equal(I8, []byte{1, 2, 3}, []byte{1, 2, 4}); got != 2 {
		t.Errorf("Equal of i8 is %d, want 2", got)
	}
}

// TestCastInPlace checks that Cast gives the same result if its destination is also its
// source, for dtypes of the same size.
func TestCastInPlace(t *testing.T) {
	withAndWithoutVector(t, func(t *testing.T) {
		src := draw(newRand(3), BF16, 100)
		want := make([]byte, len(src))
		Cast(I16, want, BF16, src)
		if Cast(I16, src, BF16, src); !slices.Equal(src, want) {
			t.Errorf("cast in place differs at element %d", Equal(I16, src, want))
		}
	})
}
