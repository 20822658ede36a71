package torch

import (
	"slices"

	"github.com/kernbench/kernbench/internal/memory"
)

// storage is the memory of a tensor and of its views, and what uses it. The shards of a view
// correspond to those of the tensor: shard i lies within shard i.
type storage struct {
	va    memory.VA
	size  memory.Bytes // of all shards
	freed bool

	uses   int        // number of operations that have not ended
	users  users      // these
	marked *operation // that was last compared with another, and has it
	writes []write

	partial []*Tensor // the tensor and its views, while they have addends

	held uint64 // how often its values are held by this computer, at most
}

// write is the last operation that writes a tensor or a view.
type write struct {
	x    *Tensor
	op   *operation
	work *Work // of the last collective, waited for or not
}

// pending reports whether a read may have to wait for the write, or to be refused.
func (w *write) pending() bool {
	return w.op.state != ended || w.work != nil && !w.work.waited
}

// wrote notes an operation that writes the tensor, with its Work if it is a collective. It
// supersedes earlier writes of what it covers: operations on one storage follow each other.
// A launch does not supersede a collective that has not been waited for.
func (x *Tensor) wrote(op *operation, work *Work) {
	last := write{x, op, work}
	x.writes = slices.DeleteFunc(x.writes, func(w write) bool {
		covered := w.x == x || x.entire
		if covered && last.work == nil && w.work != nil && !w.work.waited {
			last.work = w.work
		}
		return covered || !w.pending()
	})
	x.writes = append(x.writes, last)
}

// overlaps reports whether two tensors may have memory in common: whether on some PE the
// ranges of their addresses do.
func (x *Tensor) overlaps(y *Tensor) bool {
	if x.storage != y.storage {
		return false
	}
	for i := range x.shards {
		if x.overlapsAt(y, i) {
			return true
		}
	}
	return x == y
}

// coincides reports whether two tensors are the same elements of one storage.
func (x *Tensor) coincides(y *Tensor) bool {
	return x == y || x.storage == y.storage && slices.Equal(x.shape, y.shape) &&
		slices.EqualFunc(x.shards, y.shards, func(s, t shard) bool {
			return s.va == t.va && slices.Equal(s.strides(), t.strides()) && slices.Equal(s.box.start, t.box.start) && slices.Equal(s.box.extent, t.box.extent)
		})
}

// overlapsAt is overlaps for one shard of two tensors of one storage.
func (x *Tensor) overlapsAt(y *Tensor, i int) bool {
	a, b := &x.shards[i], &y.shards[i]
	return a.elems > 0 && b.elems > 0 && a.va < b.end(y.dtype) && b.va < a.end(x.dtype)
}

// SharesMemory reports whether a write to one tensor may change the other: they are the same,
// or views of one tensor whose ranges of addresses overlap on some PE.
func (x *Tensor) SharesMemory(y *Tensor) bool { return x.overlaps(y) }
