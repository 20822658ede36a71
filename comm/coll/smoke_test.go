package coll_test

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/comm/coll"
)

// TestSmoke is all collectives of small integers, with few bytes at a time.
func TestSmoke(t *testing.T) {
	for _, backend := range []string{"inproc", "shm"} {
		for _, n := range []int{1, 2, 3, 5, 8} {
			for _, slot := range []int{0, 64 * n, 4096} {
				for _, algorithm := range []coll.Algorithm{coll.Auto, coll.DirectOnePhase, coll.Direct} {
					for _, resident := range []bool{false, true} {
						t.Run(fmt.Sprint(backend, n, slot, algorithm, resident), func(t *testing.T) {
							right(t, group(backend, n, coll.Options{SlotBytes: max(slot, min(slot, 1)*64*n), Algorithm: algorithm}, func(g *coll.Group) error {
								return everything(g, resident)
							}))
						})
					}
				}
			}
		}
	}
}

func everything(g *coll.Group, resident bool) error {
	n, r := g.Comm().Size(), g.Comm().Rank()
	w, err := g.Comm().AllocWindow(1<<20, 0)
	if err != nil {
		return err
	}
	for round, count := range []int{0, 1, 7, 64, 100, 1000, 5000} {
		var at int64
		buffer := func(count int) []int32 {
			if resident {
				b, err := coll.Slice[int32](w, at, count)
				if err != nil {
					panic(err)
				}
				at += int64(count) * 4
				return b
			}
			return make([]int32, count)
		}
		x, y := buffer(count), buffer(count)
		wide, wide2 := buffer(n*count), buffer(n*count)
		fill := func() {
			for i := range x {
				x[i] = int32(i + 100*r + round)
				y[i] = -1
			}
			for i := range wide {
				wide[i] = int32(i + 1000*r + round)
				wide2[i] = -1
			}
		}
		check := func(what string, got []int32, want func(i int) int) error {
			for i, v := range got {
				if int(v) != want(i) {
					return fmt.Errorf("%s of %d, rank %d, round %d: [%d] is %d, want %d", what, count, r, round, i, v, want(i))
				}
			}
			return nil
		}
		for root := range n {
			fill()
			if err := coll.Broadcast(g, x, root); err != nil {
				return err
			}
			if err := check("broadcast", x, func(i int) int { return i + 100*root + round }); err != nil {
				return err
			}
			fill()
			if err := coll.Reduce(g, y, x, coll.Sum, root); err != nil {
				return err
			}
			if r == root {
				if err := check("reduce", y, func(i int) int { return n*(i+round) + 100*n*(n-1)/2 }); err != nil {
					return err
				}
			}
			fill()
			if err := coll.Gather(g, wide2, x, root); err != nil {
				return err
			}
			if r == root {
				if err := check("gather", wide2, func(i int) int { return i%count + 100*(i/count) + round }); err != nil {
					return err
				}
			}
			fill()
			if err := coll.Scatter(g, y, wide, root); err != nil {
				return err
			}
			if err := check("scatter", y, func(i int) int { return r*count + i + 1000*root + round }); err != nil {
				return err
			}
		}
		fill()
		if err := coll.AllReduce(g, y, x, coll.Sum); err != nil {
			return err
		}
		if err := check("all_reduce", y, func(i int) int { return n*(i+round) + 100*n*(n-1)/2 }); err != nil {
			return err
		}
		if err := coll.AllReduce(g, x, x, coll.Sum); err != nil {
			return err
		}
		if err := check("all_reduce in place", x, func(i int) int { return n*(i+round) + 100*n*(n-1)/2 }); err != nil {
			return err
		}
		fill()
		if err := coll.AllGather(g, wide2, x); err != nil {
			return err
		}
		if err := check("all_gather", wide2, func(i int) int { return i%count + 100*(i/count) + round }); err != nil {
			return err
		}
		fill()
		if err := coll.ReduceScatter(g, y, wide, coll.Sum); err != nil {
			return err
		}
		if err := check("reduce_scatter", y, func(i int) int { return n*(r*count+i+round) + 1000*n*(n-1)/2 }); err != nil {
			return err
		}
		if err := coll.AllToAll(g, wide2, wide); err != nil {
			return err
		}
		if err := check("all_to_all", wide2, func(i int) int { return r*count + i%count + 1000*(i/count) + round }); err != nil {
			return err
		}
		if resident {
			if err := g.Barrier(); err != nil {
				return err
			}
		}
	}
	return nil
}
