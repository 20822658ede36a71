package torch_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// example runs a worker of host-api.md on a ring of SIPs.
func example(worker func(rank int, ctx *torch.Context) error, ranks int) {
	spec := torch.Must(topology.Load(context.Background(), "ring6", fmt.Sprintf("system.sips.count=%d", ranks)))
	ctx := torch.Must(torch.New(context.Background(), torch.Options{Topology: torch.Must(topology.Compile(spec))}))
	defer ctx.Close()
	if err := ctx.Spawn(worker, ranks); err != nil {
		fmt.Println(err)
	}
}

func pairs(rank int, ctx *torch.Context) error {
	dist := ctx.Distributed()
	torch.OK(dist.InitProcessGroup("ahbm"))
	own, _, err := dist.NewSubgroups(3) // ranks 0-2 and 3-5
	torch.OK(err)
	pair := torch.Must(dist.SplitGroup(own, [][]int{{0, 2}})) // by ranks of own
	if pair == nil {                                          // the rank between the two
		return nil
	}
	x := torch.Must(ctx.Full(float64(rank), torch.F32, torch.Shape{1}))
	torch.OK(dist.Broadcast(x, dist.GetGlobalRank(pair, 1), pair))
	fmt.Printf("rank %d is %d in %v and has %v\n", rank, dist.GetRank(pair), pair, torch.Must(x.At(0)))
	return nil
}

func ExampleDistributed_SplitGroup() {
	example(pairs, 6)
	// Output:
	// rank 0 is 0 in group 1.1 of ranks [0 2] and has 2
	// rank 2 is 1 in group 1.1 of ranks [0 2] and has 2
	// rank 3 is 0 in group 2.1 of ranks [3 5] and has 5
	// rank 5 is 1 in group 2.1 of ranks [3 5] and has 5
}

func collect(rank int, ctx *torch.Context) error {
	dist := ctx.Distributed()
	torch.OK(dist.InitProcessGroup("ahbm"))
	x := torch.Must(ctx.Full(float64(rank), torch.F32, torch.Shape{1}))
	if rank > 0 {
		return dist.Send(x, 0, 0)
	}
	for range dist.GetWorldSize() - 1 {
		source := torch.Must(dist.RecvAny(x, 0))
		fmt.Printf("%v from rank %d\n", torch.Must(x.At(0)), source)
	}
	return nil
}

func ExampleDistributed_RecvAny() {
	example(collect, 4)
	// Output:
	// 1 from rank 1
	// 2 from rank 2
	// 3 from rank 3
}

func buckets(rank int, ctx *torch.Context) error {
	dist := ctx.Distributed()
	torch.OK(dist.InitProcessGroup("ahbm"))
	grads := []*torch.Tensor{torch.Must(ctx.Full(1, torch.F16, torch.Shape{48, 16})), torch.Must(ctx.Full(2, torch.F32, torch.Shape{48}))}
	torch.OK(dist.AllReduceCoalesced(grads, torch.SUM))
	loss := torch.Must(ctx.Full(float64(rank), torch.F32, torch.Shape{1}))
	work := torch.Must(dist.CoalescingAsync(func() error {
		torch.OK(dist.Broadcast(grads[0], 0))
		return dist.Reduce(loss, 2, torch.MAX)
	}))
	torch.OK(work.Wait())
	fmt.Printf("rank %d has %v and %v\n", rank, torch.Must(grads[1].At(47)), torch.Must(loss.At(0)))
	return nil
}

func ExampleDistributed_Coalescing() {
	example(buckets, 3)
	// Output:
	// rank 0 has 6 and 0
	// rank 1 has 6 and 1
	// rank 2 has 6 and 2
}

func late(rank int, ctx *torch.Context) error {
	dist := ctx.Distributed()
	torch.OK(dist.InitProcessGroup("ahbm", torch.Timeout(time.Millisecond)))
	x := torch.Must(ctx.Full(1, torch.F32, torch.Shape{1 << 16}))
	if rank == 2 {
		torch.OK(ctx.Synchronize()) // busy, until x is written
	}
	work := torch.Must(dist.AllReduceAsync(x, torch.SUM))
	if err := work.WaitTimeout(300 * time.Nanosecond); err != nil {
		fmt.Println("rank", rank, "goes on:", err)
	}
	torch.OK(work.Wait())
	return dist.MonitoredBarrier(10*time.Microsecond, true)
}

func ExampleTimeout() {
	example(late, 3)
	// Output:
	// rank 0 goes on: all_reduce 1 of the default group: not ended within 300ns: rank 2 has not called it
	// rank 1 goes on: all_reduce 1 of the default group: not ended within 300ns: rank 2 has not called it
	// rank 2 goes on: all_reduce 1 of the default group: not ended within 300ns, though all its ranks have called it: raise the timeout
}

func configure(rank int, ctx *torch.Context) error {
	dist := ctx.Distributed()
	torch.OK(dist.InitProcessGroup("ahbm"))
	plan := make([]map[string]int, 1)
	if rank == 0 {
		plan[0] = map[string]int{"batch": 12, "layers": 48}
	}
	torch.OK(torch.BroadcastObjectList(dist, plan, 0))
	texts := torch.Must(torch.GatherObject(dist, fmt.Sprintf("rank %d: batch %d", rank, plan[0]["batch"]), 1))
	for _, text := range texts { // of rank 1 alone
		fmt.Println(text)
	}
	return nil
}

func ExampleBroadcastObjectList() {
	example(configure, 3)
	// Output:
	// rank 0: batch 12
	// rank 1: batch 12
	// rank 2: batch 12
}
