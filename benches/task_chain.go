package benches

import (
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "task_chain",
		Uses:    bench.UsesTasks,
		Summary: "a chain of tasks under the three runtimes: what it costs to go from one to the next",
		Doc: `Each task adds 1 to the same tile, and so waits for the one before: nothing runs beside
anything, and what the runtimes differ in is what they do between two tasks and before
the first. host_build_graph has the whole graph built before it begins. The control core of
aicpu_build_graph builds while a task runs, and sees the end of the task late if it is
just building another. The orchestrator of tensormap_and_ringbuffer disturbs nobody.

formula_ns is the closed form of docs/tasks.md for kernels that take kernel_ns, as these
do, and equals makespan_ns. It knows nothing of full storage: rows with more tasks than the
runtime has places for are without it.`,
		Params: taskParams("16"),
		Run:    runTaskChain,
	})
}

// addOne adds 1 to n elements.
func addOne(t *tl.PE, x tl.Ptr, n int) {
	t.Store(x, t.Load(x, tl.Shape{n}, tl.F32).Add(1))
}

func runTaskChain(ctx *torch.Context) error {
	n, elems, err := taskSizes(ctx, 100_000)
	if err != nil {
		return err
	}
	return underEach(ctx, "A chain of tasks", func(r task.Runtime) (*task.Result, error) {
		x, err := ctx.Zeros(torch.F32, torch.Shape{elems})
		if err != nil {
			return nil, err
		}
		result, err := task.Run(ctx, task.Options{Name: "task_chain", Runtime: r, Devices: []int{0}}, func(b *task.Builder) {
			tile := b.Tensor(x)
			var last []task.ID
			for range n {
				id := b.Submit("add_one", addOne, task.Args{task.InOut("x", tile), task.Scalar("n", elems)}, task.After(last...))
				last = []task.ID{id}
			}
		})
		if err != nil {
			return nil, err
		}
		return result, ctx.Check("x under "+string(r), x, repeated(float32(n), elems))
	}, func(r *task.Result) []torch.Metric {
		kernel := r.Compute / torch.Time(n)
		columns := []torch.Metric{torch.Col("kernel_ns", kernel)}
		if n <= places(r.Config, r.Runtime) {
			columns = append(columns, torch.Col("formula_ns", r.Config.ChainTime(r.Runtime, n, 1, kernel)))
		}
		return columns
	})
}

// places is how many tasks outside of scopes the storage of a runtime has room for.
func places(c *task.Config, r task.Runtime) int {
	switch r {
	case task.HostBuildGraph:
		return c.Host.Tasks
	case task.AICPUBuildGraph:
		return c.AICPU.Tasks
	}
	return c.TensorMap.Slots
}

// repeated is n elements of one value.
func repeated(v float32, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = v
	}
	return list
}
