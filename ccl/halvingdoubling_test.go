package ccl

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/tl"
)

// TestHalvingSteps checks, for rank 0 of groups of several sizes, which blocks each step
// sends and which ranks it sends to and receives from.
func TestHalvingSteps(t *testing.T) {
	for ranks, want := range map[int]string{
		1: "",
		2: " 1-2:1/1",
		3: " 2-3:2/1 1-2:1/2",
		7: " 4-7:4/3 2-4:2/5 1-2:1/6",
		8: " 4-8:1/1 2-4:2/2 1-2:4/4",
		6: " 3-6:1/1 2-3:4/2 1-2:2/4", // first in pairs, then among the remaining three
	} {
		steps, partners := halvingSteps(ranks)
		got := ""
		for _, s := range steps {
			to, from := partners[s.to-tl.Numbered(0)], partners[s.from-tl.Numbered(0)]
			got += fmt.Sprintf(" %d-%d:%d/%d", s.low, s.high, to.peer(0), from.peer(0))
		}
		if got != want {
			t.Errorf("%d ranks: steps of rank 0, as low-high:to/from, are%s, want%s", ranks, got, want)
		}
	}
}

// blockOwners returns the owner of each block, in the numbering of the given rank: block 0
// is its own block.
func blockOwners(ranks, rank int) (list []int) {
	h := newHalving(AllReduce, ranks, rank)
	for number := range ranks {
		list = append(list, h.owner(number))
	}
	return list
}

// TestHalvingStepsReachAllRanks checks three properties for any number of ranks: the number
// of steps is minimal, a rank sends each block except its own once, and sender and receiver
// agree which rank each block belongs to.
func TestHalvingStepsReachAllRanks(t *testing.T) {
	for ranks := 1; ranks <= 130; ranks++ {
		steps, partners := halvingSteps(ranks)
		if want := bits.Len(uint(ranks - 1)); len(steps) != want {
			t.Errorf("%d ranks: %d steps, want %d", ranks, len(steps), want)
		}
		left := ranks
		for _, s := range steps {
			if s.high != left || s.low < s.count() {
				t.Errorf("%d ranks: blocks from %d to %d are sent of %d", ranks, s.low, s.high, left)
			}
			left = s.low
		}
		if left != 1 {
			t.Errorf("%d ranks: %d blocks are left in the end, want 1", ranks, left)
		}
		for rank := range ranks {
			own := blockOwners(ranks, rank)
			for _, s := range steps {
				to := partners[s.to-tl.Numbered(0)].peer(rank)
				if got, want := blockOwners(ranks, to)[:s.count()], own[s.low:s.high]; !slices.Equal(got, want) {
					t.Errorf("%d ranks: rank %d sends the blocks of %v, and rank %d takes them for those of %v", ranks, rank, want, to, got)
				}
			}
			if slices.Sort(own); own[0] != 0 || own[ranks-1] != ranks-1 || len(slices.Compact(own)) != ranks {
				t.Errorf("%d ranks: rank %d has blocks of ranks %v", ranks, rank, own)
			}
		}
	}
}

// TestHalvingOfAnyRanks checks the values of halving_doubling for any number of ranks, and
// for blocks of so many messages that they are divided into several segments.
func TestHalvingOfAnyRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExperiment(t, HalvingDoubling.Collectives...)
		e.algorithm = HalvingDoubling
		if len(e.Counts) == 1 {
			e.Ranks = rapid.IntRange(1, 17).Draw(t, "any ranks")
			e.Divisor = 0
		}
		if e.Collective == AllReduce {
			messages := rapid.IntRange(1, 20).Draw(t, "messages of a block")
			e.Chunk = max(1, e.Count(0)/(e.Ranks*messages))
			e.queues.SlotSize, e.queues.NSlots = memory.Bytes(e.Chunk*e.DType.Size()), e.Slots
		}
		e.Tiles = rapid.SampledFrom([]int{0, 8, 40}).Draw(t, "tiles")
		whole := !e.DType.IsFloat() || e.Reduction == Product || rapid.Bool().Draw(t, "whole")
		e.verify(t, 3, whole)
	})
}

// TestHalvingDoublingTakesItsFormula checks that an all-reduce of M bytes on a fully
// connected fabric takes 2·ceil(log2 N)·α + 2(N-1)/N·M/b if it is tiny or has two ranks. α
// is the latency of a message and b the bandwidth of a link. Other all-reduces take less,
// because links to several partners are busy at once: no link carries more than M bytes.
func TestHalvingDoublingTakesItsFormula(t *testing.T) {
	const all, bandwidth = "system.sips.topology=fully_connected", 100.0 // B/ns
	message := textbook(Direct, SendRecv, 4, all)
	alpha := message.run(t, nil).time.NS()
	for _, c := range []struct {
		ranks, bytes int
		low, high    float64
	}{
		{2, 4, 0.999, 1.001},
		{4, 16, 0.999, 1.001},
		{8, 4, 0.999, 1.001},
		{8, 32, 0.999, 1.002},
		{8, 4 << 10, 0.999, 1.001},
		{8, 64 << 10, 0.79, 0.81},
		{2, 4 << 20, 0.99, 1},
		{3, 4 << 20, 0.50, 0.52},
		{4, 4 << 20, 0.81, 0.83},
		{6, 4 << 20, 0.96, 0.97},
		{7, 4 << 20, 0.56, 0.57},
		{8, 4 << 20, 0.82, 0.84},
	} {
		e := textbook(HalvingDoubling, AllReduce, c.bytes, all)
		e.Ranks = c.ranks
		steps := float64(2 * bits.Len(uint(c.ranks-1)))
		share := 2 * float64(c.ranks-1) / float64(c.ranks)
		got := e.run(t, nil).time.NS()
		within(t, e.String(), got, steps*alpha+share*float64(c.bytes)/bandwidth, c.low, c.high)
	}
}

// TestHalvingDoublingNeedsFewSlots checks that an all-reduce with fewer slots takes longer,
// and that more than 16 slots of 4 KiB do not make it faster. 16 slots hold twice the data
// that is in flight until a credit has returned.
func TestHalvingDoublingNeedsFewSlots(t *testing.T) {
	const all, bytes = "system.sips.topology=fully_connected", 1 << 20
	times := map[int]float64{}
	for _, slots := range []int{1, 4, 16, 256} {
		e := textbook(HalvingDoubling, AllReduce, bytes, all)
		e.Slots, e.queues.NSlots = slots, slots
		times[slots] = e.run(t, nil).time.NS()
	}
	if times[1] < times[4] || times[4] < times[16] || times[16] != times[256] {
		t.Errorf("1 MiB with 1, 4, 16 and 256 slots takes %v ns, want less with more, and the same with the last two", times)
	}
}

// BenchmarkHalving128 measures the simulation of an all-reduce of 128 ranks. Each rank
// sends 2·127 messages, so that there are 32,512. No values are computed.
func BenchmarkHalving128(b *testing.B) {
	const ranks = 128
	e := classic(HalvingDoubling, AllReduce, ranks, leastBlock*ranks)
	e.timing = true
	for b.Loop() {
		e.run(b, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(ranks*2*(ranks-1)), "ns/message")
}
