package torch

import (
	"errors"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/tl"
)

// IsContiguous reports whether what each PE holds of the tensor is row-major without gaps.
// All tensors are but views: a slice of columns has the other columns between its rows.
func (x *Tensor) IsContiguous() bool {
	return !slices.ContainsFunc(x.shards, func(s shard) bool { return s.stride != nil })
}

// Contiguous returns the tensor if it is contiguous, and otherwise a Clone.
func (x *Tensor) Contiguous() (*Tensor, error) {
	x.usable("Contiguous")
	if x.IsContiguous() {
		return x, nil
	}
	return x.clone("Contiguous")
}

// Clone returns a contiguous copy of the tensor, laid out as the tensor is, that each PE
// makes of what it holds.
func (x *Tensor) Clone() (*Tensor, error) {
	x.usable("Clone")
	return x.clone("Clone")
}

func (x *Tensor) clone(op string) (*Tensor, error) {
	r := x.Rank()
	y, err := r.EmptyLike(x)
	if err != nil {
		return nil, err
	}
	if err := r.hold(op, onceWritten, x, y); err != nil {
		return nil, errors.Join(err, y.Free())
	}
	p := machine.Program{Name: "clone", Targets: pesOf(x.shards)}
	from, to := x.shards, y.shards
	p.Body = func(t *tl.PE) {
		s := &from[t.Rank()]
		extent, stride := merged(s.box.extent, s.strides())
		copyTiles(t, y.linear(to[t.Rank()].va), x.linear(s.va), extent, stride)
	}
	r.s.Enqueue(r.program(&p, []*Tensor{x, y}, nil))
	return y, nil
}

// merged returns a strided array with as few axes as describe it, at least two.
func merged(extent, stride []int) (e, s []int) {
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

// copyTiles copies a strided array of at least two axes to consecutive elements, in tiles of
// rows and columns of its last axes.
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

// storage is the memory of a tensor and of its views, and what uses it. The shards of a view
// correspond to those of the tensor: shard i lies within shard i.
type storage struct {
	va    memory.VA
	size  memory.Bytes    // of all shards
	order *stream.Storage // of the operations on it

	partial []*Tensor // the tensor and its views, while they have addends

	held uint64 // how often its values are held by this computer, at most
}

// newRegion returns the tensor as operations use it, which may be all of its storage.
func (x *Tensor) newRegion(entire bool) *stream.Region {
	region := &stream.Region{Storage: x.order, Parts: make([]stream.Range, len(x.shards)), Entire: entire}
	for i := range x.shards {
		if s := &x.shards[i]; s.elems > 0 {
			region.Parts[i] = stream.Range{From: int64(s.va), To: int64(s.end(x.dtype))}
		}
	}
	return region
}

// regions returns tensors as operations use them.
func regions(tensors []*Tensor) []*stream.Region {
	list := make([]*stream.Region, len(tensors))
	for i, x := range tensors {
		list[i] = x.region
	}
	return list
}

// replicate makes copies of the addends of a tensor and its views, which have all become
// their sum.
func (x *Tensor) replicate() {
	_, _, addends := x.numbers()
	for _, y := range x.partial {
		y.shards = slices.Clone(y.shards) // a call that is not complete has the others
		for i := range y.shards {
			s := &y.shards[i]
			s.copy, s.addend = s.copy*addends+s.addend, 0
		}
	}
	x.partial = nil
}

// SharesMemory reports whether a write to one tensor may change the other: they are the same,
// or views of one tensor whose ranges of addresses overlap on some PE.
func (x *Tensor) SharesMemory(y *Tensor) bool { return x.region.Overlaps(y.region) }
