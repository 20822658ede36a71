package dist_test

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestChunksInPlace checks for all algorithms that the block of a rank may be a chunk of
// the tensor that has the blocks of all ranks, as in NCCL.
func TestChunksInPlace(t *testing.T) {
	const n = 37
	for _, ranks := range []int{2, 3, 5} {
		options := trialOptions(t)(trial{spawned: true, world: ranks})
		for _, c := range []ccl.Collective{ccl.AllGather, ccl.ReduceScatter, ccl.Gather, ccl.Scatter} {
			for _, a := range ccl.Algorithms(c) {
				l := hostedtest.New(t, options)
				err := l.Spawn(func(self *torch.Rank) (err error) {
					rank := self.Rank()
					torch.OK(dist.InitProcessGroup(self, "ahbm"))
					g := torch.Must(dist.NewGroup(self, lists.Count(0, ranks), dist.Algorithm(a.Name), func(o *dist.GroupOptions) { o.ChunkBytes = 32 }))
					x := torch.Must(self.FromSlice(lists.Count(1000*rank, ranks*n), torch.I32, torch.Shape{ranks * n}))
					list := x.Chunk(ranks, 0)
					own := list[rank]
					if rank != 1 {
						list = nil
					}
					want := lists.Count(1000*rank, ranks*n)
					switch c {
					case ccl.AllGather:
						err = dist.AllGatherIntoTensor(self, x, own, g)
					case ccl.ReduceScatter:
						err = dist.ReduceScatterTensor(self, own, x, dist.SUM, g)
						for i := rank * n; i < (rank+1)*n; i++ {
							want[i] = 1000*ranks*(ranks-1)/2 + ranks*i
						}
					case ccl.Gather:
						err = dist.Gather(self, own, list, 1, g)
					case ccl.Scatter:
						err = dist.Scatter(self, own, list, 1, g)
						copy(want[rank*n:], lists.Count(1000+rank*n, n))
					}
					torch.OK(err)
					for r := range ranks {
						if c == ccl.AllGather || c == ccl.Gather && rank == 1 {
							copy(want[r*n:], lists.Count(1000*r+r*n, n))
						}
					}
					return self.Check(fmt.Sprint("rank ", rank), x, want)
				}, ranks)
				if err != nil || !l.Checks().OK() {
					t.Errorf("%v(%s) by %d ranks: error %v, checks %+v", c, a.Name, ranks, err, l.Checks())
				}
				l.Close()
			}
		}
	}
}

// TestLanesOfChunks checks the number of lanes of a collective in which the ranks' chunks
// are on different PEs of their devices. If all chunks have the same number of shards with
// the same sizes, there is a lane for each shard. Otherwise there is one lane.
func TestLanesOfChunks(t *testing.T) {
	for _, c := range []struct{ elems, lanes int }{{16, 2}, {14, 1}, {2, 1}} {
		l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
			rank := r.Rank()
			x := torch.Must(r.FromSlice(lists.Count(100*rank, c.elems), torch.I32, torch.Shape{c.elems}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 4}))
			half := c.elems / 2
			torch.OK(dist.ReduceScatterTensor(r, x.Chunk(2, 0)[rank], x, dist.SUM))
			want := lists.Count(100*rank, c.elems)
			for i := rank * half; i < (rank+1)*half; i++ {
				want[i] = 100 + 2*i
			}
			return r.Check("x", x, want)
		})
		if err != nil || !l.Checks().OK() || dist.Last(l.Context).Lanes != c.lanes {
			t.Errorf("%d elements: error %v, %d lanes, want %d, checks %+v", c.elems, err, dist.Last(l.Context).Lanes, c.lanes, l.Checks())
		}
	}
}

// TestBlocksThatOverlap checks the error for a rank that sends from memory into which it
// also receives. This is allowed only for the block that belongs to the rank itself. The
// tensors are on one PE or on several PEs.
func TestBlocksThatOverlap(t *testing.T) {
	rows := torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 4}
	for _, c := range []struct {
		name string
		on   torch.Placement
		do   func(r *torch.Rank, x *torch.Tensor, rank int) error
		want string // the text of the error after "rank 0 "
	}{
		{"a block of another rank", nil, func(r *torch.Rank, x *torch.Tensor, rank int) error {
			return dist.AllGatherIntoTensor(r, x, x.Chunk(2, 0)[1-rank])
		}, "sends tensor 1[8:16] [8] i32 and receives into tensor 1 [16] i32"},
		{"parts of two blocks", nil, func(r *torch.Rank, x *torch.Tensor, rank int) error {
			return dist.ReduceScatterTensor(r, x.Narrow(0, 4, 8), x, dist.SUM)
		}, "sends tensor 1 [16] i32 and receives into tensor 1[4:12] [8] i32"},
		{"parts of two blocks on PEs", rows, func(r *torch.Rank, x *torch.Tensor, rank int) error {
			return dist.AllGatherIntoTensor(r, x, x.Narrow(0, 4, 8))
		}, "sends tensor 1[4:12] [8] i32 and receives into tensor 1 [16] i32"},
	} {
		_, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
			return c.do(r, torch.Must(r.FromSlice(lists.Count(100*r.Rank(), 16), torch.I32, torch.Shape{16}, c.on)), r.Rank())
		})
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		collective := map[bool]string{true: "reduce_scatter", false: "all_gather"}[c.name == "parts of two blocks"]
		hostedtest.Says(t, c.name, err, "ranks 0, 1: "+collective+" 1 of the default group: rank 0 "+c.want+", which share memory: they may do so where the block of the rank is, and nowhere else")
	}
}
