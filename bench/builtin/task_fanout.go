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
		Name:    "task_fanout",
		Uses:    bench.UsesTasks,
		Summary: "one task, then many in parallel, then one: how fast the runtimes distribute work",
		Doc: `A task writes a tile, many tasks copy it to tiles of their own, each plus its
number, and a last task sums them. The many tasks could run at the same time,
each on a PE. The control cores limit this: one core dispatches all tasks and
reads all completions under host_build_graph, also builds the tasks under
aicpu_build_graph, and three cores share the work under
tensormap_and_ringbuffer.`,
		Params: taskParams("24"),
		Row:    chart.Row{}, Metrics: taskMetrics{},
		Run: runTaskFanOut,
	})
}

// seed writes n elements: 0, 1, 2 ...
func seed(t *tl.PE, x tl.Ptr, n int) { t.Store(x, t.Arange(n, tl.I32)) }

// addNumber computes y = x + number for n elements.
func addNumber(t *tl.PE, x, y tl.Ptr, n, number int) {
	t.Store(y, t.Load(x, tl.Shape{1, n}, tl.I32).Add(number))
}

// addRows computes the sum of the given number of rows, of n elements each.
func addRows(t *tl.PE, y, sum tl.Ptr, rows, n int) {
	total := t.Load(y, tl.Shape{n}, tl.I32)
	for row := 1; row < rows; row++ {
		total = total.Add(t.Load(y.At(row), tl.Shape{n}, tl.I32))
	}
	t.Store(sum, total)
}

// runTaskFanOut runs one task, then many independent tasks, then one task that adds their
// results. It does so under each runtime that the parameters choose.
func runTaskFanOut(b *bench.B) error {
	n, elems := taskSizes(b, 10_000)
	want := make([]int32, elems) // at most 705,345,000, with the largest count and tile
	for i := range want {
		want[i] = int32(n*i + n*(n-1)/2)
	}
	return runUnderEach(b, "One task, many, one", func(r task.Runtime) *task.Result {
		x := torch.Must(b.Zeros(torch.I32, torch.Shape{elems}))
		y := torch.Must(b.Zeros(torch.I32, torch.Shape{n, elems}, torch.DPPolicy{Cube: torch.RowWise, PE: torch.RowWise}))
		sum := torch.Must(b.Zeros(torch.I32, torch.Shape{elems}))
		result := torch.Must(task.Run(b.Rank, task.Options{Name: "task_fanout", Runtime: r, Devices: []int{0}}, func(b *task.Builder) {
			x, y, sum := b.Tensor(x), b.Tensor(y), b.Tensor(sum)
			size := task.Scalar("n", elems)
			source := b.Submit("seed", seed, task.Args{task.Out("x", x), size})
			var all []task.ID
			for i := range n {
				all = append(all, b.Submit("add_number", addNumber, task.Args{
					task.In("x", x), task.Out("y", y.Rows(i, 1)), size, task.Scalar("number", i),
				}, task.After(source)))
			}
			b.Submit("add_rows", addRows, task.Args{task.In("y", y), task.Out("sum", sum), task.Scalar("rows", n), size}, task.After(all...))
		}))
		torch.OK(b.Check("sum under "+string(r), sum, want))
		return result
	}, taskRow)
}
