package task_test

import (
	"context"
	"fmt"

	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// square squares the n elements of x.
func square(t *tl.PE, x tl.Ptr, n int) {
	v := t.Load(x, tl.Shape{n}, tl.F32)
	t.Store(x, v.Mul(v))
}

// total stores in `sum` the sum of the given number of rows of x. Each row has n elements,
// and so has the sum.
func total(t *tl.PE, x, sum tl.Ptr, rows, n int) {
	v := t.Load(x, tl.Shape{n}, tl.F32)
	for row := 1; row < rows; row++ {
		v = v.Add(t.Load(x.At(row), tl.Shape{n}, tl.F32))
	}
	t.Store(sum, v)
}

// squares submits a task for each row of x, and one task that waits for all of these.
func squares(b *task.Builder, x, sum *task.Tensor) {
	rows, n := x.Shape[0], x.Shape[1]
	var all []task.ID
	for i := range rows {
		all = append(all, b.Submit("square", square, task.Args{
			task.InOut("x", x.Rows(i, 1)), task.Scalar("n", n),
		}))
	}
	b.Submit("total", total, task.Args{
		task.In("x", x), task.Out("sum", sum), task.Scalar("rows", rows), task.Scalar("n", n),
	}, task.After(all...))
}

func Example() {
	r := torch.Must(torch.New(context.Background(), torch.Options{})).Main()
	defer r.Close()
	for _, runtime := range task.Runtimes {
		x := torch.Must(r.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8}, torch.F32, torch.Shape{4, 2}))
		sum := torch.Must(r.Zeros(torch.F32, torch.Shape{2}))
		result := torch.Must(task.Run(r, task.Options{Runtime: runtime, Devices: []int{0}}, func(b *task.Builder) {
			squares(b, b.Tensor(x), b.Tensor(sum))
		}))
		fmt.Printf("%-24s  %14v  %v\n", runtime, result.Makespan, torch.Must(sum.Numpy()).Float64s())
	}
	// Output:
	// host_build_graph          85489.236865ns  [84 120]
	// aicpu_build_graph          3418.236865ns  [84 120]
	// tensormap_and_ringbuffer   4198.236865ns  [84 120]
}

// hand puts n elements of x into the box of the next rank, and notifies that rank.
func hand(t *tl.PE, x, box tl.Ptr, n int) {
	t.Put(t.Rank()+1, box, t.Load(x, tl.Shape{n}, tl.F32))
	t.Notify(t.Rank()+1, 0, tl.Set, 1)
}

// await waits until the previous rank has filled the box.
func await(t *tl.PE, box tl.Ptr) { t.WaitSignal(0, tl.EQ, 1) }

// add adds the n elements of the box to x.
func add(t *tl.PE, x, box tl.Ptr, n int) {
	t.Store(x, t.Load(x, tl.Shape{n}, tl.F32).Add(t.Load(box, tl.Shape{n}, tl.F32)))
}

func Example_ranks() {
	r := torch.Must(torch.New(context.Background(), torch.Options{})).Main()
	defer r.Close()
	halves := torch.On(r.PE(0, 0, 0), r.PE(1, 0, 0)) // a row for each of two SIPs
	for _, runtime := range task.Runtimes {
		x := torch.Must(r.FromSlice([]float32{1, 2, 30, 40}, torch.F32, torch.Shape{2, 2}, halves))
		box := torch.Must(r.Zeros(torch.F32, torch.Shape{2, 2}, halves))
		result := torch.Must(task.Run(r, task.Options{Runtime: runtime, Devices: []int{0, 1}}, func(b *task.Builder) {
			x, box, n := b.Tensor(x), b.Tensor(box), task.Scalar("n", 2) // the rank's own rows
			if b.Rank() == 0 {
				b.Submit("hand", hand, task.Args{task.In("x", x), task.AtPeers("box", box), n})
				return
			}
			full := b.Submit("await", await, task.Args{task.Out("box", box)})
			b.Submit("add", add, task.Args{task.InOut("x", x), task.In("box", box), n}, task.After(full))
		}))
		fmt.Printf("%-24s  %14v  %v\n", runtime, result.Makespan, torch.Must(x.Numpy()).Float64s())
	}
	// Output:
	// host_build_graph          61121.236865ns  [1 2 31 42]
	// aicpu_build_graph          2644.348105ns  [1 2 31 42]
	// tensormap_and_ringbuffer   2844.348105ns  [1 2 31 42]
}

// give puts n elements of x into the box of the given peer.
func give(t *tl.PE, x, box tl.Ptr, n, peer int) {
	t.Put(peer, box, t.Load(x, tl.Shape{n}, tl.F32))
}

func Example_single() {
	r := torch.Must(torch.New(context.Background(), torch.Options{})).Main()
	defer r.Close()
	halves := torch.On(r.PE(0, 0, 0), r.PE(1, 0, 0)) // a row for each of two SIPs
	for _, runtime := range task.Runtimes {
		x := torch.Must(r.FromSlice([]float32{1, 2, 30, 40}, torch.F32, torch.Shape{2, 2}, halves))
		box := torch.Must(r.Zeros(torch.F32, torch.Shape{2, 2}, halves))
		options := task.Options{Runtime: runtime, Devices: []int{0, 1}, Single: true}
		result := torch.Must(task.Run(r, options, func(b *task.Builder) {
			n := task.Scalar("n", 2)
			given := b.Submit("give", give, task.Args{
				task.In("x", b.TensorOn(0, x)), task.Puts("box", b.TensorOn(1, box)), n, task.Scalar("peer", 1),
			}, task.OnRank(0))
			b.Submit("add", add, task.Args{
				task.InOut("x", b.TensorOn(1, x)), task.In("box", b.TensorOn(1, box)), n,
			}, task.OnRank(1), task.After(given))
		}))
		fmt.Printf("%-24s  %14v  %v\n", runtime, result.Makespan, torch.Must(x.Numpy()).Float64s())
	}
	// Output:
	// host_build_graph          61843.573715ns  [1 2 31 42]
	// aicpu_build_graph          3143.573715ns  [1 2 31 42]
	// tensormap_and_ringbuffer   3543.573715ns  [1 2 31 42]
}

// halve halves n elements of x, and stores the largest of the results in `largest`.
func halve(t *tl.PE, x, largest tl.Ptr, n int) {
	v := t.Load(x, tl.Shape{n}, tl.F32).Mul(0.5)
	t.Store(x, v)
	t.Store(largest, v.Max(0))
}

func Example_value() {
	r := torch.Must(torch.New(context.Background(), torch.Options{})).Main()
	defer r.Close()
	for _, runtime := range task.Runtimes {
		x := torch.Must(r.FromSlice([]float32{3, 9, 5, 1}, torch.F32, torch.Shape{4}))
		largest := torch.Must(r.Zeros(torch.F32, torch.Shape{1}))
		result := torch.Must(task.Run(r, task.Options{Runtime: runtime, Devices: []int{0}}, func(b *task.Builder) {
			x, largest := b.Tensor(x), b.Tensor(largest)
			for v := 9.0; v > 2; {
				id := b.Submit("halve", halve, task.Args{task.InOut("x", x), task.Out("largest", largest), task.Scalar("n", 4)})
				v = b.Value(id, largest, 0) // waits for the task
			}
		}))
		fmt.Printf("%-24s  %15v  %d tasks  %v\n", runtime, result.Makespan, result.Tasks, torch.Must(x.Numpy()).Float64s())
	}
	// Output:
	// host_build_graph          156785.348577ns  3 tasks  [0.375 1.125 0.625 0.125]
	// aicpu_build_graph           4425.991848ns  3 tasks  [0.375 1.125 0.625 0.125]
	// tensormap_and_ringbuffer    5625.991848ns  3 tasks  [0.375 1.125 0.625 0.125]
}

func Example_domain() {
	r := torch.Must(torch.New(context.Background(), torch.Options{})).Main()
	defer r.Close()
	halves := torch.On(r.PE(0, 0, 0), r.PE(1, 0, 0))
	for _, runtime := range task.Runtimes {
		x := torch.Must(r.FromSlice([]float32{1, 2, 30, 40}, torch.F32, torch.Shape{2, 2}, halves))
		result := torch.Must(task.Run(r, task.Options{Runtime: runtime, Devices: []int{0, 1}}, func(b *task.Builder) {
			d := b.Domain("pair", 1, 0)                 // rank 1 is its member 0
			box := d.Tensor("box", tl.F32, tl.Shape{2}) // zeroed, a part for each member
			x, n := b.Tensor(x), task.Scalar("n", 2)    // the rank's own row
			if d.Rank() == 1 {
				b.Submit("hand", hand, task.Args{task.In("x", x), task.AtPeers("box", box), n}) // to rank 1
				return
			}
			full := b.Submit("await", await, task.Args{task.Out("box", box)})
			b.Submit("add", add, task.Args{task.InOut("x", x), task.In("box", box), n}, task.After(full))
		}))
		fmt.Printf("%-24s  %14v  %v\n", runtime, result.Makespan, torch.Must(x.Numpy()).Float64s())
	}
	// Output:
	// host_build_graph          61121.236865ns  [1 2 31 42]
	// aicpu_build_graph          2644.348105ns  [1 2 31 42]
	// tensormap_and_ringbuffer   2844.348105ns  [1 2 31 42]
}

// ringSum makes each row of x the sum of all rows. Each member has one row of n elements,
// and sends to the east what it receives from the west.
func ringSum(t *tl.PE, x tl.Ptr, n int) {
	row := x.At(t.ProgramID(0))
	v := t.Load(row, tl.Shape{n}, tl.F32)
	sum := v
	for range t.NumPrograms(0) - 1 {
		t.Send(tl.East, v)
		v = t.Recv(tl.West, tl.Shape{n}, tl.F32)
		sum = sum.Add(v)
	}
	t.Store(row, sum)
}

func Example_group() {
	r := torch.Must(torch.New(context.Background(), torch.Options{})).Main()
	defer r.Close()
	for _, runtime := range task.Runtimes {
		x := torch.Must(r.FromSlice([]float32{1, 2, 3, 40, 50, 60, 700, 800, 900}, torch.F32, torch.Shape{3, 3}))
		result := torch.Must(task.Run(r, task.Options{Runtime: runtime, Devices: []int{0}}, func(b *task.Builder) {
			x := b.Tensor(x)
			b.Submit("ring_sum", ringSum, task.Args{task.InOut("x", x), task.Scalar("n", 3)}, task.Group(3, torch.Ring))
		}))
		fmt.Printf("%-24s  %14v  %v\n", runtime, result.Makespan, torch.Must(x.Numpy()).Float64s())
	}
	// Output:
	// host_build_graph          52311.982483ns  [741 852 963 741 852 963 741 852 963]
	// aicpu_build_graph          1611.982483ns  [741 852 963 741 852 963 741 852 963]
	// tensormap_and_ringbuffer   1627.982483ns  [741 852 963 741 852 963 741 852 963]
}
