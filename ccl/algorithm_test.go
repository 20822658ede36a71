package ccl

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// classic returns an experiment that runs collective c with algorithm a: elements of f16,
// messages of 4 KiB, and queues of 4 slots.
func classic(a *Algorithm, c Collective, ranks int, counts ...int) experiment {
	return experiment{
		Plan: Plan{
			Collective: c, Ranks: ranks, Factor: 0.5, DType: tl.F16, Counts: counts, Chunk: 2048, Slots: 4,
		},
		algorithm: a, preset: "default",
		queues: topology.IPCQ{NSlots: 4, SlotSize: 4 * memory.Bytes(1<<10)},
	}
}

// every calls f for each pair of an algorithm and a collective that the algorithm performs.
func every(f func(a *Algorithm, c Collective)) {
	for _, c := range Collectives() {
		for _, a := range Algorithms(c) {
			f(a, c)
		}
	}
}

// TestEveryAlgorithmDoesItsCollectives checks the values of each collective with each
// algorithm, through queues and through inboxes.
func TestEveryAlgorithmDoesItsCollectives(t *testing.T) {
	every(func(a *Algorithm, c Collective) {
		for _, ranks := range []int{1, 2, 3, 8} {
			for _, n := range []int{0, 5, 5000} {
				for _, inboxes := range []bool{false, true} {
					e := classic(a, c, ranks, n)
					e.inboxes = inboxes
					e.verify(t, uint64(n), true)
				}
			}
		}
	})
}

// TestEveryReduction checks the values of each reduction with each algorithm.
func TestEveryReduction(t *testing.T) {
	every(func(a *Algorithm, c Collective) {
		for _, r := range Reductions() {
			for _, ranks := range []int{1, 2, 6} {
				for _, divisor := range []int{0, 8} {
					e := classic(a, c, ranks, 50)
					if e.Reduction, e.Divisor = r, divisor; !r.Serves(e.DType) {
						e.DType = tl.I32
					}
					if c.Reduces() {
						e.verify(t, uint64(r), true)
					}
				}
			}
		}
	})
}

// TestLargeGroups checks the values of collectives of 200 ranks, most of which have empty
// blocks.
func TestLargeGroups(t *testing.T) {
	const ranks = 200
	every(func(a *Algorithm, c Collective) {
		e := classic(a, c, ranks, 7)
		e.Root = 77
		switch c {
		case AllGather, ReduceScatter, Gather, Scatter:
			e.Counts = make([]int, ranks)
			for rank := 3; rank < ranks; rank += 40 {
				e.Counts[rank] = rank
			}
		case AllToAll:
			e.Counts = make([]int, ranks*ranks)
			for pair := 3; pair < ranks*ranks; pair += 1001 {
				e.Counts[pair] = 1 + pair%5
			}
		}
		e.verify(t, 1, true)
	})
}

// TestBarrierWaitsForEveryone checks that no rank leaves a barrier before the last rank has
// arrived.
func TestBarrierWaitsForEveryone(t *testing.T) {
	const calls = 5000 // each takes 1 ns
	for _, a := range Algorithms(Barrier) {
		for late := range 7 {
			e := classic(a, Barrier, 7, 0)
			e.timing = true
			e.before = func(t *tl.PE, rank int) {
				for i := 0; rank == late && i < calls; i++ {
					t.Test(0, tl.EQ, -1)
				}
			}
			for rank, took := range e.run(t, nil).exec {
				if took.NS() < calls {
					t.Errorf("%s: rank %d leaves after %v, rank %d comes after %d ns", a.Name, rank, took, late, calls)
				}
			}
		}
	}
}

// TestNeighborsNameEachOther checks that every neighbour of a rank lists that rank at the
// index in the field Inbox, and that no rank uses a port twice.
func TestNeighborsNameEachOther(t *testing.T) {
	every(func(a *Algorithm, c Collective) {
		for _, ranks := range []int{1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 100} {
			p := Plan{Collective: c, Ranks: ranks, Root: ranks / 3, Messages: shift(ranks, func(int) int { return 1 })}
			lists := make([][]Neighbor, ranks)
			for rank := range lists {
				lists[rank] = a.Neighbors(&p, rank)
			}
			for rank, list := range lists {
				ports := map[tl.Port]bool{}
				for i, n := range list {
					want := Neighbor{Port: n.PeerPort, Rank: rank, PeerPort: n.Port, Inbox: i}
					if got := lists[n.Rank][n.Inbox]; got != want || ports[n.Port] {
						t.Errorf("%s %v of %d ranks: rank %d has %+v, which has %+v, want %+v", a.Name, c, ranks, rank, n, got, want)
					}
					ports[n.Port] = true
				}
			}
		}
	})
}

// TestKernelsNeedFewTiles checks that a kernel runs if TCM holds only the slots of its
// queues and 32 tiles of the size of a message, for any amount of data and any number of
// ranks.
func TestKernelsNeedFewTiles(t *testing.T) {
	every(func(a *Algorithm, c Collective) {
		for ranks, n := range map[int]int{9: 20_000, 33: 1000} {
			e := classic(a, c, ranks, n)
			e.Chunk, e.Slots, e.Tiles = 512, 8, 32
			e.queues = topology.IPCQ{}
			e.Messages = shift(e.Ranks, func(int) int { return n })
			queues, tcm := a.Ports(&e.Plan), 32
			if tcm += 8 * queues; queues > 8 {
				queues, tcm = 1, 32 // inboxes need no TCM
			}
			e.sets = []string{
				"pe.ipcq.n_slots=8", "pe.ipcq.slot_size=1 KiB",
				fmt.Sprintf("pe.ipcq.max_ports=%d", queues), fmt.Sprintf("pe.tcm.size=%d KiB", tcm),
			}
			e.timing = true
			e.run(t, nil)
		}
	})
}
