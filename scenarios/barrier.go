package scenarios

import "github.com/kernbench/kernbench/tl"

// Barrier waits until all ranks, or all of those given, have come to it. What any of
// them did before is done for all of them after. Each barrier of a kernel needs a
// signal of its own: with one for two, a fast rank that is at the second could stand
// in for a slow one that is not at the first.
func Barrier(t *tl.PE, signal int, ranks ...int) {
	if ranks == nil {
		ranks = upTo(t.NumRanks())
	}
	for _, peer := range ranks {
		if peer != t.Rank() {
			t.Notify(peer, signal, tl.Add, 1)
		}
	}
	t.WaitSignal(signal, tl.GE, len(ranks)-1)
}

// upTo is 0, 1, ... n-1.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
