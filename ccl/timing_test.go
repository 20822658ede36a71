package ccl

import (
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// textbook returns an experiment with eight SIPs, where only the links between SIPs take
// time: 150 ns and 100 GB/s. Each queue holds 256 messages of 4 KiB.
func textbook(a *Algorithm, c Collective, bytes int, sets ...string) experiment {
	return experiment{
		Plan:      Plan{Collective: c, Ranks: 8, DType: tl.F32, Counts: []int{bytes / 4}, Chunk: 1024, Slots: 256},
		algorithm: a, preset: "alpha_beta", sets: append(sets, "system.sips.count=8"), timing: true,
	}
}

// within checks that the ratio of a time to a formula, both in nanoseconds, is between
// `low` and `high`.
func within(t *testing.T, what string, got, formula, low, high float64) {
	t.Helper()
	if ratio := got / formula; ratio < low || ratio > high {
		t.Errorf("%s takes %.0f ns, the formula says %.0f: ratio %.4f, want %v to %v", what, got, formula, ratio, low, high)
	}
}

// TestRingAllReduceTakesItsFormula checks that a ring all-reduce of M bytes by N ranks
// takes 2(N-1)α + 2(N-1)/N·M/b if each block is a single message, and if blocks are large.
// α is the latency of a message and b the bandwidth of a link. For sizes in between, the
// all-reduce takes less time, because only the first messages of a block wait for α. It
// must never take less time than the second term, in which the links carry the bytes.
func TestRingAllReduceTakesItsFormula(t *testing.T) {
	message := textbook(Direct, SendRecv, 4)
	alpha := message.run(t, nil).time.NS()
	for bytes, low := range map[int]float64{32: 0.999, 4 << 10: 0.999, 32 << 10: 0.999, 256 << 10: 0.7, 16 << 20: 0.98} {
		e := textbook(Ring, AllReduce, bytes)
		steps, bandwidth := float64(2*(e.Ranks-1)), 100.0 // B/ns
		moved := steps / float64(e.Ranks) * float64(bytes) / bandwidth
		got := e.run(t, nil).time.NS()
		within(t, e.String(), got, steps*alpha+moved, low, 1.001)
		if got < moved {
			t.Errorf("%v takes %.0f ns, less than the %.0f of its bytes", &e, got, moved)
		}
	}
}

// TestAllReduceOnFullyConnectedFabric checks two formulas for an all-reduce of M bytes.
// Over a tree of height h it takes 2hα + M/b, and up to 5 % more because the chunks of a
// message cannot be infinitely small. With direct it takes 2α + 2M/N/b, because each link carries 2M/N. α is the latency of a
// message and b the bandwidth of a link.
func TestAllReduceOnFullyConnectedFabric(t *testing.T) {
	const all, bytes = "system.sips.topology=fully_connected", 4 << 20
	message := textbook(Direct, SendRecv, 4, all)
	alpha := message.run(t, nil).time.NS()

	e := textbook(Tree, AllReduce, bytes, all)
	e.Slots = 16
	within(t, e.String(), e.run(t, nil).time.NS(), 2*3*alpha+bytes/100, 1, 1.05)

	e = textbook(Direct, AllReduce, bytes, all)
	within(t, e.String(), e.run(t, nil).time.NS(), 2*alpha+2*bytes/8/100, 0.98, 1)
}

// BenchmarkRing200 measures the simulation of an all-reduce of 200 ranks in 80,000
// messages. No values are computed.
func BenchmarkRing200(b *testing.B) {
	e := classic(Ring, AllReduce, 200, 200)
	e.timing = true
	for b.Loop() {
		e.run(b, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(200*2*199), "ns/message")
}

// BenchmarkDirect64 measures the simulation of an all-gather of 64 ranks through inboxes,
// in 4,032 messages.
func BenchmarkDirect64(b *testing.B) {
	e := classic(Direct, AllGather, 64, 64)
	e.timing = true
	for b.Loop() {
		e.run(b, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(64*63), "ns/message")
}
