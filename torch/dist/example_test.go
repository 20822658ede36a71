package dist_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// example runs the function `worker` on each SIP of a ring of SIPs. The number of SIPs is
// `ranks`. example prints the error of Spawn, if there is one.
func example(worker func(r *torch.Rank) error, ranks int) {
	spec := torch.Must(topology.Load(context.Background(), "ring6", fmt.Sprintf("system.sips.count=%d", ranks)))
	ctx := torch.Must(torch.New(context.Background(), torch.Options{Topology: torch.Must(topology.Compile(spec))}))
	defer ctx.Close()
	if err := ctx.Spawn(worker, ranks); err != nil {
		fmt.Println(err)
	}
}

func pairs(r *torch.Rank) error {
	torch.OK(dist.InitProcessGroup(r, "ahbm"))
	own, _, err := dist.NewSubgroups(r, 3) // ranks 0-2 and 3-5
	torch.OK(err)
	pair := torch.Must(dist.SplitGroup(r, own, [][]int{{0, 2}})) // ranks 0 and 2 of own
	if pair == nil {                                             // rank 1 of own is in no list
		return nil
	}
	x := torch.Must(r.Full(float64(r.Rank()), torch.F32, torch.Shape{1}))
	torch.OK(dist.Broadcast(r, x, dist.GetGlobalRank(r, pair, 1), pair))
	fmt.Printf("rank %d is %d in %v and has %v\n", r.Rank(), dist.GetRank(r, pair), pair, torch.Must(x.At(0)))
	return nil
}

func ExampleSplitGroup() {
	example(pairs, 6)
	// Output:
	// rank 0 is 0 in group 1.1 of ranks [0 2] and has 2
	// rank 2 is 1 in group 1.1 of ranks [0 2] and has 2
	// rank 3 is 0 in group 2.1 of ranks [3 5] and has 5
	// rank 5 is 1 in group 2.1 of ranks [3 5] and has 5
}

func collect(r *torch.Rank) error {
	torch.OK(dist.InitProcessGroup(r, "ahbm"))
	x := torch.Must(r.Full(float64(r.Rank()), torch.F32, torch.Shape{1}))
	if r.Rank() > 0 {
		return dist.Send(r, x, 0, 0)
	}
	for range dist.GetWorldSize(r) - 1 {
		source := torch.Must(dist.RecvAny(r, x, 0))
		fmt.Printf("%v from rank %d\n", torch.Must(x.At(0)), source)
	}
	return nil
}

func ExampleRecvAny() {
	example(collect, 4)
	// Output:
	// 1 from rank 1
	// 2 from rank 2
	// 3 from rank 3
}

func buckets(r *torch.Rank) error {
	torch.OK(dist.InitProcessGroup(r, "ahbm"))
	grads := []*torch.Tensor{torch.Must(r.Full(1, torch.F16, torch.Shape{48, 16})), torch.Must(r.Full(2, torch.F32, torch.Shape{48}))}
	torch.OK(dist.AllReduceCoalesced(r, grads, dist.SUM))
	loss := torch.Must(r.Full(float64(r.Rank()), torch.F32, torch.Shape{1}))
	work := torch.Must(dist.CoalescingAsync(r, func() error {
		torch.OK(dist.Broadcast(r, grads[0], 0))
		return dist.Reduce(r, loss, 2, dist.MAX)
	}))
	torch.OK(work.Wait())
	fmt.Printf("rank %d has %v and %v\n", r.Rank(), torch.Must(grads[1].At(47)), torch.Must(loss.At(0)))
	return nil
}

func ExampleCoalescing() {
	example(buckets, 3)
	// Output:
	// rank 0 has 6 and 0
	// rank 1 has 6 and 1
	// rank 2 has 6 and 2
}

func late(r *torch.Rank) error {
	torch.OK(dist.InitProcessGroup(r, "ahbm", dist.Timeout(time.Millisecond)))
	x := torch.Must(r.Full(1, torch.F32, torch.Shape{1 << 16}))
	if r.Rank() == 2 {
		torch.OK(r.Synchronize()) // busy, until x is written
	}
	work := torch.Must(dist.AllReduceAsync(r, x, dist.SUM))
	if err := work.WaitTimeout(300 * time.Nanosecond); err != nil {
		fmt.Println("rank", r.Rank(), "goes on:", err)
	}
	torch.OK(work.Wait())
	return dist.MonitoredBarrier(r, 10*time.Microsecond, true)
}

func ExampleTimeout() {
	example(late, 3)
	// Output:
	// rank 0 goes on: all_reduce 1 of the default group: not ended within 300ns: rank 2 has not called it
	// rank 1 goes on: all_reduce 1 of the default group: not ended within 300ns: rank 2 has not called it
	// rank 2 goes on: all_reduce 1 of the default group: not ended within 300ns, though all its ranks have called it: raise the timeout
}

func configure(r *torch.Rank) error {
	torch.OK(dist.InitProcessGroup(r, "ahbm"))
	plan := make([]map[string]int, 1)
	if r.Rank() == 0 {
		plan[0] = map[string]int{"batch": 12, "layers": 48}
	}
	torch.OK(dist.BroadcastObjectList(r, plan, 0))
	texts := torch.Must(dist.GatherObject(r, fmt.Sprintf("rank %d: batch %d", r.Rank(), plan[0]["batch"]), 1))
	for _, text := range texts { // only rank 1 gets texts
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
