package builtin

import (
	"slices"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/task/chart"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "task_chain",
		Uses:    bench.UsesTasks,
		Summary: "chain of tasks under the three runtimes: the cost from one task to the next",
		Doc: `Each task adds 1 to the same tile and so waits for the task before: nothing runs
in parallel, and the runtimes differ only in what they do between two tasks and
before the first. host_build_graph builds the whole graph before it begins. The
control core of aicpu_build_graph builds while a task runs, and notices the end
of the task late if it is building another one. The orchestrator of
tensormap_and_ringbuffer delays no other core.

formula_ns is the closed form of docs/write/tasks.md for kernels that take
kernel_ns, as these do, and equals makespan_ns. It does not cover full storage:
rows with more tasks than the runtime can hold do not have it.`,
		Params: taskParams("16"),
		Row:    chainRow{}, Metrics: taskMetrics{},
		Run: runTaskChain,
	})
}

// addOne adds 1 to n elements.
func addOne(t *tl.PE, x tl.Ptr, n int) {
	t.Store(x, t.Load(x, tl.Shape{n}, tl.F32).Add(1))
}

// chainRow is a row of task_chain. Formula is nil with more tasks than the runtime's
// storage holds.
type chainRow struct {
	chart.Row
	Kernel  torch.Time  `json:"kernel_ns" table:"ns,lower"`
	Formula *torch.Time `json:"formula_ns" table:"ns,bound"`
}

// runTaskChain runs a chain of tasks under each runtime that the parameters choose. Each
// task adds 1 to the same tile.
func runTaskChain(b *bench.B) error {
	n, elems := taskSizes(b, 100_000)
	return runUnderEach(b, "A chain of tasks", func(r task.Runtime) *task.Result {
		x := torch.Must(b.Zeros(torch.F32, torch.Shape{elems}))
		result := torch.Must(task.Run(b.Rank, task.Options{Name: "task_chain", Runtime: r, Devices: []int{0}}, func(b *task.Builder) {
			tile := b.Tensor(x)
			var last []task.ID
			for range n {
				id := b.Submit("add_one", addOne, task.Args{task.InOut("x", tile), task.Scalar("n", elems)}, task.After(last...))
				last = []task.ID{id}
			}
		}))
		torch.OK(b.Check("x under "+string(r), x, slices.Repeat([]float32{float32(n)}, elems)))
		return result
	}, func(r *task.Result) any {
		row := chainRow{Row: chart.NewRow(r), Kernel: r.Compute / torch.Time(n)}
		if n <= taskCapacity(r.Config, r.Runtime) {
			row.Formula = new(r.Config.ChainTime(r.Runtime, n, 1, row.Kernel))
		}
		return row
	})
}

// taskCapacity returns how many tasks the storage of a runtime holds at most, if the tasks
// are outside of scopes.
func taskCapacity(c *task.Config, r task.Runtime) int {
	switch r {
	case task.HostBuildGraph:
		return c.Host.Tasks
	case task.AICPUBuildGraph:
		return c.AICPU.Tasks
	}
	return c.TensorMap.Slots
}
