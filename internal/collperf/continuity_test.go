package collperf

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// TestContinuity checks that a size takes at most 3 % longer than any larger size up to
// 4 KiB above it, for random collectives, algorithms and fabrics. The preset default is
// simulated flit by flit, and with HBM channels that take no time: trains that meet on a
// link and blocks that begin at other channels change a time by more than the number of
// messages does (see TestContinuityWithChannels).
func TestContinuity(t *testing.T) {
	checkContinuity(t, 1.03, true, "cube.hbm.channel_bandwidth=unlimited")
}

// TestContinuityWithChannels checks the property of TestContinuity in the fidelity train,
// with HBM channels that take time. At most 2 % of the draws may take more than 3 % longer.
// With 7,000 draws, 0.4 % do; flit by flit, 1.5 % do, because blocks that end within a burst
// take longer, and so do congested exchanges: an all_to_all of 4 MiB less 64 B over a torus
// of 4×4 takes 30 % longer than one of 4 MiB, in both fidelities.
func TestContinuityWithChannels(t *testing.T) {
	draws, above := checkContinuity(t, 1.4, false)
	t.Logf("%d of %d draws take more than 3 %% longer than a larger size", above, draws)
	if 100*above > 2*draws {
		t.Errorf("%d of %d draws take more than 3 %% longer than a larger size, want at most 2 %%", above, draws)
	}
}

// checkContinuity checks that no size takes more than `limit` times as long as a size that
// is at most 4 KiB larger. If `flit` is set, it simulates every flit of the preset default,
// and sizes of at most 128 KiB there. It returns the number of draws, and how many of the
// sizes take more than 3 % longer than the larger size.
func checkContinuity(t *testing.T, limit float64, flit bool, sets ...string) (draws, above int) {
	systems := systems{}
	rapid.Check(t, func(r *rapid.T) {
		f, preset, graph := systems.draw(t, r, sets...)
		c := rapid.SampledFrom(ccl.Collectives()).Draw(r, "collective")
		if f.w*f.h == 1 || c == ccl.Barrier {
			return
		}
		o := Options{
			Topology: graph, Collective: c, Threads: 1, RanksPer: PerSIP, DTypes: []tl.DType{tl.F32}, NoCheck: true,
			Algorithm: rapid.SampledFrom(ccl.Algorithms(c)).Draw(r, "algorithm").Name, Flit: flit && preset == "default",
		}
		log := 22
		if o.Flit {
			log = 17
		}
		in, out := blocks(c, f.w*f.h)
		unit := int64(max(in, out, 1) * 4)
		size := int64(1) << rapid.IntRange(2, log).Draw(r, "log bytes")
		size -= rapid.Int64Range(0, size/2).Draw(r, "less")
		if rapid.Bool().Draw(r, "near a power of two") {
			size = int64(1)<<rapid.IntRange(12, log).Draw(r, "log bytes")/unit*unit - unit
		}
		o.Min = topology.Bytes(max(unit, size/unit*unit))
		o.Max = o.Min
		less, small := o.Min, *measure(t, o)[0].TimeUS
		o.Min += topology.Bytes(max(unit, rapid.Int64Range(unit, max(unit, 4096)).Draw(r, "more")/unit*unit))
		o.Max = o.Min
		large := *measure(t, o)[0].TimeUS
		if draws++; small > 1.03*large {
			above++
		}
		if small > limit*large {
			r.Fatalf("%v by %s on %s, %v: %v takes %.3f µs, more than %v with %.3f µs", c, o.Algorithm, preset, f, less, small, o.Min, large)
		}
	})
	return draws, above
}

// TestCenterRootChangesAlgorithm checks that center_root does not become faster with more data
// where it changes from a tree to rings, at 16 KiB.
func TestCenterRootChangesAlgorithm(t *testing.T) {
	for _, sets := range [][]string{
		{"system.sips.count=2"},
		{"system.sips.count=3"},
		{"system.sips.count=4", "system.sips.topology=torus_2d"},
	} {
		var times []float64
		for _, size := range []topology.Bytes{16 << 10, 16<<10 + 4} {
			times = append(times, *measure(t, Options{
				Topology: system(t, "alpha_beta", sets...), Collective: ccl.AllReduce, Algorithm: "center_root",
				RanksPer: PerSIP, NoCheck: true, Min: size, Max: size,
			})[0].TimeUS)
		}
		if times[0] > 1.001*times[1] {
			t.Errorf("%v: 16 KiB takes %v µs, 4 B more %v µs", sets, times[0], times[1])
		}
	}
}

// TestTwoRanksSendAhead checks that four messages to the other of two ranks do not take longer
// than five: the rank sends as many ahead in both cases.
func TestTwoRanksSendAhead(t *testing.T) {
	var times []float64
	for _, size := range []topology.Bytes{64 << 10, 64<<10 + 8} {
		times = append(times, *measure(t, Options{
			Topology: system(t, "default", "system.sips.count=2"), Collective: ccl.ReduceScatter, Algorithm: "bidirectional_ring",
			RanksPer: PerSIP, NoCheck: true, Min: size, Max: size,
		})[0].TimeUS)
	}
	if times[0] > times[1] {
		t.Errorf("64 KiB takes %v µs, 8 B more %v µs", times[0], times[1])
	}
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
