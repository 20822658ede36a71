package task

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestKernelsStayInTheirRegions checks that a kernel is stopped when it accesses memory
// outside the regions of its task. The error must name the element, the tensor and the
// regions of the task.
func TestKernelsStayInTheirRegions(t *testing.T) {
	type p = tl.Ptr
	one := tl.Shape{1, 1}
	inner := func(x *Tensor) Region { return x.Box([]int{2, 3}, []int{4, 5}) } // tensors are [8 10]
	const reads, writes = "in no region that the task reads: ", "in no region that the task writes: "
	const give = "; give the task the region it needs"
	for i, c := range []struct {
		name   string
		args   func(x, y *Tensor) Args
		kernel any
		want   string // the error after the task and the PE; "" for no error
	}{
		{"all of it", func(x, y *Tensor) Args { return Args{InOut("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Store(x, t.Load(x, tl.Shape{4, 5}, tl.I32))
		}, ""},
		{"a row too many", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Load(x, tl.Shape{5, 5}, tl.I32)
		}, "Load([5 5] i32) at L: a block [5 5] that begins at element [2 3] of tensor0 is " + reads + "x tensor0[2:6, 3:8]" + give},
		{"a column too many", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Load(x, tl.Shape{4, 6}, tl.I32)
		}, "Load([4 6] i32) at L: a block [4 6] that begins at element [2 3] of tensor0 is " + reads + "x tensor0[2:6, 3:8]" + give},
		{"an element before", func(x, y *Tensor) Args { return Args{Out("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Store(x.Add(-1), t.Zeros(one, tl.I32))
		}, "Store([1 1] i32) at L: a block [1 1] that begins at element [2 2] of tensor0 is " + writes + "x tensor0[2:6, 3:8]" + give},
		{"an element behind", func(x, y *Tensor) Args { return Args{Out("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Store(x.At(3, 5), t.Zeros(one, tl.I32))
		}, "Store([1 1] i32) at L: a block [1 1] that begins at element [5 8] of tensor0 is " + writes + "x tensor0[2:6, 3:8]" + give},
		{"behind a mask", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Load(x, tl.Shape{6, 7}, tl.I32, tl.Mask(4, 5))
		}, ""},
		{"behind a mask of nothing", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Load(x.At(-2, -3), tl.Shape{6, 7}, tl.I32, tl.Mask(0, 7))
		}, ""},
		{"a column by strides", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Load(x.Add(4).Strided(10), tl.Shape{4}, tl.I32)
		}, ""},
		{"a diagonal by strides", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Load(x.Strided(11), tl.Shape{4}, tl.I32)
		}, ""},
		{"a longer column", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Load(x.Strided(10), tl.Shape{5}, tl.I32)
		}, "Load([5] i32) at L: a block [5] that begins at element [2 3] of tensor0 is " + reads + "x tensor0[2:6, 3:8]" + give},
		{"strides across rows", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Load(x.Strided(5, 1), tl.Shape{2, 5}, tl.I32)
		}, "Load([2 5] i32) at L: a block [2 5] that begins at element [2 3] of tensor0 is " + reads + "x tensor0[2:6, 3:8]" + give},
		{"halves of elements", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Load(x.As(tl.I16), tl.Shape{4, 10}, tl.I16)
		}, ""},
		{"half an element too many", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Load(x.As(tl.I16), tl.Shape{4, 11}, tl.I16)
		}, "Load([4 11] i16) at L: a block [4 11] that begins at element [2 3] of tensor0 is " + reads + "x tensor0[2:6, 3:8]" + give},
		{"a write of what is read", func(x, y *Tensor) Args { return Args{In("x", x), Out("y", y.Rows(0, 1))} }, func(t *tl.PE, x, y p) {
			t.Store(x, t.Load(x, one, tl.I32))
		}, "Store([1 1] i32) at L: a block [1 1] that begins at element [0 0] of tensor0 is " + writes + "y tensor1[0:1, 0:10]" + give},
		{"a read of what is written", func(x, y *Tensor) Args { return Args{Out("x", x)} }, func(t *tl.PE, x p) {
			t.Load(x, one, tl.I32)
		}, "Load([1 1] i32) at L: a block [1 1] that begins at element [0 0] of tensor0 is " + reads + "none" + give},
		{"two regions side by side", func(x, y *Tensor) Args { return Args{In("x", x.Rows(0, 2)), In("y", x.Rows(2, 2))} }, func(t *tl.PE, x, y p) {
			t.Load(x.At(1), tl.Shape{2, 10}, tl.I32)
		}, "Load([2 10] i32) at L: a block [2 10] that begins at element [1 0] of tensor0 is " + reads + "x tensor0[0:2, 0:10], y tensor0[2:4, 0:10]" + give},
		{"another tensor", func(x, y *Tensor) Args { return Args{In("x", x)} }, func(t *tl.PE, x p) {
			t.Load(x.At(-1), one, tl.I32)
		}, "Load([1 1] i32) at L: memory that is of none of the task's tensors: give the task a region of what it needs; it reads x tensor0[0:8, 0:10]"},
		{"a part of a peer alone", func(x, y *Tensor) Args { return Args{AtPeers("x", x)} }, func(t *tl.PE, x p) {
			t.Load(x, one, tl.I32)
		}, "Load([1 1] i32) at L: a block [1 1] that begins at element [0 0] of tensor0 is " + reads + "none" + give},
		{"scratch", func(x, y *Tensor) Args { return nil }, func(t *tl.PE) {
			s := t.Scratch(tl.Shape{4}, tl.I32)
			t.Store(s, t.Load(s.At(1), tl.Shape{3}, tl.I32))
		}, ""},
		{"behind scratch", func(x, y *Tensor) Args { return nil }, func(t *tl.PE) {
			t.Load(t.Scratch(tl.Shape{4}, tl.I32), tl.Shape{5}, tl.I32)
		}, "Load([5] i32) at L: memory that is of none of the task's tensors: give the task a region of what it needs; it reads none"},
		{"a composite", func(x, y *Tensor) Args { return Args{In("x", inner(x)), Out("y", inner(y))} }, func(t *tl.PE, x, y p) {
			s := tl.Shape{4, 5}
			t.Wait(t.Composite(tl.Stream(tl.OpAdd, y, t.Ref(x, s, tl.I32), t.Ref(x, s, tl.I32))))
		}, ""},
		{"a composite that reads a column too many", func(x, y *Tensor) Args { return Args{In("x", inner(x)), Out("y", y)} }, func(t *tl.PE, x, y p) {
			s := tl.Shape{4, 6}
			t.Wait(t.Composite(tl.Stream(tl.OpNeg, y, t.Ref(x, s, tl.I32))))
		}, "Stream(neg, ref [4 6] i32) at L: a block [4 6] that begins at element [2 3] of tensor0 is " + reads + "x tensor0[2:6, 3:8]" + give},
		{"a composite whose epilogue does", func(x, y *Tensor) Args { return Args{In("x", inner(x)), Out("y", y)} }, func(t *tl.PE, x, y p) {
			s := tl.Shape{4, 5}
			t.Wait(t.Composite(tl.Stream(tl.OpNeg, y, t.Ref(x, s, tl.I32)), tl.Do(tl.OpAdd, t.Ref(x.At(1), s, tl.I32))))
		}, "Stream(neg, ref [4 5] i32) at L: a block [4 5] that begins at element [3 3] of tensor0 is " + reads + "x tensor0[2:6, 3:8]" + give},
		{"a composite that writes a row too many", func(x, y *Tensor) Args { return Args{In("x", x), Out("y", inner(y))} }, func(t *tl.PE, x, y p) {
			t.Wait(t.Composite(tl.Stream(tl.OpNeg, y, t.Ref(x, tl.Shape{5, 5}, tl.I32))))
		}, "Stream(neg, ref [5 5] i32) at L: a block [5 5] that begins at element [2 3] of tensor1 is " + writes + "y tensor1[2:6, 3:8]" + give},
		{"a put", func(x, y *Tensor) Args { return Args{AtPeers("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Put(1, x, t.Zeros(tl.Shape{4, 5}, tl.I32))
		}, ""},
		{"a put of a row too many", func(x, y *Tensor) Args { return Args{AtPeers("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Put(1, x.At(1), t.Zeros(tl.Shape{4, 5}, tl.I32))
		}, "Put(rank 1, [4 5] i32) at L: a block [4 5] that begins at element [3 3] of tensor0 is in no region that the task reaches at peers: x tensor0[2:6, 3:8]" + give},
		{"a get of an element before", func(x, y *Tensor) Args { return Args{In("x", inner(x))} }, func(t *tl.PE, x p) {
			t.Get(1, x.Add(-1), one, tl.I32)
		}, "Get(rank 1, [1 1] i32) at L: a block [1 1] that begins at element [2 2] of tensor0 is in no region that the task reaches at peers: x tensor0[2:6, 3:8]" + give},
		{"a reduction over peers", func(x, y *Tensor) Args { return Args{In("x", inner(x)), Out("y", inner(y))} }, func(t *tl.PE, x, y p) {
			t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, y, x, tl.Shape{4, 5}, tl.I32)))
		}, ""},
		{"a reduction of a row too many", func(x, y *Tensor) Args { return Args{In("x", x), AtPeers("y", inner(y)), Out("z", y.Rows(0, 2))} }, func(t *tl.PE, x, y, z p) {
			t.Composite(tl.ReducePeers(tl.OpAdd, z, y.At(1), tl.Shape{4, 5}, tl.I32, 1))
		}, "ReducePeers(add, [4 5] i32 of ranks [1]) at L: a block [4 5] that begins at element [3 3] of tensor1 is in no region that the task reaches at peers: x tensor0[0:8, 0:10], y tensor1[2:6, 3:8], z tensor1[0:2, 0:10]" + give},
		{"a reduction that reads its own part too", func(x, y *Tensor) Args { return Args{AtPeers("x", x), Out("y", y)} }, func(t *tl.PE, x, y p) {
			t.Composite(tl.ReducePeers(tl.OpAdd, y, x, tl.Shape{4, 5}, tl.I32, 1, 0))
		}, "ReducePeers(add, [4 5] i32 of ranks [1 0]) at L: a block [4 5] that begins at element [0 0] of tensor0 is " + reads + "none" + give},
		{"a reduction over nobody", func(x, y *Tensor) Args { return Args{AtPeers("x", x), Out("y", y)} }, func(t *tl.PE, x, y p) {
			t.Composite(tl.ReducePeers(tl.OpAdd, y, x, one, tl.I32, 2))
		}, "ReducePeers(add, [1 1] i32 of ranks [2]) at L: no rank 2: this launch has ranks 0 to 1"},
		{"a put to nobody", func(x, y *Tensor) Args { return Args{AtPeers("x", x)} }, func(t *tl.PE, x p) {
			t.Put(2, x, t.Zeros(one, tl.I32))
		}, "Put(rank 2, [1 1] i32) at L: no rank 2: this launch has ranks 0 to 1"},
		{"a get from nobody", func(x, y *Tensor) Args { return Args{AtPeers("x", x)} }, func(t *tl.PE, x p) {
			t.Get(-1, x, one, tl.I32)
		}, "Get(rank -1, [1 1] i32) at L: no rank -1: this launch has ranks 0 to 1"},
		{"a notification of nobody", func(x, y *Tensor) Args { return nil }, func(t *tl.PE) { t.Notify(2, 0, tl.Set, 1) },
			"Notify(rank 2, signal 0) at L: no rank 2: this launch has ranks 0 to 1"},
		{"a notification of no signal", func(x, y *Tensor) Args { return nil }, func(t *tl.PE) { t.Notify(1, 5, tl.Set, 1) },
			"Notify(rank 1, signal 5) at L: no signal 5: this kernel has 0 to 4; a scenario says how many with signals: 6"},
		{"a wait for no signal", func(x, y *Tensor) Args { return nil }, func(t *tl.PE) { t.WaitSignal(5, tl.EQ, 1) },
			"WaitSignal(signal 5) at L: no signal 5: this kernel has 0 to 4; a scenario says how many with signals: 6"},
		{"a test of no signal", func(x, y *Tensor) Args { return nil }, func(t *tl.PE) { t.Test(-1, tl.EQ, 1) },
			"Test(signal -1) at L: no signal -1: this kernel has 0 to 4; a scenario says how many with signals: 1"},
		{"a choice with no signal", func(x, y *Tensor) Args { return nil }, func(t *tl.PE) { t.Select(tl.CanSignal(0, tl.EQ, 0), tl.CanSignal(5, tl.EQ, 0)) },
			"Select(CanSignal(0, EQ, 0), CanSignal(5, EQ, 0)) at L: no signal 5: this kernel has 0 to 4; a scenario says how many with signals: 6"},
	} {
		j := &job{ranks: 2, arrays: []array{{shape: []int{8, 10}}, {shape: []int{8, 10}}}, submit: func(b *Builder, x []*Tensor) {
			if b.Rank() == 0 {
				b.Submit("idle", count, Args{Scalar("n", 1)})
				b.Submit("stray", c.kernel, c.args(x[0], x[1]))
			}
		}}
		o := Options{Runtime: Runtimes[i%len(Runtimes)], Config: Default(), Signals: 5}
		_, simulated := j.runSimulated(t, o, torch.Options{})
		_, real := j.runReal(o)
		for _, got := range []struct {
			where string
			err   error
		}{{"launch tasks: kernel stray (task 1) on sip0.cube0.pe1: ", simulated}, {"kernel stray (task 1) on rank 0: ", real[0]}} {
			want := "<nil>"
			if c.want != "" {
				want = got.where + c.want
			}
			if text := guardLines.ReplaceAllString(fmt.Sprint(got.err), " at L"); text != want {
				t.Errorf("%s, %s: got\n     %s\nwant %s", c.name, o.Runtime, text, want)
			}
		}
	}
}

// guardLines matches file and line of the kernels in this file, as errors contain them.
var guardLines = regexp.MustCompile(` at guard_test\.go:\d+`)
