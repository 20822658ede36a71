package coll_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
)

// TestMismatch checks the errors of two ranks that call a collective with different
// arguments. The error names both ranks and the values of both. Each rank either detects
// the mismatch itself or gets the error of the other rank. A rank that does not wait for
// the other rank in this call gets the error from its next call.
func TestMismatch(t *testing.T) {
	type caller func(g *coll.Group, x, wide []int32) error
	allReduce := func(op coll.Op) caller {
		return func(g *coll.Group, x, _ []int32) error { return coll.AllReduce(g, x, x, op) }
	}
	reduce := func(root int) caller {
		return func(g *coll.Group, x, _ []int32) error { return coll.Reduce(g, x, x, coll.Max, root) }
	}
	broadcast := func(root, count int) caller {
		return func(g *coll.Group, x, _ []int32) error { return coll.Broadcast(g, x[:count], root) }
	}
	gather := func(root, count int) caller {
		return func(g *coll.Group, x, wide []int32) error { return coll.Gather(g, wide[:2*count], x[:count], root) }
	}
	scatter := func(root int) caller {
		return func(g *coll.Group, x, wide []int32) error { return coll.Scatter(g, x, wide, root) }
	}
	allGather := func(g *coll.Group, x, wide []int32) error { return coll.AllGather(g, wide, x) }
	floats := func(g *coll.Group, x, wide []int32) error {
		return coll.AllGather(g, make([]float32, len(wide)), make([]float32, len(x)))
	}
	toAll := func(count int) caller {
		return func(g *coll.Group, _, wide []int32) error {
			return coll.AllToAll(g, wide[:count], wide[len(wide)/2:][:count])
		}
	}
	tests := []struct {
		name     string
		ranks    [2]caller
		op       [2]string // collective that the error of each rank names
		what     string    // argument that differs
		says     [2]string // value of the argument at each rank
		one, two coll.Algorithm
	}{
		{"collective", [2]caller{allReduce(coll.Sum), allGather}, [2]string{"all_reduce", "all_gather"}, "collective", [2]string{"all_reduce", "all_gather"}, 0, 0},
		{"collectives that nobody waits in", [2]caller{broadcast(0, 8), gather(0, 8)}, [2]string{"broadcast", "gather"}, "collective", [2]string{"broadcast", "gather"}, 0, 0},
		{"dtype", [2]caller{allGather, floats}, [2]string{"all_gather", "all_gather"}, "dtype", [2]string{"i32", "f32"}, 0, 0},
		{"count", [2]caller{toAll(8), toAll(32)}, [2]string{"all_to_all", "all_to_all"}, "count", [2]string{"4", "16"}, 0, 0},
		{"count of broadcast", [2]caller{broadcast(0, 64), broadcast(0, 63)}, [2]string{"broadcast", "broadcast"}, "count", [2]string{"64", "63"}, 0, 0},
		{"count of gather", [2]caller{gather(0, 3), gather(0, 64)}, [2]string{"gather", "gather"}, "count", [2]string{"3", "64"}, 0, 0},
		{"operation", [2]caller{allReduce(coll.Avg), allReduce(coll.Prod)}, [2]string{"all_reduce", "all_reduce"}, "operation", [2]string{"avg", "prod"}, 0, 0},
		{"algorithm", [2]caller{allReduce(coll.Min), allReduce(coll.Min)}, [2]string{"all_reduce", "all_reduce"}, "algorithm", [2]string{"direct", "direct_one_phase"}, coll.Direct, coll.DirectOnePhase},
		{"root of reduce", [2]caller{reduce(1), reduce(0)}, [2]string{"reduce", "reduce"}, "root", [2]string{"1", "0"}, 0, 0},
		{"broadcast of two roots", [2]caller{broadcast(0, 8), broadcast(1, 8)}, [2]string{"broadcast", "broadcast"}, "root", [2]string{"0", "1"}, 0, 0},
		{"broadcast of no root, long", [2]caller{broadcast(1, 64), broadcast(0, 64)}, [2]string{"broadcast", "broadcast"}, "root", [2]string{"1", "0"}, 0, 0},
		{"broadcast of two roots, long", [2]caller{broadcast(0, 64), broadcast(1, 64)}, [2]string{"broadcast", "broadcast"}, "root", [2]string{"0", "1"}, 0, 0},
		{"gather to no root", [2]caller{gather(1, 64), gather(0, 64)}, [2]string{"gather", "gather"}, "root", [2]string{"1", "0"}, 0, 0},
		{"gather to two roots", [2]caller{gather(0, 8), gather(1, 8)}, [2]string{"gather", "gather"}, "root", [2]string{"0", "1"}, 0, 0},
		{"scatter of two roots", [2]caller{scatter(0), scatter(1)}, [2]string{"scatter", "scatter"}, "root", [2]string{"0", "1"}, 0, 0},
	}
	for _, test := range tests {
		for _, resident := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/resident=%v", test.name, resident), func(t *testing.T) {
				var own [2]string
				for rank := range own {
					own[rank] = fmt.Sprintf("rank %d: %s, entry, rank %d: ranks do not agree: the %s is %s at rank %d and %s at rank %d",
						rank, test.op[rank], 1-rank, test.what, test.says[rank], rank, test.says[1-rank], 1-rank)
				}
				errs := runWorld("inproc", 2, func(c *comm.Comm) error {
					g, err := coll.New(c, coll.Options{SlotBytes: 128, Algorithm: [...]coll.Algorithm{test.one, test.two}[c.Rank()]})
					if err != nil {
						return err
					}
					x, wide := make([]int32, 64), make([]int32, 128)
					if resident {
						w, err := c.AllocWindow(768, 0)
						if err != nil {
							return err
						}
						x, _ = coll.Slice[int32](w, 0, 64)
						wide, _ = coll.Slice[int32](w, 256, 128)
					}
					call := test.ranks[c.Rank()]
					if err = call(g, x, wide); err == nil {
						err = call(g, x, wide)
					}
					if err == nil {
						return nil
					}
					if again := g.Barrier(); again != err {
						return fmt.Errorf("a later call: got %w, want that it fails as the first", errors.Join(again, err))
					}
					return err
				})
				for rank, err := range errs {
					var e *comm.Error
					if !errors.As(err, &e) || e.Rank != rank || e.Peer != 1-rank || !errors.Is(err, comm.ErrMismatch) && !errors.Is(err, comm.ErrPeer) {
						t.Errorf("rank %d: got %v, want an error that names both ranks", rank, err)
						continue
					}
					if heard := "another rank has failed: " + own[1-rank]; err.Error() != own[rank] && !strings.HasSuffix(err.Error(), heard) {
						t.Errorf("rank %d:\n got %v\nwant %s\n  or %s", rank, err, own[rank], heard)
					}
				}
			})
		}
	}
}
