package torch

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/memory"
)

// View returns a view of the tensor with another shape and the same elements in row-major
// order. One extent may be -1; it is computed from the other extents. The view shares the
// memory of the tensor: a write to one changes the other. Each PE keeps the elements that
// it holds. These elements must be a box of the new shape too, or View panics.
func (x *Tensor) View(shape ...int) *Tensor {
	x.checkUsable("View")
	to := inferShape(x, shape)
	err := checkShape(to)
	refuse(err != nil, "View", "%w", err)
	refuse(elems(to) != x.Numel(), "View", "%s as %v, which has %d elements, not %d", x.name, to, elems(to), x.Numel())
	return x.view("", to, func(s *shard) {
		if !s.reshape(x.shape, to) {
			panic(misuse("View", "%s as %v: what PE %d holds, %s, is no box of that shape: keep the axes that are cut, or place the tensor on one PE; if it is a slice, call Contiguous first",
				x.name, to, s.at, s.box.ranges()))
		}
	})
}

// inferShape returns shape with an extent of -1 replaced, so that a view of x with this
// shape has as many elements as x. It panics if that is not possible.
func inferShape(x *Tensor, shape Shape) Shape {
	open := slices.Index(shape, -1)
	if open < 0 {
		return shape
	}
	refuse(slices.Contains(shape[open+1:], -1), "View", "%s as %v: one extent may be -1, not several", x.name, shape)
	rest := 1
	for axis, n := range shape {
		if axis != open {
			rest *= max(n, 0)
		}
	}
	refuse(rest == 0 || x.Numel()%rest != 0, "View", "%s as %v: no extent for -1 makes %d elements", x.name, shape, x.Numel())
	shape = slices.Clone(shape)
	shape[open] = x.Numel() / rest
	return shape
}

// Narrow returns a view of the elements with the indices start to start+length-1 along axis
// `dim`. Narrow(0, start, length) is x[start:start+length] in Python. A negative `dim` or
// `start` counts from the end. No element moves: a PE holds those elements of the view that
// it holds in the tensor, possibly none.
func (x *Tensor) Narrow(dim, start, length int) *Tensor {
	x.checkUsable("Narrow")
	return x.narrow("Narrow", x.axis("Narrow", dim), start, length)
}

// narrow does the work of Narrow. op is the name of the calling function, for errors.
func (x *Tensor) narrow(op string, dim, start, length int) *Tensor {
	n, given := x.shape[dim], start
	start = normalizeIndex(start, n)
	refuse(start < 0 || length < 0 || start > n-length, op, "%d elements from %d on of axis %d of %s, which has %d", length, given, dim, x.name, n)
	shape := x.Shape()
	shape[dim] = length
	return x.view(indexText(dim, fmt.Sprintf("%d:%d", start, start+length)), shape, func(s *shard) { s.narrow(x.dtype, dim, start, length) })
}

// Select returns a view of the elements with index i along axis dim; the view no longer has
// this axis. Select(0, i) is x[i] in Python. A negative dim or i counts from the end.
func (x *Tensor) Select(dim, i int) *Tensor {
	x.checkUsable("Select")
	dim = x.axis("Select", dim)
	n := x.shape[dim]
	at := normalizeIndex(i, n)
	refuse(at < 0 || at >= n, "Select", "index %d of axis %d of %s, which has 0 to %d", i, dim, x.name, n-1)
	return x.view(indexText(dim, fmt.Sprint(at)), slices.Delete(x.Shape(), dim, dim+1), func(s *shard) {
		s.narrow(x.dtype, dim, at, 1)
		s.dropAxis(dim)
	})
}

// Split divides the tensor along axis dim and returns the parts as views. The parameter
// size is the extent of each view along this axis; the last view may be smaller.
func (x *Tensor) Split(size, dim int) []*Tensor {
	x.checkUsable("Split")
	dim = x.axis("Split", dim)
	n := x.shape[dim]
	refuse(size < 0 || size == 0 && n > 0, "Split", "pieces of %d elements of axis %d of %s, which has %d", size, dim, x.name, n)
	list := []*Tensor{x.narrow("Split", dim, 0, min(size, n))}
	for from := size; from < n; from += size {
		list = append(list, x.narrow("Split", dim, from, min(size, n-from)))
	}
	return list
}

// Chunk divides the tensor along axis dim into at most n views of equal size and returns
// the views. The size is rounded up, so that the last view may be smaller and fewer than n
// views may be enough. If the axis has extent 0, Chunk returns n empty views.
func (x *Tensor) Chunk(n, dim int) (list []*Tensor) {
	x.checkUsable("Chunk")
	dim = x.axis("Chunk", dim)
	refuse(n < 1, "Chunk", "%d chunks of %s: ask for at least 1", n, x.name)
	if has := x.shape[dim]; has > 0 {
		return x.Split((has-1)/n+1, dim)
	}
	for range n {
		list = append(list, x.narrow("Chunk", dim, 0, 0))
	}
	return list
}

// axis returns dim as the number of an axis from 0. A negative dim counts from the end. It
// panics if there is no such axis. op is the name of the calling function, for errors.
func (x *Tensor) axis(op string, dim int) int {
	axis := normalizeIndex(dim, len(x.shape))
	refuse(axis < 0 || axis >= len(x.shape), op, "no axis %d: %s has %d", dim, x.name, len(x.shape))
	return axis
}

// normalizeIndex returns i as an index from 0 into n elements. A negative i counts from the
// end.
func normalizeIndex(i, n int) int {
	if i < 0 {
		return i + n
	}
	return i
}

// indexText returns the text of a Python index along axis dim, with ":" for all earlier
// axes: "[:, 2:4]" for dim 1 and the text "2:4".
func indexText(dim int, text string) string {
	return "[" + strings.Repeat(":, ", dim) + text + "]"
}

// view returns a view of x with the given shape. `change` turns a shard of x into the
// corresponding shard of the view. The name of the view is the name of x followed by the
// text `index`.
func (x *Tensor) view(index string, shape Shape, change func(*shard)) *Tensor {
	y := &Tensor{storage: x.storage, rank: x.rank, label: x.title() + index, shape: shape, dtype: x.dtype, levels: x.levels, viewOf: x}
	if x.viewOf != nil {
		y.viewOf = x.viewOf
	}
	y.shards = slices.Clone(x.shards)
	for i := range y.shards {
		change(&y.shards[i])
	}
	y.SetName("")
	y.updateShards()
	if y.cuts = cuts(y.levels, shape); !y.matchesLevels() {
		for i := range y.shards {
			y.cuts += " " + y.shards[i].box.ranges()
		}
	}
	y.base = y.firstShard().va
	y.region = y.newRegion(x.region.Entire && y.Numel() == x.Numel())
	return y
}

// firstShard returns the first shard that has elements. If no shard has elements, it
// returns the first shard.
func (x *Tensor) firstShard() *shard {
	return &x.shards[max(0, slices.IndexFunc(x.shards, func(s shard) bool { return s.elems > 0 }))]
}

// updateShards computes the fields of the shards that follow from their boxes, such as the
// size. It removes the strides of shards without gaps. If the tensor is partial,
// updateShards registers the tensor with its storage.
func (x *Tensor) updateShards() {
	partial := false
	for i := range x.shards {
		s := &x.shards[i]
		s.elems = elems(s.box.extent)
		s.bytes = memory.Bytes(s.elems) * memory.Bytes(x.dtype.Size())
		if s.stride != nil {
			if _, count, _ := s.runs(); count <= 1 {
				s.stride = nil
			}
		}
		partial = partial || s.addend > 0
	}
	if partial {
		x.partial = append(x.partial, x)
	}
}

// irregular reports whether the boxes of the shards differ from those of a new tensor with
// the same shape and levels. Most slices are irregular, because their elements stay on the
// PEs of the original tensor. A tensor that EmptyLike makes from such a slice is irregular,
// too.
func (x *Tensor) irregular() bool { return x.cuts != cuts(x.levels, x.shape) }

// matchesLevels reports whether each shard has the box that a new tensor with the same
// shape and levels would have on this PE. Empty shards match each other wherever their
// boxes start.
func (x *Tensor) matchesLevels() bool {
	for i := range x.shards {
		h, members := wholeHolding(x.shape), countPEs(x.levels)
		for _, l := range x.levels {
			members /= l.n
			h = h.member(l, i/members%l.n)
		}
		s := &x.shards[i]
		if s.elems == 0 && elems(h.box.extent) == 0 {
			continue
		}
		if !slices.Equal(s.box.start, h.box.start) || !slices.Equal(s.box.extent, h.box.extent) {
			return false
		}
	}
	return true
}

// strides returns for each axis of the shard the distance in elements between neighbours
// along the axis.
func (s *shard) strides() []int {
	if s.stride != nil {
		return s.stride
	}
	return packedStrides(s.box.extent)
}

// runs divides the shard into runs of consecutive addresses. There are `count` runs of `n`
// elements each. starts iterates over the offsets of the runs, in elements from the start
// of the shard.
func (s *shard) runs() (n, count int, starts iter.Seq[int]) {
	return runs(0, s.box.extent, s.strides())
}

// end returns the address after the last element of the shard. d is the dtype.
func (s *shard) end(d DType) memory.VA {
	if s.stride == nil {
		return s.va + memory.VA(s.bytes)
	}
	last := 0
	for axis, step := range s.stride {
		last += (s.box.extent[axis] - 1) * step
	}
	return s.va + memory.VA((last+1)*d.Size())
}

// narrow reduces the shard to the indices start to start+length-1 of the tensor along an
// axis. Index `start` of the old tensor is index 0 of the new one. d is the dtype.
func (s *shard) narrow(d DType, axis, start, length int) {
	s.stride = s.strides()
	s.box = box{slices.Clone(s.box.start), slices.Clone(s.box.extent)}
	from := s.box.start[axis]
	to := min(from+s.box.extent[axis], start+length)
	first := min(max(from, start), max(to, from))
	s.va += memory.VA((first - from) * s.stride[axis] * d.Size())
	s.box.start[axis] = min(max(first-start, 0), length)
	s.box.extent[axis] = max(to-first, 0)
}

// dropAxis removes an axis of extent 1 from the shard. If the shard has no elements, all
// its extents become 0.
func (s *shard) dropAxis(axis int) {
	has := s.box.extent[axis] > 0
	s.box.start, s.box.extent = slices.Delete(s.box.start, axis, axis+1), slices.Delete(s.box.extent, axis, axis+1)
	s.stride = slices.Delete(slices.Clone(s.stride), axis, axis+1)
	if len(s.box.extent) == 0 {
		s.box.start, s.box.extent, s.stride = []int{0}, []int{1}, []int{1}
	}
	if !has {
		clear(s.box.extent)
	}
}

// reshape changes the shard when the shape of its tensor changes from the shape `from` to
// the shape `to`, which has the same number of elements. It reports whether that is
// possible: whether the elements of the shard are a box of the new shape.
//
// The axes are divided into the smallest groups that have the same number of elements in
// both shapes. A group that is one axis in both shapes is kept. In any other group, the
// elements of the shard must be consecutive in row-major order, evenly spaced in memory,
// and a box of the new axes.
func (s *shard) reshape(from, to Shape) bool {
	from, to = axes(from), axes(to)
	b, stride := box{make([]int, len(to)), make([]int, len(to))}, make([]int, len(to))
	old := s.strides()
	if s.elems == 0 {
		s.box, s.stride = b, nil
		return true
	}
	i, j := 0, 0
	for i < len(from) && j < len(to) {
		m, n := i+1, j+1
		for was, is := from[i], to[j]; was != is; {
			if was < is {
				was *= from[m]
				m++
			} else {
				is *= to[n]
				n++
			}
		}
		if m-i == 1 && n-j == 1 {
			b.start[j], b.extent[j], stride[j] = s.box.start[i], s.box.extent[i], old[i]
		} else {
			group := box{s.box.start[i:m], s.box.extent[i:m]}
			step, even := commonStride(group.extent, old[i:m])
			length, count, starts := group.runs(from[i:m])
			if !even || count != 1 {
				return false
			}
			for first := range starts {
				if !boxOfRange(first, length, to[j:n], b.start[j:n], b.extent[j:n]) {
					return false
				}
			}
			for axis := n - 1; axis >= j; axis-- {
				stride[axis] = step
				step *= b.extent[axis]
			}
		}
		i, j = m, n
	}
	for ; j < len(to); j++ { // the remaining axes have one element
		b.extent[j], stride[j] = 1, 1
	}
	s.box, s.stride = b, stride
	return true
}

// commonStride returns in `step` the distance between consecutive elements of a strided
// array with the given extents and strides. `even` reports whether this distance is the
// same everywhere. If it is not, `step` is 0.
func commonStride(extent, stride []int) (step int, even bool) {
	step, n := 1, 1 // so far the array has one element
	for axis := len(extent) - 1; axis >= 0; axis-- {
		switch {
		case extent[axis] == 1:
			continue
		case n == 1:
			step = stride[axis]
		case stride[axis] != n*step:
			return 0, false
		}
		n *= extent[axis]
	}
	return step, true
}

// boxOfRange finds the box that consists of n consecutive elements of a row-major array
// with the given shape. The first of these elements has index `first`. boxOfRange writes
// the box to `start` and `extent`, and reports whether there is such a box.
func boxOfRange(first, n int, shape, start, extent []int) bool {
	inner := elems(shape)
	for axis := range shape {
		inner /= shape[axis]
		start[axis] = first / inner
		first %= inner
		switch {
		case n < inner:
			extent[axis] = 1
			continue
		case n%inner != 0 || first != 0 || start[axis]+n/inner > shape[axis]:
			return false
		}
		extent[axis] = n / inner
		n = inner
	}
	return true
}
