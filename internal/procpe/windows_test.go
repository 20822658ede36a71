package procpe

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// randomDelay returns a function for Options.Delay that at random lets other goroutines
// run.
func randomDelay() func() {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(1, 2))
	return func() {
		mu.Lock()
		n := rng.IntN(20)
		mu.Unlock()
		for range max(0, n-10) {
			runtime.Gosched()
		}
	}
}

// ring computes the average of x over all ranks. In each step, a rank puts a tile into the
// window of the next rank and sets that rank's signal of the step. The tile is the rank's
// own x in the first step, and later the tile that the rank received in the previous step.
// The rank then adds the tile that it receives in this step to its sum.
func ring(t *tl.PE, x, box tl.Ptr, n int) {
	me, ranks := t.Rank(), t.NumRanks()
	next := (me + 1) % ranks
	sum := t.Load(x, tl.Shape{n}, tl.F32)
	tile := sum
	for step := range ranks - 1 {
		t.Put(next, box.At(step), tile)
		t.Notify(next, step, tl.Set, 1)
		t.WaitSignal(step, tl.EQ, 1)
		tile = t.Load(box.At(step), tl.Shape{n}, tl.F32)
		sum = sum.Add(tile)
	}
	t.Store(x, sum.Div(ranks))
}

// gather adds 1 to x and waits until all ranks have done so. Then it copies x of each rank
// r to column r of the tensor `all`, and waits until all ranks have read x.
func gather(t *tl.PE, x, all tl.Ptr, n int) {
	ranks := t.NumRanks()
	t.Store(x, t.Load(x, tl.Shape{n}, tl.I32).Add(1))
	for peer := range ranks {
		t.Notify(peer, 1, tl.Add, 1)
	}
	t.WaitSignal(1, tl.GE, ranks)
	for peer := range ranks {
		tile := t.Get(peer, x, tl.Shape{n + 1}, tl.I32, tl.Mask(n), tl.Other(-1))
		t.Store(all.At(0, peer).Strided(ranks), tile)
	}
	for peer := range ranks { // so that no rank writes x again before all have read it
		t.Notify(peer, 2, tl.Add, 1)
	}
	t.WaitSignal(2, tl.EQ, ranks)
	for !t.Test(2, tl.EQ, ranks) {
	}
}

// takeFromNeighbours sends the number x to both neighbours in a ring of ranks, and combines
// the numbers of both neighbours with x in the order of arrival.
func takeFromNeighbours(t *tl.PE, x, box tl.Ptr) {
	me, ranks := t.Rank(), t.NumRanks()
	for side, peer := range []int{(me + 1) % ranks, (me + ranks - 1) % ranks} {
		t.Put(peer, box.At(side), t.Load(x, tl.Shape{1}, tl.I64))
		t.Notify(peer, side, tl.Add, 1)
	}
	seen := [2]int{}
	for range 2 {
		side := t.Select(tl.CanSignal(0, tl.GT, seen[0]), tl.CanSignal(1, tl.GT, seen[1]))
		seen[side]++
		t.WaitSignal(side, tl.GE, seen[side])
		t.Store(x, t.Load(x, tl.Shape{1}, tl.I64).Add(t.Load(box.At(side), tl.Shape{1}, tl.I64).Mul(10+side)))
	}
	t.Select(tl.CanSignal(1, tl.EQ, 1))
}

// reduceBlocks runs three reductions over peers at every rank. They reduce a block of x
// that has gaps between rows and does not begin at the start of x. The results are twice
// the sum in the order from the last rank to the first, the maximum over all ranks, and the
// minimum over the last rank alone.
func reduceBlocks(t *tl.PE, x, sum, most, one tl.Ptr, rows, cols int) {
	var peers []int
	for r := range t.NumRanks() {
		peers = append(peers, t.NumRanks()-1-r)
	}
	t.Barrier(0)
	s, from := tl.Shape{rows, cols}, x.At(1, 2)
	a := t.Composite(tl.ReducePeers(tl.OpAdd, sum, from, s, x.DType, peers...), tl.Do(tl.OpMul, 2))
	b := t.Composite(tl.ReducePeers(tl.OpMaximum, most, from, s, x.DType))
	c := t.Composite(tl.ReducePeers(tl.OpMinimum, one, from, s, x.DType, peers[0]))
	t.Wait(a)
	t.Wait(b)
	t.Wait(c)
	t.Barrier(0)
}

// TestWindows runs kernels that communicate, on several ranks, in several launches and with
// random delays. It checks that the results have the same bits as on the simulated machine.
func TestWindows(t *testing.T) {
	const n = 33
	for _, ranks := range []int{1, 2, 5} {
		for _, c := range []struct {
			name   string
			kernel any
			args   []any
		}{
			{"ring", ring, []any{
				&array{dtype: tl.F32, shape: tl.Shape{n}, init: waves, private: true}, &array{dtype: tl.F32, shape: tl.Shape{max(1, ranks-1), n}}, n}},
			{"gather", gather, []any{
				&array{dtype: tl.I32, shape: tl.Shape{n}, init: small}, &array{dtype: tl.I32, shape: tl.Shape{n + 1, ranks}}, n}},
			{"reduce", reduceBlocks, []any{
				&array{dtype: tl.F16, shape: tl.Shape{ranks + 3, 1100}, init: waves}, &array{dtype: tl.F32, shape: tl.Shape{ranks, 1097}, private: true},
				&array{dtype: tl.F16, shape: tl.Shape{ranks, 1097}, private: true}, &array{dtype: tl.F16, shape: tl.Shape{ranks, 1097}}, ranks, 1097}},
			{"reduce nothing", reduceBlocks, []any{
				&array{dtype: tl.I32, shape: tl.Shape{2, 3}, init: small}, &array{dtype: tl.I32, shape: tl.Shape{1}, private: true},
				&array{dtype: tl.I32, shape: tl.Shape{1}, private: true}, &array{dtype: tl.I32, shape: tl.Shape{1}}, 1, 0}},
			{"choose", takeFromNeighbours, []any{
				&array{dtype: tl.I64, shape: tl.Shape{1}, init: func(rank, _ int) float64 { return float64(rank + 1) }, private: true}, &array{dtype: tl.I64, shape: tl.Shape{2}}}},
		} {
			t.Run(fmt.Sprintf("%s on %d", c.name, ranks), func(t *testing.T) {
				checkSame(t, ranks, 5, setup{Signals: 8, Delay: randomDelay()}, c.kernel, c.args...)
			})
		}
	}
}

// TestLaunchesBackToBack checks that all signals are 0 at the start of every launch,
// although ranks proceed at different speeds. A rank may even change a signal of a peer
// after the peer has ended the launch.
func TestLaunchesBackToBack(t *testing.T) {
	const ranks, launches, n = 4, 100, 8
	var begun [ranks]int // launches that each rank has begun
	got := runOnRanks(t, ranks, launches, setup{Signals: ranks + 2, Delay: randomDelay()}, func(t *tl.PE, x, box tl.Ptr) {
		const late = ranks + 1
		me := t.Rank()
		begun[me]++
		sum := t.Load(x, tl.Shape{n}, tl.I64)
		for peer := range ranks {
			t.Put(peer, box.At(me), sum)
			t.Notify(peer, me, tl.Add, 7)
			t.Notify(peer, ranks, tl.Add, 1)
		}
		for peer := range ranks {
			t.WaitSignal(peer, tl.EQ, 7) // a value left from an earlier launch would make it larger
		}
		t.WaitSignal(ranks, tl.EQ, ranks)
		sum = t.Load(box, tl.Shape{ranks, n}, tl.I64).Max(0)
		t.Store(x, sum.Add(1))
		t.Assert(t.Test(late, tl.EQ, 0) || t.Test(late, tl.EQ, begun[me]), "a signal has come from another launch")
		t.Notify((me+1)%ranks, late, tl.Set, begun[me]) // no rank waits for it
	}, &array{dtype: tl.I64, shape: tl.Shape{n}, init: func(rank, i int) float64 { return float64(rank + i) }, private: true},
		&array{dtype: tl.I64, shape: tl.Shape{ranks, n}})
	for rank, x := range got[0] {
		for i := range n {
			if got, want := numeric.Get(tl.I64, x, i), float64(ranks-1+i+launches); got != want {
				t.Errorf("element %d of rank %d is %v after %d launches, want %v", i, rank, got, launches, want)
			}
		}
	}
}

// TestDomain checks Put into a window of a domain. Only some ranks of the launch are
// members of the domain, and the members have other rank numbers in the domain than in the
// launch.
func TestDomain(t *testing.T) {
	const ranks = 3
	members := []int{2, 0}
	var got [ranks][]byte
	errs := forEachRank(t, ranks, setup{}, func(c *comm.Comm, r *Rank) error {
		x := Tensor{Name: "x", DType: tl.U8, Shape: tl.Shape{2}, Memory: make([]byte, 2)}
		if slices.Contains(members, c.Rank()) {
			d, err := c.Domain(members...)
			if err != nil {
				return err
			}
			x.Memory = nil
			if x.Window, err = d.AllocWindow(2, 0); err != nil {
				return err
			}
		}
		err := r.Launch("meet", func(t *tl.PE, x tl.Ptr) {
			me := t.Rank()
			if !slices.Contains(members, me) {
				return
			}
			peer := members[0] + members[1] - me
			t.Put(peer, x.At(1), t.Full(tl.Shape{1}, tl.U8, float64(10+me)))
			t.Notify(peer, 0, tl.Set, 1)
			t.WaitSignal(0, tl.EQ, 1)
		}, x)
		if err != nil {
			return err
		}
		memory, _, err := x.memory()
		got[c.Rank()] = slices.Clone(memory)
		return err
	})
	want := [ranks][]byte{{0, 12}, {0, 0}, {0, 10}}
	for rank := range ranks {
		if errs[rank] != nil || !slices.Equal(got[rank], want[rank]) {
			t.Errorf("rank %d has %v, %v, want %v", rank, got[rank], errs[rank], want[rank])
		}
	}
}
