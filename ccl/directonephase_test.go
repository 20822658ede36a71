package ccl

import (
	"testing"

	"pgregory.net/rapid"
)

// TestOnePhaseOfAnyRanks checks the values of an all-reduce by direct_one_phase with 1 to
// 17 ranks.
func TestOnePhaseOfAnyRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExperiment(t, AllReduce)
		e.algorithm = DirectOnePhase
		e.Ranks = rapid.IntRange(1, 17).Draw(t, "any ranks")
		e.Divisor = 0
		whole := !e.DType.IsFloat() || e.Reduction == Product || rapid.Bool().Draw(t, "whole")
		e.verify(t, 3, whole)
	})
}

// TestOnePhaseTakesItsFormula checks that an all-reduce of M bytes on a fully connected
// fabric takes α + M/b, because each link carries all elements once. α is the latency of a
// message and b the bandwidth of a link.
func TestOnePhaseTakesItsFormula(t *testing.T) {
	const all, bandwidth = "system.sips.topology=fully_connected", 100.0 // B/ns
	message := textbook(Direct, SendRecv, 4, all)
	alpha := message.run(t, nil).time.NS()
	for _, bytes := range []int{4, 32, 4 << 10, 64 << 10, 1 << 20} {
		for _, ranks := range []int{2, 5, 8} {
			e := textbook(DirectOnePhase, AllReduce, bytes, all)
			e.Ranks = ranks
			within(t, e.String(), e.run(t, nil).time.NS(), alpha+float64(bytes)/bandwidth, 0.999, 1.0001)
		}
	}
}
