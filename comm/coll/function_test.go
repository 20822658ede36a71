package coll_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/commtest"
)

// TestFunctions runs checkFunctions for each dtype.
func TestFunctions(t *testing.T) {
	t.Run("f32", checkFunctions(func(x float64) float32 { return float32(x) }))
	t.Run("f64", checkFunctions(func(x float64) float64 { return x }))
	t.Run("i32", checkFunctions(func(x float64) int32 { return int32(x) }))
	t.Run("i64", checkFunctions(func(x float64) int64 { return int64(x) }))
	// The bits of small integers as 16-bit floats.
	halves := map[float64]coll.F16{-1: 0xbc00, 0: 0, 1: 0x3c00, 2: 0x4000, 3: 0x4200, 4: 0x4400, 5: 0x4500, 6: 0x4600, 7: 0x4700, 9: 0x4880, 10: 0x4900, 28: 0x4f00, 40: 0x5100}
	t.Run("f16", checkFunctions(func(x float64) coll.F16 { return halves[x] }))
	bfloats := map[float64]coll.BF16{-1: 0xbf80, 0: 0, 1: 0x3f80, 2: 0x4000, 3: 0x4040, 4: 0x4080, 5: 0x40a0, 6: 0x40c0, 7: 0x40e0, 9: 0x4110, 10: 0x4120, 28: 0x41e0, 40: 0x4220}
	t.Run("bf16", checkFunctions(func(x float64) coll.BF16 { return bfloats[x] }))
}

// checkFunctions returns a test of the results of all collective functions between two
// ranks. Rank 0 has the elements 1, 2, 4, 7 and rank 1 has 5, 7, 10, -1. `convert` converts
// these numbers to the dtype.
func checkFunctions[T coll.Element](convert func(float64) T) func(t *testing.T) {
	list := func(values ...float64) (x []T) {
		for _, v := range values {
			x = append(x, convert(v))
		}
		return x
	}
	tests := []struct {
		name string
		len  int // length of dst
		call func(g *coll.Group, dst, src []T) error
		want [2][]T
	}{
		{"all_reduce sum", 4, func(g *coll.Group, dst, src []T) error { return coll.AllReduce(g, dst[:2], src[:2], coll.Sum) },
			[2][]T{list(6, 9, 0, 0), list(6, 9, 0, 0)}},
		{"all_reduce prod", 1, func(g *coll.Group, dst, src []T) error { return coll.AllReduce(g, dst, src[2:3], coll.Prod) },
			[2][]T{list(40), list(40)}},
		{"all_reduce min", 4, func(g *coll.Group, dst, src []T) error { return coll.AllReduce(g, dst, src, coll.Min) },
			[2][]T{list(1, 2, 4, -1), list(1, 2, 4, -1)}},
		{"all_reduce max", 4, func(g *coll.Group, dst, src []T) error { return coll.AllReduce(g, dst, src, coll.Max) },
			[2][]T{list(5, 7, 10, 7), list(5, 7, 10, 7)}},
		{"reduce avg", 1, func(g *coll.Group, dst, src []T) error { return coll.Reduce(g, dst, src[2:3], coll.Avg, 1) },
			[2][]T{list(0), list(7)}},
		{"broadcast", 4, func(g *coll.Group, dst, src []T) error { copy(dst, src); return coll.Broadcast(g, dst, 1) },
			[2][]T{list(5, 7, 10, -1), list(5, 7, 10, -1)}},
		{"all_gather", 4, func(g *coll.Group, dst, src []T) error { return coll.AllGather(g, dst, src[:2]) },
			[2][]T{list(1, 2, 5, 7), list(1, 2, 5, 7)}},
		{"reduce_scatter", 1, func(g *coll.Group, dst, src []T) error { return coll.ReduceScatter(g, dst, src[:2], coll.Sum) },
			[2][]T{list(6), list(9)}},
		{"all_to_all", 4, func(g *coll.Group, dst, src []T) error { return coll.AllToAll(g, dst, src) },
			[2][]T{list(1, 2, 5, 7), list(4, 7, 10, -1)}},
		{"gather", 4, func(g *coll.Group, dst, src []T) error { return coll.Gather(g, dst, src[2:], 0) },
			[2][]T{list(4, 7, 10, -1), list(0, 0, 0, 0)}},
		{"scatter", 2, func(g *coll.Group, dst, src []T) error { return coll.Scatter(g, dst, src, 0) },
			[2][]T{list(1, 2), list(4, 7)}},
	}
	return func(t *testing.T) {
		commtest.Succeed(t, runGroup("inproc", 2, coll.Options{}, func(g *coll.Group) error {
			rank := g.Comm().Rank()
			for _, test := range tests {
				src := [2][]T{list(1, 2, 4, 7), list(5, 7, 10, -1)}[rank]
				dst := make([]T, test.len)
				if err := test.call(g, dst, src); err != nil {
					return err
				}
				if !slices.Equal(dst, test.want[rank]) {
					return fmt.Errorf("%s at rank %d: got %v, want %v", test.name, rank, dst, test.want[rank])
				}
			}
			return nil
		}))
	}
}

// TestAverageOfIntegers checks that averages of integers are rounded towards zero.
func TestAverageOfIntegers(t *testing.T) {
	commtest.Succeed(t, runGroup("inproc", 3, coll.Options{}, func(g *coll.Group) error {
		x := [][]int32{{1, -1, 7, 1 << 30}, {1, -1, 0, 1 << 30}, {0, 0, 1, 1 << 30}}[g.Comm().Rank()]
		if err := coll.AllReduce(g, x, x, coll.Avg); err != nil {
			return err
		}
		// The last sum does not fit into an int32 and wraps as in Go.
		if want := []int32{0, 0, 2, -(1 << 30) / 3}; !slices.Equal(x, want) {
			return fmt.Errorf("got %v, want %v", x, want)
		}
		return nil
	}))
}

// TestLarge checks the results of collectives whose buffers are so large that stores bypass
// the caches. Slots have the default size.
func TestLarge(t *testing.T) {
	const count = 1<<20 + 17 // more than 4 MiB
	golden := func(rank, i int) int32 { return int32(i*7 + rank) }
	for _, n := range []int{2, 3} {
		for _, resident := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/resident=%v", n, resident), func(t *testing.T) {
				commtest.Succeed(t, runGroup("inproc", n, coll.Options{}, func(g *coll.Group) error {
					b, err := newBuffers(g, count, resident)
					if err != nil {
						return err
					}
					rank := g.Comm().Rank()
					for i := range b.x {
						b.x[i] = golden(rank, i)
					}
					for i := range b.wide {
						b.wide[i] = golden(rank, i)
					}
					sum := func(i int) int32 { return int32(n*i*7 + n*(n-1)/2) }
					for _, c := range []struct {
						kind coll.Kind
						dst  []int32
						want func(i int) int32
					}{
						{coll.KindAllReduce, b.y, sum},
						{coll.KindReduceScatter, b.y, func(i int) int32 { return sum(rank*count + i) }},
						{coll.KindAllGather, b.into, func(i int) int32 { return golden(i/count, i%count) }},
						{coll.KindAllToAll, b.into, func(i int) int32 { return golden(i/count, rank*count+i%count) }},
						{coll.KindScatter, b.y, func(i int) int32 { return golden(1, rank*count+i) }},
						{coll.KindBroadcast, b.x, func(i int) int32 { return golden(1, i) }},
					} {
						clear(b.y)
						clear(b.into)
						if err := collectives[slices.Index(kinds, c.kind)].call(g, &b); err != nil {
							return err
						}
						for i, got := range c.dst {
							if want := c.want(i); got != want {
								return fmt.Errorf("%v at rank %d: [%d] is %d, want %d", c.kind, rank, i, got, want)
							}
						}
					}
					return nil
				}))
			})
		}
	}
}
