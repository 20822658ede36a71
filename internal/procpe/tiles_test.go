package procpe

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// vector returns a value of n bytes that has no tile yet.
func vector(n int) tl.Value {
	return tl.Value{DType: tl.U8, Shape: oplog.Shape{Rank: 1, Dim: [oplog.MaxRank]int32{int32(n)}}}
}

// TestTilesEvictLeastRecentlyUsed adds, uses, pins and drops random tiles. After each step
// it checks that exactly those tiles exist which a simple list in the test predicts.
func TestTilesEvictLeastRecentlyUsed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const limit = 1000
		ts := tiles{limit: limit}
		type tile struct {
			v      tl.Value
			pinned bool
			mark   byte
		}
		var live, evicted []tile // the oldest first
		used := func() (n int64) {
			for _, x := range live {
				n += cost(int(x.v.Bytes()))
			}
			return n
		}
		for i := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			k := -1
			if len(live) > 0 {
				k = rapid.IntRange(0, len(live)-1).Draw(rt, "which")
			}
			switch action := rapid.IntRange(0, 5).Draw(rt, "action"); {
			case action <= 2 || k < 0:
				x := tile{v: vector(rapid.IntRange(0, 300).Draw(rt, "bytes")), mark: byte(i)}
				keep := []int32{0}
				if k >= 0 {
					keep[0] = live[k].v.Slot
				}
				b, err := ts.add(&x.v, keep...)
				// Evict from the expected list in the same way.
				for at := 0; at < len(live) && used()+cost(int(x.v.Bytes())) > limit; {
					if live[at].pinned || live[at].v.Slot == keep[0] {
						at++
						continue
					}
					evicted = append(evicted, live[at])
					live = slices.Delete(live, at, at+1)
				}
				fits := used()+cost(int(x.v.Bytes())) <= limit
				if (err == nil) != fits {
					rt.Fatalf("tile of %d bytes in addition to %d: %v", x.v.Bytes(), used(), err)
				}
				if err == nil {
					for j := range b {
						b[j] = x.mark
					}
					live = append(live, x)
				}
			case action == 3:
				x := live[k]
				b, err := ts.use(&x.v)
				if err != nil {
					rt.Fatalf("tile %d: %v", x.mark, err)
				}
				if j := slices.IndexFunc(b, func(c byte) bool { return c != x.mark }); int64(len(b)) != x.v.Bytes() || j >= 0 {
					rt.Fatalf("tile %d of %d bytes holds %v", x.mark, x.v.Bytes(), b)
				}
				live = append(slices.Delete(live, k, k+1), x)
			case action == 4:
				ts.drop(live[k].v.Slot)
				evicted, live = append(evicted, live[k]), slices.Delete(live, k, k+1)
			case action == 5:
				ts.slots[live[k].v.Slot].pinned, live[k].pinned = true, true
			}
			if ts.used != used() {
				rt.Fatalf("%d bytes are used, want %d", ts.used, used())
			}
			for _, x := range evicted {
				if _, err := ts.use(&x.v); err == nil {
					rt.Fatalf("tile %d exists, want it evicted", x.mark)
				}
			}
		}
		ts.clear()
		if ts.used != 0 || ts.slots[0].newer != 0 {
			rt.Fatalf("%d bytes are used in the end", ts.used)
		}
	})
}

// TestManyTiles runs a kernel that creates far more tiles than fit, and keeps one tile
// pinned. It checks that the results are the same as on the simulated machine.
func TestManyTiles(t *testing.T) {
	const n, rounds = 1024, 1000
	checkSame(t, 1, 1, setup{TileBytes: 64 << 10}, func(t *tl.PE, x tl.Ptr) {
		step := t.Full(tl.Shape{1}, tl.F32, 0.125).Pin()
		for range rounds {
			t.Store(x, t.Load(x, tl.Shape{n}, tl.F32).Add(step))
		}
	}, &array{dtype: tl.F32, shape: tl.Shape{n}, init: waves})
}

// TestOperationsAllocateNothing checks that loads, stores, computations, puts, gets and
// signals allocate no Go memory once tiles are being evicted.
func TestOperationsAllocateNothing(t *testing.T) {
	runOnRanks(t, 1, 1, setup{TileBytes: 4096, Delay: func() {}}, func(pe *tl.PE, x tl.Ptr) {
		s := tl.Shape{64}
		step := func() {
			a := pe.Load(x, s, tl.F32, tl.Mask(60))
			pe.Store(x, a.Add(1).Mul(a))
			pe.Put(0, x, pe.Get(0, x, s, tl.F32))
			pe.Notify(0, 0, tl.Add, 1)
			pe.WaitSignal(0, tl.GE, 1)
		}
		for range 50 { // until tiles are evicted
			step()
		}
		if n := testing.AllocsPerRun(100, step); n != 0 {
			t.Errorf("%v allocations, want 0", n)
		}
	}, &array{dtype: tl.F32, shape: tl.Shape{64}})
}
