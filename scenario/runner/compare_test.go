package runner

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/scenario"
)

func TestULPs(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		d    numeric.DType
		a, b float64
		want uint64
	}{
		{numeric.F32, 1, 1, 0},
		{numeric.F32, 1, 1 + 1.0/(1<<23), 1},
		{numeric.F32, 2, 1, 1 << 23},
		{numeric.F32, 0, math.Copysign(0, -1), 0},
		{numeric.F32, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 2},
		{numeric.F32, math.MaxFloat32, inf, 1},
		{numeric.F32, nan, nan, 0},
		{numeric.F32, nan, 1, math.MaxUint64},
		{numeric.F64, -1, 1, 2 * 0x3ff0000000000000},
		{numeric.F16, 1, 1.0009765625, 1},
		{numeric.BF16, -1, -1.0078125, 1},
		{numeric.F16, -inf, inf, 2 * 0x7c00},
		{numeric.I8, -128, 127, 255},
		{numeric.U8, 0, 255, 255},
		{numeric.I64, -1 << 63, 1 << 62, 3 << 62},
		{numeric.U64, 1 << 63, 1, 1<<63 - 1},
	} {
		a, b := make([]byte, tt.d.Size()), make([]byte, tt.d.Size())
		numeric.Set(tt.d, a, 0, tt.a)
		numeric.Set(tt.d, b, 0, tt.b)
		if got, back := ulps(tt.d, a, b, 0), ulps(tt.d, b, a, 0); got != tt.want || back != tt.want {
			t.Errorf("%v: %v and %v are %d ulp apart, the other way %d, want %d", tt.d, tt.a, tt.b, got, back, tt.want)
		}
	}
}

// encode returns the bytes of the values as elements of dtype d.
func encode(d numeric.DType, values ...float64) []byte {
	b := make([]byte, len(values)*d.Size())
	for i, v := range values {
		numeric.Set(d, b, i, v)
	}
	return b
}

func TestCompare(t *testing.T) {
	out := &scenario.Output{Buffer: &scenario.Buffer{Name: "out", DType: numeric.F32, Shape: []int{2, 4}}}
	near := *out
	near.Relative = 0.25
	want := encode(numeric.F32, 0, 1, 2, 3, 4, 5, 6, 7)
	for _, tt := range []struct {
		what string
		out  *scenario.Output
		got  []byte
		want Report
	}{
		{"all right", out, want, Report{Compared: 8}},
		{"-0", out, encode(numeric.F32, math.Copysign(0, -1), 1, 2, 3, 4, 5, 6, 7), Report{Compared: 8}},
		{"three spans", out, encode(numeric.F32, 1, 1, 4, 3.5, 4, 5, 6, 8), Report{Compared: 8, Wrong: 4, Spans: 3, Mismatches: []Mismatch{
			{Rank: 3, Round: 2, Buffer: "out", First: 0, Last: 0, Worst: 0, Got: "1", Want: "0", ULP: 0x3f800000},
			{Rank: 3, Round: 2, Buffer: "out", First: 2, Last: 3, Worst: 2, Got: "4", Want: "2", ULP: 1 << 23},
			{Rank: 3, Round: 2, Buffer: "out", First: 7, Last: 7, Worst: 7, Got: "8", Want: "7", ULP: 1 << 21},
		}}},
		{"near enough", &near, encode(numeric.F32, 0, 1.25, 1.5, 3, 4, 5, 6, 8), Report{Compared: 8}},
		{"not near enough", &near, encode(numeric.F32, 0, 1.25, 2.75, 3, 4, 5, 6, math.NaN()), Report{Compared: 8, Wrong: 2, Spans: 2, Mismatches: []Mismatch{
			{Rank: 3, Round: 2, Buffer: "out", First: 2, Last: 2, Worst: 2, Got: "2.75", Want: "2", ULP: 3 << 20},
			{Rank: 3, Round: 2, Buffer: "out", First: 7, Last: 7, Worst: 7, Got: "NaN", Want: "7", ULP: math.MaxUint64},
		}}},
	} {
		var got Report
		err := got.compare(t.Context(), tt.out, 3, 2, tt.got, want)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.what, err, diff)
		}
	}
}

// TestWithinTolerance checks the result of withinTolerance for values at the boundary of a
// tolerance and just outside it.
func TestWithinTolerance(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	up := math.Nextafter(1, 2) - 1 // one ulp of 1
	for _, tt := range []struct {
		d                  numeric.DType
		relative, absolute float64
		got, want          float64
		ok                 bool
	}{
		// |got - want| <= absolute
		{numeric.F64, 0, 0.5, 1.5, 1, true},
		{numeric.F64, 0, 0.5, 0.5, 1, true},
		{numeric.F64, 0, 0.5, 1.5 + up, 1, false},
		{numeric.F64, 0, 0.5, 0.5 - up, 1, false},
		{numeric.F64, 0, 0.5, -0.5, 0, true}, // a relative tolerance allows nothing at 0
		{numeric.F64, 0, 4, 1 << 40, 1<<40 + 4, true},
		{numeric.F64, 0, 4, 1 << 40, 1<<40 + 5, false},
		{numeric.F32, 0, 0.25, 2.25, 2, true},
		{numeric.F32, 0, 0.25, 2.25 + 1.0/(1<<22), 2, false},
		{numeric.F16, 0, 2, 2048, 2050, true},
		{numeric.F16, 0, 1.875, 2048, 2050, false},
		// absolute + relative*|want|, not |got|
		{numeric.F64, 0.25, 0.5, 5.5, 4, true},
		{numeric.F64, 0.25, 0.5, 5.5 + 4*up, 4, false},
		{numeric.F64, 0.25, 0.5, 2.5, 4, true},
		{numeric.F64, 0.25, 0.5, 4, 5.5, true},
		{numeric.F64, 0.25, 0.5, 4, 6.0, true},
		{numeric.F64, 0.25, 0.5, 4, 6.0 + 4*up, false},
		{numeric.F64, 0.25, 0.5, -5.5, -4, true},
		{numeric.F64, 0.25, 0, 0.1, 0, false},
		{numeric.F64, 0.25, 0, 5, 4, true},
		{numeric.F64, 0.25, 0, 5 + 4*up, 4, false},
		// NaN and infinities
		{numeric.F32, 0.5, 10, nan, nan, true},
		{numeric.F32, 0.5, 10, nan, 1, false},
		{numeric.F32, 0.5, 10, 1, nan, false},
		{numeric.F32, 0.5, 10, inf, inf, true},
		{numeric.F32, 0.5, 10, inf, -inf, false},
		{numeric.F32, 0.5, 10, 1, inf, false},
		{numeric.F32, 0.5, 10, -inf, 1, false},
		{numeric.F64, 0.5, math.MaxFloat64, math.MaxFloat64, inf, false},
		{numeric.F64, 0.5, math.MaxFloat64, inf, math.MaxFloat64, false},
		{numeric.F64, 0, math.MaxFloat64, math.MaxFloat64, 0, true},
		// integers
		{numeric.I32, 0, 2, 7, 9, true},
		{numeric.I32, 0, 2, 7, 10, false},
		{numeric.I32, 0, 1.5, 7, 8, true},
		{numeric.U8, 0.5, 1, 255, 169, false}, // 86 > 1 + 84.5
		{numeric.U8, 0.5, 1, 255, 170, true},
		{numeric.I64, 0, 1, 1 << 62, 1<<62 + 1024, false},
		{numeric.I64, 0, 1024, 1 << 62, 1<<62 + 1024, true},
		// no tolerance
		{numeric.F64, 0, 0, 1 + up, 1, false},
		{numeric.F64, 0, 0, math.Copysign(0, -1), 0, true},
	} {
		o := &scenario.Output{Buffer: &scenario.Buffer{DType: tt.d}, Relative: tt.relative, Absolute: tt.absolute}
		if got := withinTolerance(o, encode(tt.d, tt.got), encode(tt.d, tt.want), 0); got != tt.ok {
			t.Errorf("%v: %v for %v with absolute %v and relative %v: got %v, want %v", tt.d, tt.got, tt.want, tt.absolute, tt.relative, got, tt.ok)
		}
	}
}

// TestCompareChunks checks that a span of wrong elements can cross the boundary between two
// chunks. It checks that the span ends at the end of a chunk if the first element of the
// next chunk is right. It also checks that compare stops when the context has ended.
func TestCompareChunks(t *testing.T) {
	const n = 3*compareChunk + 5
	out := &scenario.Output{Buffer: &scenario.Buffer{Name: "out", DType: numeric.U8, Shape: []int{n}}}
	got := make([]byte, n)
	for i := compareChunk - 2; i < 2*compareChunk; i++ {
		got[i] = 1
	}
	got[n-1] = 2
	want := Report{Compared: n, Wrong: compareChunk + 3, Spans: 2, Mismatches: []Mismatch{
		{Buffer: "out", First: compareChunk - 2, Last: 2*compareChunk - 1, Worst: compareChunk - 2, Got: "1", Want: "0", ULP: 1},
		{Buffer: "out", First: n - 1, Last: n - 1, Worst: n - 1, Got: "2", Want: "0", ULP: 2},
	}}
	var r Report
	err := r.compare(t.Context(), out, 0, 0, got, make([]byte, n))
	if diff := cmp.Diff(want, r); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := r.compare(ended, out, 0, 0, got, got); err != cause {
		t.Errorf("ended: got %v, want the cause, enough", err)
	}
}

// TestMaxMismatches checks that a report counts all spans of wrong elements but lists only
// the first MaxMismatches.
func TestMaxMismatches(t *testing.T) {
	const n = 1000
	out := &scenario.Output{Buffer: &scenario.Buffer{Name: "out", DType: numeric.I64, Shape: []int{n}}}
	got := make([]byte, 8*n)
	for i := 0; i < n; i += 2 {
		numeric.SetInt(numeric.I64, got, i, 1)
	}
	var r, all Report
	err := r.compare(t.Context(), out, 0, 0, got, make([]byte, 8*n))
	if err != nil || r.Wrong != n/2 || r.Spans != n/2 || len(r.Mismatches) != MaxMismatches || r.Mismatches[MaxMismatches-1].First != 2*(MaxMismatches-1) {
		t.Errorf("got %v, %d wrong, %d spans, %d of them listed, want %d, %d, %d", err, r.Wrong, r.Spans, len(r.Mismatches), n/2, n/2, MaxMismatches)
	}
	all.add(r)
	all.add(r)
	if all.Wrong != n || all.Spans != n || len(all.Mismatches) != MaxMismatches || all.Compared != 2*n {
		t.Errorf("twice: got %d wrong, %d spans, %d of them listed", all.Wrong, all.Spans, len(all.Mismatches))
	}
}
