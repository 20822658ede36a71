package ccl

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCounts checks the offsets and lengths of blocks for a plan with one count for all
// blocks, one count per block, or no counts.
func TestCounts(t *testing.T) {
	uneven := []int{3, 0, 7, 1, 5}
	pairs := make([]int, 9) // for 3 ranks
	for i := range pairs {
		pairs[i] = i * i
	}
	for _, tt := range []struct {
		plan          Plan
		blocks        string // offset and length of each block
		in, out       string // elements of In and Out of rank 1
		ins, outs     int    // number of blocks of In and Out
		largest, last int    // last: elements from rank 2 to rank 1; -1 is not checked
	}{
		{Plan{Collective: AllReduce, Ranks: 5, Counts: []int{9}}, "[0 9]", "[9]", "[9]", 1, 1, 9, 9},
		{Plan{Collective: AllReduce, Ranks: 5}, "[0 0]", "[0]", "[0]", 1, 1, 0, 0},
		{Plan{Collective: AllGather, Ranks: 5, Counts: []int{4}}, "[0 4] [4 4] [8 4] [12 4] [16 4]", "[4]", "[4 4 4 4 4]", 1, 5, 4, 4},
		{Plan{Collective: AllGather, Ranks: 5, Counts: uneven}, "[0 3] [3 0] [3 7] [10 1] [11 5]", "[0]", "[3 0 7 1 5]", 1, 5, 7, -1},
		{Plan{Collective: ReduceScatter, Ranks: 5, Counts: uneven}, "[0 3] [3 0] [3 7] [10 1] [11 5]", "[3 0 7 1 5]", "[0]", 5, 1, 7, -1},
		{Plan{Collective: AllToAll, Ranks: 3, Counts: []int{2}}, "[0 2] [2 2] [4 2] [6 2] [8 2] [10 2] [12 2] [14 2] [16 2]", "[2 2 2]", "[2 2 2]", 3, 3, 2, 2},
		{Plan{Collective: AllToAll, Ranks: 3, Counts: pairs}, "[0 0] [0 1] [1 4] [5 9] [14 16] [30 25] [55 36] [91 49] [140 64]", "[9 16 25]", "[1 16 49]", 3, 3, 64, 49},
		{Plan{Collective: SendRecv, Ranks: 2, Messages: []Message{{0, 1, 6}, {1, 0, 8}}}, "[0 6] [6 8]", "[6 8]", "[6 8]", 2, 2, 8, -1},
	} {
		name := fmt.Sprintf("%v of %v", tt.plan.Collective, tt.plan.Counts)
		p, a := &tt.plan, &Args{Plan: &tt.plan, Rank: 1}
		var in, out []int
		text := ""
		for i := range strings.Count(tt.blocks, "[") {
			from, n := p.Block(i)
			text += fmt.Sprintf(" [%d %d]", from, n)
			if n != p.Count(i) {
				t.Errorf("%s: block %d has %d elements, Count says %d", name, i, n, p.Count(i))
			}
		}
		for i := range tt.ins {
			in = append(in, a.InCount(i))
		}
		for i := range tt.outs {
			out = append(out, a.OutCount(i))
		}
		if text[1:] != tt.blocks || fmt.Sprint(in) != tt.in || fmt.Sprint(out) != tt.out || p.Largest() != tt.largest {
			t.Errorf("%s: blocks%s, in %v, out %v, largest %d; want %s, %s, %s, %d",
				name, text, in, out, p.Largest(), tt.blocks, tt.in, tt.out, tt.largest)
		}
		if tt.last >= 0 && p.Between(2, 1) != tt.last {
			t.Errorf("%s: %d elements from rank 2 to rank 1, want %d", name, p.Between(2, 1), tt.last)
		}
	}
}

// TestOneCountStandsForAll checks that a plan with one count for all blocks has the same
// blocks as a plan that repeats the count for each block.
func TestOneCountStandsForAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([]Collective{AllGather, Gather, ReduceScatter, Scatter, AllToAll}).Draw(t, "collective")
		ranks, n := rapid.IntRange(2, 13).Draw(t, "ranks"), rapid.IntRange(0, 1000).Draw(t, "count")
		blocks := ranks
		if c == AllToAll {
			blocks *= ranks
		}
		one, each := &Plan{Collective: c, Ranks: ranks, Counts: []int{n}}, &Plan{Collective: c, Ranks: ranks, Counts: make([]int, blocks)}
		for i := range each.Counts {
			each.Counts[i] = n
		}
		for i := range blocks {
			from, count := one.Block(i)
			if f, k := each.Block(i); f != from || k != count {
				t.Fatalf("block %d is %d elements at %d, and %d at %d", i, count, from, k, f)
			}
		}
		if one.total() != each.total() || one.Largest() != each.Largest() {
			t.Fatalf("total %d and %d, largest %d and %d", one.total(), each.total(), one.Largest(), each.Largest())
		}
	})
}
