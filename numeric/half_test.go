package numeric

import (
	"math"
	"math/big"
	"testing"
)

type halfCase struct {
	d        DType
	widen    func(uint16) float32
	narrow   func(float32) uint16
	narrow64 func(float64) uint16
}

var halfCases = []halfCase{
	{F16, F16ToF32, F32ToF16, F64ToF16},
	{BF16, BF16ToF32, F32ToBF16, F64ToBF16},
}

// TestHalfWidensAndReturnsAllPatterns checks that every bit pattern of f16 and bf16 is
// converted to the right float32, and that the conversion back gives the same pattern.
// Patterns of NaN must give the quiet NaN in both directions.
func TestHalfWidensAndReturnsAllPatterns(t *testing.T) {
	for _, c := range halfCases {
		for bits := range 1 << 16 {
			h := uint16(bits)
			got, want := c.widen(h), float32(decode(c.d, uint64(h)))
			back := h
			if want != want {
				want, back = math.Float32frombits(0x7fc00000), uint16(quietNaN[c.d])
			}
			if math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("%v %#x widens to %v (%#x), want %v", c.d, h, got, math.Float32bits(got), want)
			}
			if r := c.narrow(got); r != back {
				t.Fatalf("%v %#x is %v, which narrows to %#x, want %#x", c.d, h, got, r, back)
			}
			if r := c.narrow64(float64(got)); r != back {
				t.Fatalf("%v %#x is %v, which narrows from float64 to %#x, want %#x", c.d, h, got, r, back)
			}
		}
	}
}

// TestHalfRoundsToNearestEven checks conversions to f16 and bf16. It converts every value
// of these dtypes, every midpoint between two values, and the numbers next to them.
func TestHalfRoundsToNearestEven(t *testing.T) {
	for _, c := range halfCases {
		values := halves[c.d]
		for i, v := range values[1:] {
			middle := (values[i] + v) / 2
			for _, f := range []float64{v, middle} {
				for _, f := range []float64{math.Nextafter(f, 0), f, math.Nextafter(f, math.Inf(1))} {
					checkNarrow64(t, c, f)
				}
				f := float32(f)
				for _, f := range []float32{math.Nextafter32(f, 0), f, math.Nextafter32(f, float32(math.Inf(1)))} {
					checkNarrow32(t, c, f)
				}
			}
		}
	}
}

func TestHalfRoundsRandomNumbers(t *testing.T) {
	r := newRand(1)
	for _, c := range halfCases {
		for range 50_000 {
			checkNarrow32(t, c, math.Float32frombits(r.Uint32()))
			checkNarrow64(t, c, math.Float64frombits(r.Uint64()))
			// Most patterns of float64 are out of the range of f16 and bf16; these are not.
			checkNarrow64(t, c, math.Ldexp(r.Float64()-0.5, r.IntN(300)-160))
		}
	}
}

// checkNarrow32 checks that the conversion of f to the dtype of c rounds to nearest even.
func checkNarrow32(t *testing.T, c halfCase, f float32) {
	t.Helper()
	if got, want := c.narrow(f), nearestF64(c.d, float64(f)); uint64(got) != want {
		t.Fatalf("float32 %v (%#x) rounds to %v %s, want %s", f, math.Float32bits(f), c.d, show(c.d, uint64(got)), show(c.d, want))
	}
}

// checkNarrow64 checks that the conversion of f to the dtype of c rounds to nearest even.
func checkNarrow64(t *testing.T, c halfCase, f float64) {
	t.Helper()
	if got, want := c.narrow64(f), nearestF64(c.d, f); uint64(got) != want {
		t.Fatalf("float64 %v (%#x) rounds to %v %s, want %s", f, math.Float64bits(f), c.d, show(c.d, uint64(got)), show(c.d, want))
	}
}

// TestHalfKnownValues checks that Set and the reference give known bit patterns for known
// numbers.
func TestHalfKnownValues(t *testing.T) {
	for _, c := range []struct {
		d    DType
		f    float64
		want uint64
	}{
		{F16, 1, 0x3c00}, {F16, -2, 0xc000}, {F16, 65504, 0x7bff}, {F16, 65519.99, 0x7bff}, {F16, 65520, 0x7c00},
		{F16, 0x1p-24, 1}, {F16, 0x1p-25, 0}, {F16, 0x1.001p-25, 1}, {F16, 0x1p-14, 0x400}, {F16, 0.1, 0x2e66},
		{F16, 2049, 0x6800}, {F16, 2051, 0x6802}, {F16, 0x1.002p0 + 0x1p-40, 0x3c01}, {F16, math.Copysign(0, -1), 0x8000},
		{BF16, 1, 0x3f80}, {BF16, 257, 0x4380}, {BF16, 259, 0x4382}, {BF16, 0x1.01p0 + 0x1p-50, 0x3f81}, {BF16, 0x1.01p0, 0x3f80},
		{BF16, math.MaxFloat32, 0x7f80}, {BF16, 0x1p-133, 1}, {BF16, 0x1p-134, 0}, {BF16, -math.MaxFloat64, 0xff80},
	} {
		if got := nearest(c.d, big.NewFloat(c.f)); got != c.want {
			t.Errorf("the reference rounds %v to %v %#x, want %#x", c.f, c.d, got, c.want)
		}
		buf := make([]byte, 2)
		if Set(c.d, buf, 0, c.f); bitsAt(c.d, buf, 0) != c.want {
			t.Errorf("Set(%v, %v) is %#x, want %#x", c.d, c.f, bitsAt(c.d, buf, 0), c.want)
		}
	}
}
