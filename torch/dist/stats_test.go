package dist_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestStats checks that Stats panics before Wait. After Wait, it checks the statistics of a
// collective, of coalesced collectives and of a message.
func TestStats(t *testing.T) {
	spec := torch.Must(topology.Load(context.Background(), "ring6", "system.sips.count=3"))
	ctx := torch.Must(torch.New(context.Background(), torch.Options{Topology: torch.Must(topology.Compile(spec))}))
	defer ctx.Close()
	var got [3][3]dist.Stats
	err := ctx.Spawn(func(r *torch.Rank) error {
		torch.OK(dist.InitProcessGroup(r, dist.Backend, dist.Algorithm("ring")))
		x, y := torch.Must(r.Full(1, torch.F32, torch.Shape{64})), torch.Must(r.Full(2, torch.F32, torch.Shape{32}))
		works := [3]*dist.Work{torch.Must(dist.AllReduceAsync(r, x, dist.SUM))}
		func() {
			defer func() {
				const want = "torch: Stats: all_reduce 1 of the default group has not been waited for: call Wait first"
				if err := recover(); fmt.Sprint(err) != want {
					t.Errorf("got %v, want %s", err, want)
				}
			}()
			works[0].Stats()
		}()
		torch.OK(works[0].Wait())
		works[1] = torch.Must(dist.CoalescingAsync(r, func() error { // two programs
			torch.OK(dist.AllReduce(r, x, dist.SUM))
			return dist.Broadcast(r, y, 1)
		}))
		torch.OK(works[1].Wait())
		torch.OK(dist.Barrier(r))
		if r.Rank() < 2 {
			op := dist.P2POp{Kind: dist.P2PKind(r.Rank()), Tensor: x, Peer: 1 - r.Rank()}
			works[2] = torch.Must(dist.BatchISendIRecv(r, []dist.P2POp{op}))[0]
			torch.OK(works[2].Wait())
		}
		for i, w := range works {
			if w != nil {
				got[i][r.Rank()] = w.Stats()
			}
		}
		return nil
	}, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := [3]string{
		"{Name:all_reduce 1 of the default group Algorithm:ring Start:243.686483ns Crit:871.8062ns Spread:0ns Lanes:1 Chunk:4096 Buffer:tcm Ranks:[0 1 2] Exec:[870.739962ns 871.8062ns 870.739962ns]}",
		"{Name:coalesced 2 of the default group Algorithm:ring Start:1322.645426ns Crit:1115.44868ns Spread:0ns Lanes:1 Chunk:4096 Buffer:tcm Ranks:[0 1 2] Exec:[1115.44868ns 920.64244ns 1114.44868ns]}",
		"{Name:message from rank 0 to rank 1 Algorithm:direct Start:3264.674726ns Crit:252.67248ns Spread:0ns Lanes:1 Chunk:4096 Buffer:tcm Ranks:[0 1] Exec:[53.36624ns 252.67248ns]}",
	}
	for i, of := range got {
		for rank, s := range of {
			if rank > 0 && (i < 2 || rank < 2) && !reflect.DeepEqual(s, of[0]) {
				t.Errorf("work %d: rank 0 has %+v, rank %d %+v", i, of[0], rank, s)
			}
		}
		if s := fmt.Sprintf("%+v", of[0]); s != want[i] {
			t.Errorf("work %d:\ngot  %s\nwant %s", i, s, want[i])
		}
	}
	if n := dist.Collectives(ctx); n != 5 {
		t.Errorf("%d programs of collectives, want 5", n)
	}
}
