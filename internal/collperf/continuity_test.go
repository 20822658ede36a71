package collperf

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// TestContinuity measures two sizes that are at most 4 KiB apart, for random collectives,
// algorithms and fabrics. It checks that the smaller size takes at most 25 % longer. It may
// take longer at all only where the larger size is divided into more messages, which overlap
// better.
func TestContinuity(t *testing.T) {
	systems := systems{}
	rapid.Check(t, func(r *rapid.T) {
		f, preset, graph := systems.draw(t, r)
		c := rapid.SampledFrom(ccl.Collectives()).Draw(r, "collective")
		if f.w*f.h == 1 || c == ccl.Barrier {
			return
		}
		o := Options{
			Topology: graph, Collective: c, Threads: 1, RanksPer: PerSIP, DTypes: []tl.DType{tl.F32}, NoCheck: true,
			Algorithm: rapid.SampledFrom(ccl.Algorithms(c)).Draw(r, "algorithm").Name,
		}
		in, out := blocks(c, f.w*f.h)
		unit := int64(max(in, out, 1) * 4)
		size := rapid.Int64Range(1, 1<<20).Draw(r, "bytes") / unit * unit
		if rapid.Bool().Draw(r, "near a power of two") {
			size = int64(1)<<rapid.IntRange(12, 20).Draw(r, "log bytes")/unit*unit - unit
		}
		o.Min = topology.Bytes(max(unit, size))
		o.Max = o.Min
		small := *measure(t, o)[0].TimeUS
		o.Min += topology.Bytes(max(unit, rapid.Int64Range(unit, max(unit, 4096)).Draw(r, "more")/unit*unit))
		o.Max = o.Min
		if large := *measure(t, o)[0].TimeUS; small > 1.25*large {
			r.Fatalf("%v by %s on %s, %v: %v takes %.3f µs, more than %v with %.3f µs", c, o.Algorithm, preset, f, topology.Bytes(max(unit, size)), small, o.Min, large)
		}
	})
}

// TestSendRecvTime checks the time of a sendrecv of 1 MiB on alpha_beta: the latency of a
// link and the bytes divided by its bandwidth, in both fidelities.
func TestSendRecvTime(t *testing.T) {
	for _, flit := range []bool{false, true} {
		o := Options{
			Topology: system(t, "alpha_beta"), Collective: ccl.SendRecv, RanksPer: PerSIP, NoCheck: true,
			Min: 1 << 20, Max: 1 << 20, Flit: flit,
		}
		want := 0.150 + (1<<20)/100e3
		if got := *measure(t, o)[0].TimeUS; math.Abs(got-want) > 0.02*want {
			t.Errorf("flit %t: 1 MiB takes %v µs, want %v within 2 %%", flit, got, want)
		}
	}
}
