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

// shake is a Delay that lets others go first now and then.
func shake() func() {
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

// ring adds up what all ranks have: parts go round, each rank adding its own, with a
// signal for each step. All ranks end with the sum.
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

// gather has every rank fetch what others have, a column at a time, when they say that
// it is there.
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
	for peer := range ranks { // nobody writes before all have read
		t.Notify(peer, 2, tl.Add, 1)
	}
	t.WaitSignal(2, tl.EQ, ranks)
	for !t.Test(2, tl.EQ, ranks) {
	}
}

// choose has every rank take numbers from the two beside it in whichever order they
// come.
func choose(t *tl.PE, x, box tl.Ptr) {
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

// reduceAt has every rank reduce what all have, from the last rank to the first, in a block
// of rows with gaps and from a pointer that has moved: a sum to f32, the largest, and what
// one rank has.
func reduceAt(t *tl.PE, x, sum, most, one tl.Ptr, rows, cols int) {
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

// TestWindows runs kernels that talk on several ranks and on the simulated machine,
// launch after launch, in shaken order.
func TestWindows(t *testing.T) {
	const n = 33
	for _, ranks := range []int{1, 2, 5} {
		for _, c := range []struct {
			name   string
			kernel any
			args   []any
		}{
			{"ring", ring, []any{
				&array{dtype: tl.F32, shape: tl.Shape{n}, init: waves, own: true}, &array{dtype: tl.F32, shape: tl.Shape{max(1, ranks-1), n}}, n}},
			{"gather", gather, []any{
				&array{dtype: tl.I32, shape: tl.Shape{n}, init: small}, &array{dtype: tl.I32, shape: tl.Shape{n + 1, ranks}}, n}},
			{"reduce", reduceAt, []any{
				&array{dtype: tl.F16, shape: tl.Shape{ranks + 3, 1100}, init: waves}, &array{dtype: tl.F32, shape: tl.Shape{ranks, 1097}, own: true},
				&array{dtype: tl.F16, shape: tl.Shape{ranks, 1097}, own: true}, &array{dtype: tl.F16, shape: tl.Shape{ranks, 1097}}, ranks, 1097}},
			{"reduce nothing", reduceAt, []any{
				&array{dtype: tl.I32, shape: tl.Shape{2, 3}, init: small}, &array{dtype: tl.I32, shape: tl.Shape{1}, own: true},
				&array{dtype: tl.I32, shape: tl.Shape{1}, own: true}, &array{dtype: tl.I32, shape: tl.Shape{1}}, 1, 0}},
			{"choose", choose, []any{
				&array{dtype: tl.I64, shape: tl.Shape{1}, init: func(rank, _ int) float64 { return float64(rank + 1) }, own: true}, &array{dtype: tl.I64, shape: tl.Shape{2}}}},
		} {
			t.Run(fmt.Sprintf("%s on %d", c.name, ranks), func(t *testing.T) {
				same(t, ranks, 5, setup{Signals: 8, Delay: shake()}, c.kernel, c.args...)
			})
		}
	}
}

// TestLaunchesBackToBack has ranks lap each other. Signals are 0 in every launch, also
// those that a rank changes when the other has ended already.
func TestLaunchesBackToBack(t *testing.T) {
	const ranks, launches, n = 4, 100, 8
	var begun [ranks]int // launches of each rank
	got := actual(t, ranks, launches, setup{Signals: ranks + 2, Delay: shake()}, func(t *tl.PE, x, box tl.Ptr) {
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
			t.WaitSignal(peer, tl.EQ, 7) // what an earlier launch left would make it more
		}
		t.WaitSignal(ranks, tl.EQ, ranks)
		sum = t.Load(box, tl.Shape{ranks, n}, tl.I64).Max(0)
		t.Store(x, sum.Add(1))
		t.Assert(t.Test(late, tl.EQ, 0) || t.Test(late, tl.EQ, begun[me]), "a signal has come from another launch")
		t.Notify((me+1)%ranks, late, tl.Set, begun[me]) // for which nobody waits
	}, &array{dtype: tl.I64, shape: tl.Shape{n}, init: func(rank, i int) float64 { return float64(rank + i) }, own: true},
		&array{dtype: tl.I64, shape: tl.Shape{ranks, n}})
	for rank, x := range got[0] {
		for i := range n {
			if got, want := numeric.Get(tl.I64, x, i), float64(ranks-1+i+launches); got != want {
				t.Errorf("element %d of rank %d is %v after %d launches, want %v", i, rank, got, launches, want)
			}
		}
	}
}

// TestDomain puts into a window that not all ranks of the launch have, whose ranks have
// other numbers there.
func TestDomain(t *testing.T) {
	const ranks = 3
	members := []int{2, 0}
	var got [ranks][]byte
	errs := onRanks(t, ranks, setup{}, func(c *comm.Comm, r *Rank) error {
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
