package builtin

import (
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/task/chart"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "treduce_tasks",
		Uses:    bench.UsesTasks,
		Summary: "ranks compute blocks and a root sums them as they arrive, all as tasks",
		Doc: `Every SIP is a rank. A task computes each block of a rank's vector and notifies
the root. The root has a task for each block, which waits until all ranks have
sent their notifications, reads their blocks and adds them to its own. So
computation, communication and scheduling overlap as far as the runtimes allow:
under host_build_graph a rank begins when its own graph is built, and the root
has the largest graph.`,
		Params: taskParams("12"),
		Row:    chart.Row{}, Metrics: taskMetrics{},
		Run: runTReduceTasks,
	})
}

// makeBlock computes a block of n elements on a rank. Ranks other than 0 then notify rank
// 0. `block` is the index of the block.
func makeBlock(t *tl.PE, x tl.Ptr, n, block int) {
	t.Store(x, t.Arange(n, tl.I32).Add(100*t.Rank()+block))
	if t.Rank() > 0 {
		t.Notify(0, block, tl.Add, 1)
	}
}

// addBlocks runs on rank 0. It waits until all other ranks have computed the block with the
// index `block`, and stores the sum of this block over all ranks.
func addBlocks(t *tl.PE, x, sum tl.Ptr, n, block int) {
	total := t.Load(x, tl.Shape{n}, tl.I32)
	t.WaitSignal(block, tl.EQ, t.NumRanks()-1)
	for peer := 1; peer < t.NumRanks(); peer++ {
		total = total.Add(t.Get(peer, x, tl.Shape{n}, tl.I32))
	}
	t.Store(sum, total)
}

// runTReduceTasks runs the reduction under each runtime that the parameters choose: all
// ranks compute blocks, and rank 0 adds them.
func runTReduceTasks(b *bench.B) error {
	blocks, elems := taskSizes(b, 10_000)
	var homes []int
	for sip := range b.Topology().Spec().System.SIPs.Count {
		homes = append(homes, b.PE(sip, 0, 0))
	}
	ranks, all := len(homes), blocks*elems
	want := func(i int) float64 {
		block, within := i/elems, i%elems
		return float64(ranks*(within+block) + 100*ranks*(ranks-1)/2)
	}
	return runUnderEach(b, "A reduction to rank 0", func(r task.Runtime) *task.Result {
		x := torch.Must(b.Zeros(torch.I32, torch.Shape{ranks * all}, torch.On(homes...)))
		sum := torch.Must(b.Zeros(torch.I32, torch.Shape{all}))
		result := torch.Must(task.Run(b.Rank, task.Options{Name: "treduce_tasks", Runtime: r}, func(b *task.Builder) {
			own := b.Tensor(x)
			made := make([]task.ID, blocks)
			for k := range blocks {
				made[k] = b.Submit("make_block", makeBlock, task.Args{
					task.Out("x", own.Rows(k*elems, elems)), task.Scalar("n", elems), task.Scalar("block", k),
				})
			}
			if b.Rank() > 0 {
				return
			}
			total := b.Tensor(sum)
			for k := range blocks {
				at := k * elems
				b.Submit("add_blocks", addBlocks, task.Args{
					task.In("x", own.Rows(at, elems)), task.Out("sum", total.Rows(at, elems)), task.Scalar("n", elems), task.Scalar("block", k),
				}, task.After(made[k]))
			}
		}))
		torch.OK(b.CheckFunc("sum under "+string(r), sum, want))
		return result
	}, taskRow)
}
