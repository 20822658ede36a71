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
		Name:    "task_stencil",
		Uses:    bench.UsesTasks,
		Summary: "steps of a stencil, a task for each tile: tasks that wait for their neighbours",
		Doc: `Eight steps over a row of tiles, with a task for each tile. In a step an element
becomes the sum of itself and its two neighbours. Steps write to two tensors in
turn. A task reads its tile and one element on either side, so it waits for
three tasks of the step before. It also waits for the tasks of that step that
read the tile it overwrites, mostly the same three. Runtimes that use regions
infer these dependencies; the other runtime gets explicit edges. Each step is a
scope.`,
		Params: taskParams("12"),
		Row:    chart.Row{}, Metrics: taskMetrics{},
		Run: runTaskStencil,
	})
}

// stencilSteps is the number of times that the stencil is applied.
const stencilSteps = 8

// sumOfThree computes n elements from n+2: each is the sum of three neighbours.
func sumOfThree(t *tl.PE, x, y tl.Ptr, n int) {
	shape := tl.Shape{n}
	left, middle, right := t.Load(x, shape, tl.I32), t.Load(x.At(1), shape, tl.I32), t.Load(x.At(2), shape, tl.I32)
	t.Store(y, left.Add(middle).Add(right))
}

// runTaskStencil runs the steps of the stencil, with a task for each tile in each step,
// under each runtime that the parameters choose.
func runTaskStencil(b *bench.B) error {
	tiles, elems := taskSizes(b, 10_000)
	all := tiles*elems + 2 // with a 0 at either end
	begin := func(i int) float64 {
		if i == 0 || i == all-1 {
			return 0
		}
		return float64((i - 1) % 17)
	}
	var want []int32
	if b.HasData() {
		torch.OK(b.Reserve("the reference", 4*uint64(all)*3)) // the elements before and after a step, and the copy to compare with
		want = make([]int32, all)
		for i := range want {
			want[i] = int32(begin(i))
		}
		want = stencil(want)
	}
	return runUnderEach(b, "A stencil", func(r task.Runtime) *task.Result {
		x := torch.Must(b.FromFunc(begin, torch.I32, torch.Shape{all}))
		y := torch.Must(b.Zeros(torch.I32, torch.Shape{all}))
		result := torch.Must(task.Run(b.Rank, task.Options{Name: "task_stencil", Runtime: r, Devices: []int{0}}, func(b *task.Builder) {
			from, to := b.Tensor(x), b.Tensor(y)
			var last []task.ID // tasks of the previous step, by tile
			for range stencilSteps {
				b.Scope("step", func() {
					var step []task.ID
					for i := range tiles {
						var after []task.ID
						if last != nil {
							after = last[max(0, i-1):min(tiles, i+2)]
						}
						at := i * elems
						step = append(step, b.Submit("sum_of_three", sumOfThree, task.Args{
							task.In("x", from.Rows(at, elems+2)), task.Out("y", to.Rows(at+1, elems)), task.Scalar("n", elems),
						}, task.After(after...)))
					}
					last = step
				})
				from, to = to, from
			}
		}))
		if want != nil {
			torch.OK(b.Check("x under "+string(r), x, want)) // after an even number of steps
		}
		return result
	}, taskRow)
}

// stencil applies the stencil to x stencilSteps times, in plain Go, and returns the result.
// It overwrites x.
func stencil(x []int32) []int32 {
	y := make([]int32, len(x)) // zero at both ends, like x
	for range stencilSteps {
		for i := 1; i < len(x)-1; i++ {
			y[i] = x[i-1] + x[i] + x[i+1]
		}
		x, y = y, x
	}
	return x
}
