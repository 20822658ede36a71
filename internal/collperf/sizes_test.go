package collperf

import (
	"slices"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// TestSizes checks the sizes between Min and Max for various steps, and their number.
func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want []topology.Bytes
	}{
		{Options{Min: 8, Max: 64}, []topology.Bytes{8, 16, 32, 64}},
		{Options{Min: 8, Max: 63}, []topology.Bytes{8, 16, 32}},
		{Options{Min: 3, Max: 100, StepFactor: 10}, []topology.Bytes{3, 30}},
		{Options{Min: 8, Max: 30, StepBytes: 10}, []topology.Bytes{8, 18, 28}},
		{Options{Min: 0, Max: 30, StepBytes: 15}, []topology.Bytes{0, 15, 30}},
		{Options{Min: 0, Max: 64}, []topology.Bytes{0, 8, 16, 32, 64}},
		{Options{Min: 0, Max: 7}, []topology.Bytes{0}},
		{Options{Min: 3, Max: 1 << 40, StepFactor: 1<<63 - 1}, []topology.Bytes{3}},
		{Options{Min: 64, Max: 64}, []topology.Bytes{64}},
		{Options{Min: 8, Max: 64, Collective: ccl.Barrier}, []topology.Bytes{0}},
	} {
		if got := slices.Collect(tt.o.sizes()); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: got %v, want %v", tt.o, got, tt.want)
		}
		if got := tt.o.numSizes(); got != int64(len(tt.want)) {
			t.Errorf("%+v: %d sizes, want %d", tt.o, got, len(tt.want))
		}
	}
}

// TestRound checks that a size is rounded down so that each block has a whole number of
// elements.
func TestRound(t *testing.T) {
	for _, tt := range []struct {
		collective ccl.Collective
		ranks      int
		dtype      tl.DType
		size       topology.Bytes
		count      int
		rounded    topology.Bytes
	}{
		{ccl.AllReduce, 3, tl.F16, 8, 4, 8},
		{ccl.AllReduce, 3, tl.F16, 9, 4, 8},
		{ccl.AllReduce, 3, tl.F64, 7, 0, 0},
		{ccl.Broadcast, 7, tl.F32, 10, 2, 8},
		{ccl.SendRecv, 7, tl.I8, 10, 10, 10},
		{ccl.AllGather, 3, tl.F16, 64, 10, 60},
		{ccl.ReduceScatter, 3, tl.F16, 64, 10, 60},
		{ccl.AllToAll, 7, tl.F32, 64, 2, 56},
		{ccl.Gather, 8, tl.F16, 64, 4, 64},
		{ccl.Scatter, 8, tl.F16, 15, 0, 0},
	} {
		p := newProblem(&Options{Collective: tt.collective}, series{dtype: tt.dtype}, tt.ranks, tt.size)
		count, rounded := p.count, topology.Bytes(p.rowCase().Size)
		if count != tt.count || rounded != tt.rounded {
			t.Errorf("%v of %d bytes of %v, %d ranks: got %d elements, %d bytes, want %d, %d",
				tt.collective, tt.size, tt.dtype, tt.ranks, count, rounded, tt.count, tt.rounded)
		}
	}
}

// TestBusFactor checks the factor of each collective over 4 ranks.
func TestBusFactor(t *testing.T) {
	want := map[ccl.Collective]float64{
		ccl.AllReduce: 1.5, ccl.AllGather: 0.75, ccl.ReduceScatter: 0.75, ccl.AllToAll: 0.75,
		ccl.Reduce: 1, ccl.Broadcast: 1, ccl.Gather: 1, ccl.Scatter: 1, ccl.SendRecv: 1, ccl.Barrier: 1,
	}
	for _, c := range ccl.Collectives() {
		if got := busFactor(c, 4); got != want[c] {
			t.Errorf("%v of 4 ranks: got %v, want %v", c, got, want[c])
		}
	}
}

// FuzzSizes checks random limits and steps of sizes. They must either be refused, or give
// as many sizes as numSizes returns, in ascending order and within the limits.
func FuzzSizes(f *testing.F) {
	f.Add(int64(8), int64(64), int64(0), 2)
	f.Add(int64(8), int64(8<<30), int64(8), 0)
	f.Add(int64(0), int64(1<<40), int64(1<<62-1), 1<<62)
	f.Fuzz(func(t *testing.T, least, most, step int64, factor int) {
		o := Options{
			Backend: Goroutines, NRanks: 2, Min: topology.Bytes(least), Max: topology.Bytes(most),
			StepBytes: topology.Bytes(step), StepFactor: factor,
		}
		if o.Validate() != nil {
			return
		}
		n, last := int64(0), topology.Bytes(-1)
		for size := range o.sizes() {
			if n++; size <= last || size < o.Min || size > o.Max || n > maxRows {
				t.Fatalf("%+v: size %d is %d, after %d", o, n, size, last)
			}
			last = size
		}
		if n != o.numSizes() {
			t.Errorf("%+v: %d sizes, and %d were counted", o, n, o.numSizes())
		}
	})
}
