package task

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// set is a set of tasks.
type set []uint64

func (s set) add(id ID)      { s[id/64] |= 1 << (id % 64) }
func (s set) has(id ID) bool { return s[id/64]>>(id%64)&1 == 1 }

func (s set) union(o set) {
	for i, w := range o {
		s[i] |= w
	}
}

// drawRegions draws a random program whose tasks have no kernels, only regions and explicit
// edges. Its tensors have one to four axes.
func drawRegions(r *rand.Rand, tasks int) *Program {
	b := newBuilder(context.Background(), &Program{Ranks: 1})
	for i := range drawInt(r, 1, 4) {
		axes := drawInt(r, 1, 4)
		var shape tl.Shape
		for range axes {
			n := drawInt(r, 1, []int{200, 14, 6, 4}[axes-1])
			if r.IntN(20) == 0 {
				n = 0
			}
			shape = append(shape, n)
		}
		b.Declare(Tensor{Name: fmt.Sprint("tensor", i), DType: tl.I32, Shape: shape})
	}
	p := b.program
	for id := range tasks {
		x := Task{Members: 1}
		for range drawInt(r, 0, 3) {
			of := p.Tensors[r.IntN(len(p.Tensors))]
			var start, extent []int
			for _, n := range of.Shape {
				size := min(n, []int{0, 1, 1, 1, 2, 2, drawInt(r, 0, n), drawInt(r, 0, n), n, n}[r.IntN(10)])
				start, extent = append(start, drawInt(r, 0, n-size)), append(extent, size)
			}
			access := []func(string, Area) Arg{In, In, Out, InOut, AtPeers}[r.IntN(5)]
			x.Args = append(x.Args, access("x", of.Box(start, extent)))
		}
		if id > 0 && drawInt(r, 0, 9) == 0 {
			for range drawInt(r, 1, 3) {
				x.After = append(x.After, ID(drawInt(r, 0, id-1)))
			}
		}
		p.Tasks = append(p.Tasks, x)
	}
	return p
}

// elements returns the indices of the region's elements in its tensor, in row-major order.
func (r *Region) elements() []int {
	list := []int{0}
	for axis, n := range r.Tensor.Shape {
		var next []int
		for _, e := range list {
			for i := r.from[axis]; i < r.to[axis]; i++ {
				next = append(next, e*n+int(i))
			}
		}
		list = next
	}
	return list
}

// allConflicts returns, for each task, the set of all earlier tasks that conflict with it:
// both tasks access the same element, and at least one of them writes the element.
func (p *Program) allConflicts() []set {
	words := len(p.Tasks)/64 + 1
	type touched struct{ readers, writers set }
	history := make([][]touched, len(p.Tensors))
	for i, x := range p.Tensors {
		for range x.bytes() / 4 {
			history[i] = append(history[i], touched{make(set, words), make(set, words)})
		}
	}
	all := make([]set, len(p.Tasks))
	for i := range p.Tasks {
		all[i] = make(set, words)
		for _, note := range []bool{false, true} {
			for _, a := range p.Tasks[i].Args {
				for _, e := range a.Region.elements() {
					h := &history[a.Region.Tensor.number][e]
					switch {
					case note && a.Access&Reads != 0:
						h.readers.add(ID(i))
						fallthrough
					case note && a.Access&Writes != 0:
						if a.Access&Writes != 0 {
							h.writers.add(ID(i))
						}
					case !note && a.Access&Writes != 0:
						all[i].union(h.readers)
						all[i].union(h.writers)
					case !note && a.Access&Reads != 0:
						all[i].union(h.writers)
					}
				}
			}
		}
	}
	return all
}

// TestDependenciesAreTheConflicts checks that Dependencies reports a dependency between two
// tasks exactly if they conflict or an explicit edge connects them. For conflicts,
// dependencies that follow from other dependencies may be missing.
func TestDependenciesAreTheConflicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, r := drawTasks(t, 10)
		p := drawRegions(r, tasks)
		conflicts := p.allConflicts()
		inferred, explicit := p.Dependencies(true), p.Dependencies(false)
		reach := make([]set, len(p.Tasks))
		for i, list := range inferred {
			after := p.Tasks[i].After
			if want := slices.Compact(slices.Sorted(slices.Values(after))); !slices.Equal(explicit[i], want) {
				t.Fatalf("task %d has the explicit dependencies %v, want %v", i, explicit[i], want)
			}
			reach[i] = make(set, len(p.Tasks)/64+1)
			for k, b := range list {
				if k > 0 && list[k-1] >= b || b >= ID(i) {
					t.Fatalf("task %d has the dependencies %v, want each once, in order, and before it", i, list)
				}
				if !conflicts[i].has(b) && !slices.Contains(after, b) {
					t.Fatalf("task %d %v waits for task %d %v, and has no conflict with it", i, p.Tasks[i].Args, b, p.Tasks[b].Args)
				}
				reach[i].add(b)
				reach[i].union(reach[b])
			}
			for _, b := range after {
				if !slices.Contains(list, b) {
					t.Fatalf("task %d is after %v, and has the dependencies %v", i, after, list)
				}
			}
			for b := range ID(i) {
				if conflicts[i].has(b) && !reach[i].has(b) {
					t.Fatalf("task %d %v conflicts with task %d %v, and waits for it neither itself nor by others", i, p.Tasks[i].Args, b, p.Tasks[b].Args)
				}
			}
		}
	})
}

// TestTilesAreDisjoint checks that a task on one tile of a tensor waits only for the
// previous task on the same tile.
func TestTilesAreDisjoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBuilder(context.Background(), &Program{Ranks: 1})
		var shape tl.Shape
		tiles := [][]int{nil} // first elements
		var size []int
		for range rapid.IntRange(1, 4).Draw(t, "axes") {
			n := rapid.IntRange(1, 100).Draw(t, "size")
			count := rapid.IntRange(1, 4).Draw(t, "tiles")
			shape, size = append(shape, n*count), append(size, n)
			var next [][]int
			for _, tile := range tiles {
				for i := range count {
					next = append(next, append(slices.Clone(tile), i*n))
				}
			}
			tiles = next
		}
		x := b.Declare(Tensor{Name: "x", DType: tl.I32, Shape: shape})
		for range 2 {
			for _, first := range tiles {
				b.program.Tasks = append(b.program.Tasks, Task{Args: Args{InOut("x", x.Box(first, size))}})
			}
		}
		for i, got := range b.program.Dependencies(true) {
			var want []ID
			if i >= len(tiles) {
				want = []ID{ID(i - len(tiles))}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v in tiles of %v: task %d waits for %v, want %v", shape, size, i, got, want)
			}
		}
	})
}

// TestTilesRunAtOnce checks that tasks on different tiles of a tensor run at the same time,
// and that each is ready when it is submitted.
func TestTilesRunAtOnce(t *testing.T) {
	j := &job{ranks: 1, arrays: []array{{shape: []int{8, 8}}}, submit: func(b *Builder, x []*Tensor) {
		for i := range 4 {
			b.Submit("affine", affine, Args{InOut("x", x[0].Box([]int{i / 2 * 4, i % 2 * 4}, []int{4, 4})), Scalar("c", 1)})
		}
	}}
	for _, r := range []Runtime{HostBuildGraph, TensorMapAndRingBuffer} {
		c := loadConfig(t, "tensormap_and_ringbuffer.per_task=0ns", "tensormap_and_ringbuffer.per_tensor=0ns")
		out := j.mustRunSimulated(t, Options{Runtime: r, Config: c}, torch.Options{})
		first, last := out.Spans[0], out.Spans[3]
		if first.End <= last.Begin {
			t.Errorf("%s: the first tile's task ends at %v, and the last one's begins at %v; want them at the same time", r, first.End, last.Begin)
		}
		for i, s := range out.Spans {
			if s.Released != -1 || s.Core != i {
				t.Errorf("%s: %+v, want it on core %d, released by its submission", r, s, i)
			}
		}
	}
}

// TestRegionsThatTouch checks that two regions overlap if they have a common element, and
// do not if they are only adjacent, up to the largest sizes.
func TestRegionsThatTouch(t *testing.T) {
	const huge = math.MaxInt32
	for _, c := range []struct {
		shape        tl.Shape
		a, sizeA     []int
		b, sizeB     []int
		wantConflict bool
	}{
		{tl.Shape{8}, []int{0}, []int{4}, []int{4}, []int{4}, false},
		{tl.Shape{8}, []int{0}, []int{5}, []int{4}, []int{4}, true},
		{tl.Shape{8}, []int{4}, []int{0}, []int{0}, []int{8}, false},
		{tl.Shape{huge}, []int{0}, []int{huge - 1}, []int{huge - 1}, []int{1}, false},
		{tl.Shape{huge}, []int{0}, []int{huge}, []int{huge - 1}, []int{1}, true},
		{tl.Shape{huge, huge}, []int{0, 7}, []int{huge, 1}, []int{5, 8}, []int{1, huge - 8}, false},
		{tl.Shape{huge, huge}, []int{0, 7}, []int{huge, 2}, []int{5, 8}, []int{1, huge - 8}, true},
		{tl.Shape{4, 4}, []int{0, 0}, []int{2, 2}, []int{2, 2}, []int{2, 2}, false},
		{tl.Shape{4, 4}, []int{0, 0}, []int{3, 3}, []int{2, 2}, []int{2, 2}, true},
		{tl.Shape{2, 2, 2, 2}, []int{0, 0, 0, 0}, []int{2, 2, 2, 1}, []int{0, 0, 0, 1}, []int{2, 2, 2, 1}, false},
		{tl.Shape{2, 2, 2, 2}, []int{1}, []int{1}, []int{1, 1, 1, 1}, []int{1, 1, 1, 1}, true},
		{tl.Shape{}, nil, nil, nil, nil, true}, // a tensor of one element
		{tl.Shape{0, 4}, nil, nil, nil, nil, false},
	} {
		b := newBuilder(context.Background(), &Program{Ranks: 1})
		x := b.Declare(Tensor{Name: "x", DType: tl.I32, Shape: c.shape})
		first, second := x.Box(c.a, c.sizeA), x.Box(c.b, c.sizeB)
		b.program.Tasks = []Task{{Args: Args{In("x", first)}}, {Args: Args{Out("x", second)}}}
		if got := len(b.program.Dependencies(true)[1]) > 0; got != c.wantConflict || first.Overlaps(second) != got {
			t.Errorf("a read of %v and a write of %v: dependency %v, overlap %v, want %v", first, second, got, first.Overlaps(second), c.wantConflict)
		}
	}
}

// TestRanksHaveNoEdgesBetweenThem checks that tasks of several ranks on their parts of one
// tensor run at the same time, because there are no edges between the ranks.
func TestRanksHaveNoEdgesBetweenThem(t *testing.T) {
	j := &job{ranks: 3, arrays: []array{{shape: []int{8}}}, submit: func(b *Builder, x []*Tensor) {
		for range 3 {
			b.Submit("affine", affine, Args{InOut("x", x[0]), Scalar("c", b.Rank())})
		}
	}}
	for _, r := range []Runtime{HostBuildGraph, TensorMapAndRingBuffer} {
		out := j.mustRunSimulated(t, Options{Runtime: r, Config: Default()}, torch.Options{KeepLog: true})
		for rank, p := range out.programs {
			if got, want := fmt.Sprint(p.Dependencies(true)), "[[] [0] [1]]"; got != want {
				t.Errorf("%s: rank %d has the dependencies %s, want %s", r, rank, got, want)
			}
		}
		for i, s := range out.Spans {
			if want := out.Spans[i/3*3]; s.Begin != want.Begin || s.Task != ID(i/3) || s.Rank != i%3 {
				t.Errorf("%s: %+v does not begin with %+v", r, s, want)
			}
		}
		out.checkEqual(t, string(r), contents{{slices.Repeat([]int32{0}, 8), slices.Repeat([]int32{13}, 8), slices.Repeat([]int32{26}, 8)}})
	}
}
