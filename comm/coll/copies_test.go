package coll_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/commtest"
)

// buffers holds the buffers on which a rank calls every collective.
type buffers struct {
	x, y       []int32 // one part each
	wide, into []int32 // a part for each rank
}

// newBuffers allocates buffers with parts of `count` elements: in a window if `resident` is
// set, otherwise in private memory.
func newBuffers(g *coll.Group, count int, resident bool) (b buffers, err error) {
	n := g.Comm().Size()
	if !resident {
		return buffers{make([]int32, count), make([]int32, count), make([]int32, n*count), make([]int32, n*count)}, nil
	}
	w, err := g.Comm().AllocWindow(int64(4*count*(2+2*n)), 0)
	if err != nil {
		return b, err
	}
	all, err := coll.Slice[int32](w, 0, count*(2+2*n))
	if err != nil {
		return b, err
	}
	return buffers{all[:count], all[count : 2*count], all[2*count : (2+n)*count], all[(2+n)*count:]}, nil
}

// collectives calls each collective on buffers, with rank 1 as the root.
var collectives = []struct {
	kind coll.Kind
	call func(g *coll.Group, b *buffers) error
}{
	{coll.KindAllReduce, func(g *coll.Group, b *buffers) error { return coll.AllReduce(g, b.y, b.x, coll.Sum) }},
	{coll.KindReduce, func(g *coll.Group, b *buffers) error { return coll.Reduce(g, b.y, b.x, coll.Avg, 1) }},
	{coll.KindBroadcast, func(g *coll.Group, b *buffers) error { return coll.Broadcast(g, b.x, 1) }},
	{coll.KindAllGather, func(g *coll.Group, b *buffers) error { return coll.AllGather(g, b.into, b.x) }},
	{coll.KindReduceScatter, func(g *coll.Group, b *buffers) error { return coll.ReduceScatter(g, b.y, b.wide, coll.Sum) }},
	{coll.KindAllToAll, func(g *coll.Group, b *buffers) error { return coll.AllToAll(g, b.into, b.wide) }},
	{coll.KindGather, func(g *coll.Group, b *buffers) error { return coll.Gather(g, b.into, b.x, 1) }},
	{coll.KindScatter, func(g *coll.Group, b *buffers) error { return coll.Scatter(g, b.y, b.wide, 1) }},
}

// TestCopied checks how many bytes each collective stages. For buffers in windows it must
// stage nothing. For private buffers it must stage only the bytes that other ranks read.
func TestCopied(t *testing.T) {
	const (
		n     = 3
		count = 1000
		bytes = 4 * count
	)
	type each [n]int64
	want := map[coll.Kind]each{
		coll.KindAllReduce:     {bytes, bytes, bytes},
		coll.KindReduce:        {bytes, bytes, bytes},
		coll.KindBroadcast:     {0, bytes, 0},
		coll.KindAllGather:     {bytes, bytes, bytes},
		coll.KindReduceScatter: {2 * bytes, 2 * bytes, 2 * bytes},
		coll.KindAllToAll:      {2 * bytes, 2 * bytes, 2 * bytes},
		coll.KindGather:        {bytes, 0, bytes},
		coll.KindScatter:       {0, 2 * bytes, 0},
	}
	for _, backend := range backends {
		for _, algorithm := range []coll.Algorithm{coll.Direct, coll.DirectOnePhase} {
			for _, c := range collectives {
				for _, resident := range []bool{false, true} {
					var got each
					errs := runGroup(backend, n, coll.Options{SlotBytes: 512, Algorithm: algorithm}, func(g *coll.Group) error {
						b, err := newBuffers(g, count, resident)
						if err != nil {
							return err
						}
						err = c.call(g, &b)
						got[g.Comm().Rank()] = g.Copied()
						return err
					})
					commtest.Succeed(t, errs)
					want := want[c.kind]
					if c.kind == coll.KindReduce && algorithm == coll.DirectOnePhase {
						want[1] = 0 // only the root reads
					}
					if resident {
						want = each{}
					}
					if got != want {
						t.Errorf("%s, %v, %v, resident %v: got %d bytes copied by rank, want %d", backend, c.kind, algorithm, resident, got, want)
					}
				}
			}
		}
	}
}

// TestNoAllocation checks that collectives do not allocate after their first call. Ten
// batches of a hundred calls must be without allocations. A rank that waits for a long time
// sleeps, which may allocate, so the test tries up to 50 batches.
func TestNoAllocation(t *testing.T) {
	const calls, enough, maxBatches = 100, 10, 50
	for _, backend := range []string{"inproc", "remote"} {
		for _, resident := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/resident=%v", backend, resident), func(t *testing.T) {
				commtest.Succeed(t, runGroup(backend, 2, coll.Options{}, func(g *coll.Group) error {
					b, err := newBuffers(g, 100, resident)
					if err != nil {
						return err
					}
					var got []int64
					for clean := 0; clean < enough; {
						mallocs, err := mallocsInCalls(g, &b, calls)
						if err != nil {
							return err
						}
						if mallocs == 0 {
							clean++
						}
						if got = append(got, mallocs); len(got) == maxBatches {
							return fmt.Errorf("allocations in batches of %d calls: got %d, want none in %d of them", calls, got, enough)
						}
					}
					return nil
				}))
			})
		}
	}
}

// mallocsInCalls makes the given number of calls of collectives. It returns the number of
// allocations that all ranks together made during these calls. Before that, it calls each
// collective once, because a first call may allocate.
func mallocsInCalls(g *coll.Group, b *buffers, calls int) (int64, error) {
	for _, c := range collectives { // the first call of each may allocate
		if err := c.call(g, b); err != nil {
			return 0, err
		}
	}
	var m runtime.MemStats
	before, err := countMallocs(g, &m)
	if err != nil {
		return 0, err
	}
	for i := range calls {
		if err := collectives[i%len(collectives)].call(g, b); err != nil {
			return 0, err
		}
	}
	after, err := countMallocs(g, &m)
	if err != nil {
		return 0, err
	}
	sum := []int64{int64(after - before)}
	err = coll.AllReduce(g, sum, sum, coll.Max)
	return sum[0], err
}

// countMallocs returns the number of allocations of this process so far. It reads the
// number between two barriers, while no rank allocates.
func countMallocs(g *coll.Group, m *runtime.MemStats) (uint64, error) {
	if err := g.Barrier(); err != nil {
		return 0, err
	}
	runtime.ReadMemStats(m)
	return m.Mallocs, g.Barrier()
}
