package torch

import (
	"errors"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/tl"
)

// IsContiguous reports whether the shard of each PE is stored in row-major order without
// gaps. Only views can have gaps. For example, a slice of some columns has gaps between its
// rows: the columns that are not in the slice.
func (x *Tensor) IsContiguous() bool {
	return !slices.ContainsFunc(x.shards, func(s shard) bool { return s.stride != nil })
}

// Contiguous returns the tensor itself if it is contiguous, and a Clone otherwise.
func (x *Tensor) Contiguous() (*Tensor, error) {
	x.checkUsable("Contiguous")
	if x.IsContiguous() {
		return x, nil
	}
	return x.clone("Contiguous")
}

// Clone returns a contiguous copy of the tensor with the same layout: each PE copies its
// own shard.
func (x *Tensor) Clone() (*Tensor, error) {
	x.checkUsable("Clone")
	return x.clone("Clone")
}

// clone does the work of Clone and Contiguous. op is the name of the calling function, for
// errors.
func (x *Tensor) clone(op string) (*Tensor, error) {
	r := x.Rank()
	y, err := r.EmptyLike(x)
	if err != nil {
		return nil, err
	}
	if err := r.reserveValues(op, heldWhenWritten, x, y); err != nil {
		return nil, errors.Join(err, y.Free())
	}
	p := machine.Program{Name: "clone", Targets: pesOf(x.shards)}
	from, to := x.shards, y.shards
	p.Body = func(t *tl.PE) {
		s := &from[t.Rank()]
		extent, stride := mergeAxes(s.box.extent, s.strides())
		copyTiles(t, y.linearPointer(to[t.Rank()].va), x.linearPointer(s.va), extent, stride)
	}
	r.s.Enqueue(r.newProgram(&p, []*Tensor{x, y}, nil))
	return y, nil
}

// mergeAxes merges neighbouring axes of a strided array if one stride is enough for both,
// and removes axes of extent 1. It returns the extents e and the strides s of the remaining
// axes. If fewer than two axes remain, it adds axes of extent 1 at the front.
func mergeAxes(extent, stride []int) (e, s []int) {
	for axis, n := range extent {
		last := len(e) - 1
		switch {
		case n == 1:
		case last >= 0 && s[last] == n*stride[axis]:
			e[last], s[last] = e[last]*n, stride[axis]
		default:
			e, s = append(e, n), append(s, stride[axis])
		}
	}
	for len(e) < 2 {
		e, s = append([]int{1}, e...), append([]int{1}, s...)
	}
	return e, s
}

// copyTiles copies a strided array with two or more axes to memory without gaps, in
// two-dimensional tiles of the last two axes. `from` and `to` point to the first element of
// the source and of the destination.
func copyTiles(t *tl.PE, to, from tl.Ptr, extent, stride []int) {
	if len(extent) > 2 {
		inner := elems(extent[1:])
		for i := range extent[0] {
			copyTiles(t, to.Add(i*inner), from.Add(i*stride[0]), extent[1:], stride[1:])
		}
		return
	}
	rows, cols := extent[0], extent[1]
	for col := 0; col < cols; col += fillElems {
		w := min(fillElems, cols-col)
		for row := 0; row < rows; row += fillElems / w {
			h := min(fillElems/w, rows-row)
			source := from.Add(row*stride[0] + col*stride[1]).Strided(stride...)
			t.Store(to.Add(row*cols+col).Strided(cols, 1), t.Load(source, tl.Shape{h, w}, from.DType))
		}
	}
}

// storage is the memory that a tensor shares with its views, with the operations that use
// the memory. Shard i of a view is within shard i of the tensor.
type storage struct {
	va    memory.VA
	size  memory.Bytes    // size of all shards
	order *stream.Storage // orders the operations that use the storage

	partial []*Tensor // the tensor and its views, as long as they are partial

	held uint64 // how many copies of the values this computer has reserved memory for
}

// newRegion returns the part of the storage that the tensor occupies. `entire` says whether
// the tensor occupies the whole storage.
func (x *Tensor) newRegion(entire bool) *stream.Region {
	region := &stream.Region{Storage: x.order, Parts: make([]stream.Range, len(x.shards)), Entire: entire}
	for i := range x.shards {
		if s := &x.shards[i]; s.elems > 0 {
			region.Parts[i] = stream.Range{From: int64(s.va), To: int64(s.end(x.dtype))}
		}
	}
	return region
}

// regions returns the region of each tensor.
func regions(tensors []*Tensor) []*stream.Region {
	list := make([]*stream.Region, len(tensors))
	for i, x := range tensors {
		list[i] = x.region
	}
	return list
}

// replicate marks the addends of the tensor and of its views as copies. It is called after
// an operation has replaced each addend by the sum of all addends.
func (x *Tensor) replicate() {
	_, _, addends := x.countParts()
	for _, y := range x.partial {
		y.shards = slices.Clone(y.shards) // a collective that not all ranks have called refers to the old list
		for i := range y.shards {
			s := &y.shards[i]
			s.copy, s.addend = s.copy*addends+s.addend, 0
		}
	}
	x.partial = nil
}

// SharesMemory reports whether a write to x may change y. That is so if x and y are the
// same tensor, or views of one tensor whose address ranges overlap on at least one PE.
func (x *Tensor) SharesMemory(y *Tensor) bool { return x.region.Overlaps(y.region) }
