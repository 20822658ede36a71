package tl

import (
	"errors"
	"fmt"
	"slices"
)

// Barrier waits until all ranks of the launch, or all of the given ones, have called
// Barrier on this signal as often as this rank has. What they did before the call is done
// for all of them after it. A kernel may call it any number of times on one signal, with
// the same ranks every time. The signal then counts arrivals and has no other use.
func (t *PE) Barrier(signal int, ranks ...int) {
	b := t.m.Barrier(signal)
	if err := b.enter(t.place.Rank, t.place.Ranks, ranks); err != nil {
		panic(t.fail("Barrier", signalText(signal), err))
	}
	for _, peer := range b.ranks {
		if peer != t.place.Rank {
			t.Notify(peer, signal, Add, 1)
		}
	}
	t.WaitSignal(signal, GE, b.arrivals)
	b.waiting = false
}

// Barrier is the state of the barrier on one signal of a rank. A machine keeps it for as
// long as the signal keeps its value.
//
// One count is enough for all calls. A rank notifies its peers of its next call only after
// all ranks have begun the present one, and a signal changes only when what the notifying
// rank did before is done for everyone. So whichever notifications add up to the count,
// all ranks have arrived.
type Barrier struct {
	ranks    []int // that meet, each once
	arrivals int   // of other ranks, in all calls so far
	waiting  bool  // in a call
}

// enter begins a call by a rank of n, and adds the arrivals that it waits for.
func (b *Barrier) enter(rank, n int, ranks []int) error {
	if b.waiting {
		return errors.New("another task of this rank waits at the barrier on this signal: order the two tasks, or give each a signal of its own")
	}
	if known := b.ranks != nil && (ranks == nil && len(b.ranks) == n || slices.Equal(ranks, b.ranks)); !known {
		list, err := members(rank, n, ranks)
		if err != nil {
			return err
		}
		if b.ranks != nil && !slices.Equal(sorted(list), sorted(b.ranks)) {
			return fmt.Errorf("a barrier of ranks %v on a signal whose barriers are of ranks %v: use another signal for other ranks", list, b.ranks)
		}
		b.ranks = list
	}
	b.arrivals += len(b.ranks) - 1
	b.waiting = true
	return nil
}

// members returns a copy of the ranks of a barrier, which are all of n if ranks is nil.
// It refuses a list that has a rank twice, a rank that does not exist, or not the calling
// rank.
func members(rank, n int, ranks []int) ([]int, error) {
	list := slices.Clone(ranks)
	if ranks == nil {
		list = allRanks(n)
	}
	if !slices.Contains(list, rank) {
		return nil, fmt.Errorf("rank %d calls a barrier of ranks %v: only those that are in the list may call it", rank, list)
	}
	order := sorted(list)
	if order[0] < 0 || order[len(order)-1] >= n {
		return nil, fmt.Errorf("a barrier of ranks %v: this launch has ranks 0 to %d", list, n-1)
	}
	if len(slices.Compact(order)) < len(list) {
		return nil, fmt.Errorf("a barrier of ranks %v: name each rank once", list)
	}
	return list, nil
}

// allRanks returns 0, 1, ... n-1.
func allRanks(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func sorted(ranks []int) []int { return slices.Sorted(slices.Values(ranks)) }
