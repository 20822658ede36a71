package task

import (
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestTasksOnViews checks that tasks can use several views of one tensor if the views do
// not overlap.
func TestTasksOnViews(t *testing.T) {
	r := newSystem(t, "default", torch.Options{}, "system.sips.count=1")
	x := torch.Must(r.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, torch.F32, torch.Shape{5, 2}, torch.On(0, 1)))
	top, bottom := x.Narrow(0, 0, 2), x.Narrow(0, 2, 3).View(6)
	add := func(t *tl.PE, to, from tl.Ptr) {
		t.Store(to, t.Load(to, tl.Shape{2, 2}, tl.F32).Add(t.Load(from, tl.Shape{2, 2}, tl.F32)))
	}
	torch.Must(Run(r, Options{Runtime: TensorMapAndRingBuffer}, func(b *Builder) {
		to, from := b.Tensor(top), b.Tensor(bottom)
		b.Submit("add", add, Args{InOut("to", to), In("from", from.Box([]int{1}, []int{4}))})
	}))
	torch.OK(r.Check("x", x, []float32{1 + 6, 2 + 7, 3 + 8, 4 + 9, 5, 6, 7, 8, 9, 10}))
	if !r.Checks().OK() {
		t.Errorf("checks %+v", r.Checks())
	}
}
