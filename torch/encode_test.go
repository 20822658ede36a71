package torch

import (
	"bytes"
	"math"
	"testing"
)

// TestEncodeHalf checks that floats are converted to f16 and bf16 in blocks to the same
// bits as one by one: numbers of all exponents and signs, ties, infinities and NaNs.
func TestEncodeHalf(t *testing.T) {
	var numbers []float32
	for bits := uint64(0); bits < 1<<32; bits += 0x3fff5 {
		numbers = append(numbers, math.Float32frombits(uint32(bits)), math.Float32frombits(uint32(bits)&^0xfff))
	}
	for _, d := range []DType{F16, BF16} {
		want := encodeAll(make([]byte, 2*len(numbers)), numbers, d)
		if got := encode(numbers, d); !bytes.Equal(got, want) {
			t.Errorf("%v: other bits than one by one", d)
		}
	}
}
