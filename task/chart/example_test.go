package chart_test

import (
	"context"
	"log"
	"os"

	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/task/chart"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// double doubles the n elements of x.
func double(t *tl.PE, x tl.Ptr, n int) {
	t.Store(x, t.Load(x, tl.Shape{n}, tl.F32).Mul(2))
}

func Example() {
	const rows, n = 3, 4096
	r := torch.Must(torch.New(context.Background(), torch.Options{})).Main()
	defer r.Close()
	x := torch.Must(r.Zeros(torch.F32, torch.Shape{rows, n}))
	options := task.Options{Runtime: task.TensorMapAndRingBuffer, Devices: []int{0}}
	result := torch.Must(task.Run(r, options, func(b *task.Builder) {
		own := b.Tensor(x)
		for row := range rows {
			b.Submit("double", double, task.Args{task.InOut("x", own.Rows(row, 1)), task.Scalar("n", n)})
		}
	}))
	if err := (chart.Gantt{Runs: []*task.Result{result}}).Text(os.Stdout, 72); err != nil {
		log.Fatal(err)
	}
	// Output:
	// tensormap_and_ringbuffer: makespan 2.844 µs
	// orchestrator│BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB                           │
	// control 0   │          ·         ·         ·    ss·       ·ss       ·ss│
	// pe 0        │          sssssssssssssssssss######ss·                    │
	// pe 1        │                    ssssssssssssssssssss######ss          │
	// pe 2        │                              ·sssssssssssssssssss######ss│
	// … 125 idle
	//             └┬─────────┬─────────┬─────────┬─────────┬─────────┬───────┘
	//           µs 0        0.5        1        1.5        2        2.5
	// B building   s scheduling   # computing   ~ communicating
	// · mostly idle
}
