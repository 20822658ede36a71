package builtin

import (
	"testing"

	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	scenario.RegisterKernel("test_columns", columns)
	scenario.RegisterTasks("test_columns", columnTasks)
}

// columnsFile is a scenario in which every rank stores the sum of all rows of x in each row
// of out.
const columnsFile = `summary: "sums of columns"
nranks: 2
params: {rows: 5, count: 1031}
buffers:
  - {name: x, dtype: f32, shape: [rows, count], placement: device, init: i + 100*rank + round}
  - {name: out, dtype: f32, shape: [rows, count], placement: device}
kernel: {name: test_columns, args: [x, out, count]}
tasks: {name: test_columns, args: [x, out, count]}
outputs:
  - {buffer: out, golden: rows*(i%count + 100*rank + round) + count*10}
`

// columns stores the sum of all rows of x in each row of `out`.
func columns(t *tl.PE, x, out tl.Ptr, n int) {
	s := tl.Shape{n}
	sum := t.Load(x, s, tl.F32)
	for row := 1; row < x.Dim(0); row++ {
		sum = sum.Add(t.Load(x.At(row), s, tl.F32))
	}
	for row := range x.Dim(0) {
		t.Store(out.At(row), sum)
	}
}

// columnTasks submits the work of columns as one task group whose members form a ring. Each
// member loads one row of x and adds the rows that travel around the ring.
func columnTasks(b *task.Builder, x, out *task.Tensor, n int) {
	b.Submit("columns", func(t *tl.PE, x, out tl.Ptr, n int) {
		me, s := t.ProgramID(0), tl.Shape{n}
		v := t.Load(x.At(me), s, tl.F32)
		sum := v
		for range t.NumPrograms(0) - 1 {
			t.Send(tl.East, v)
			v = t.Recv(tl.West, s, tl.F32)
			sum = sum.Add(v)
		}
		t.Store(out.At(me), sum)
	}, task.Args{task.In("x", x), task.Out("out", out), task.Scalar("n", n)}, task.Group(x.Shape[0], torch.Ring))
}

// TestGroupsOnBackends checks the results of a task group whose members exchange messages,
// on every backend and under every runtime.
func TestGroupsOnBackends(t *testing.T) {
	o := writeScenario(t, columnsFile)
	o.Rounds = 2
	for _, o.Backend = range runner.Backends {
		for _, o.Runtime = range task.Runtimes {
			for _, o.Ranks = range []int{1, 3} {
				runRight(t, o)
			}
		}
	}
}
