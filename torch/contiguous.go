package torch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/tl"
)

// IsContiguous reports whether what each PE holds of the tensor is row-major without gaps.
// All tensors are but views: a slice of columns has the other columns between its rows.
func (x *Tensor) IsContiguous() bool {
	return !slices.ContainsFunc(x.shards, func(s shard) bool { return s.stride != nil })
}

// packed panics if the tensor is not contiguous and an operation needs that.
func (x *Tensor) packed(op string) {
	refuse(!x.IsContiguous(), op, "%s is not contiguous: give the tensor that Contiguous returns", x.name)
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
	r.enqueue(r.program(&p, []*Tensor{x, y}, nil))
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

// inPlace checks the memory that a rank both sends and receives into: of collectives on a
// block for each rank, that may be its own block and nothing else. An all-to-all copies what
// it sends first, but lanes do not wait for each other: blocks of different lanes, which only
// a group of one rank can have in common, are checked as others are.
func inPlace(c ccl.Collective, members []member, lanes []lane) error {
	blocks := c == ccl.AllGather || c == ccl.Gather || c == ccl.ReduceScatter || c == ccl.Scatter || c == ccl.AllToAll && len(members) == 1
	for i := range lanes[0].pes {
		inOut := slices.ContainsFunc(lanes[0].in[i], func(in block) bool {
			return slices.ContainsFunc(lanes[0].out[i], func(out block) bool { return in.x.storage == out.x.storage })
		})
		if !blocks || !inOut {
			continue
		}
		for j := range lanes {
			for k := range lanes {
				for m, in := range lanes[j].in[i] {
					for n, out := range lanes[k].out[i] {
						own := m+n == i && in.va == out.va && in.elems == out.elems // one of them has one block
						if in.overlaps(out) && !(j == k && (own || c == ccl.AllToAll)) {
							return fmt.Errorf("rank %d sends %s and receives into %s, which share memory: they may do so where the block of the rank is, and nowhere else",
								members[i].rank, in.x.name, out.x.name)
						}
					}
				}
			}
		}
	}
	return nil
}

// overwritten returns the blocks that a rank sends and that lie in memory of blocks that it
// receives, the others being empty. The rank's block for itself may stay where it is.
func overwritten(in, out []block, rank int) []block {
	list := make([]block, len(in))
	for i, b := range in {
		if i == rank && b.va == out[i].va && b.elems == out[i].elems {
			continue
		}
		if slices.ContainsFunc(out, func(o block) bool { return b.overlaps(o) }) {
			list[i] = b
		}
	}
	return list
}

// overlaps reports whether two blocks have memory in common.
func (b block) overlaps(o block) bool {
	end := func(b block) memory.VA { return b.va + memory.VA(b.elems*b.x.dtype.Size()) }
	return b.elems > 0 && o.elems > 0 && b.va < end(o) && o.va < end(b)
}

// fillStage copies what would be overwritten before it is sent, and has the algorithm send
// the copies.
func (p *planned) fillStage(t *tl.PE) {
	if p.stage == nil {
		return
	}
	a, blocks := p.args[t.Rank()], p.staged[t.Rank()]
	in, to, places := a.In, p.scratchPtr(p.stage, t.Rank()), make([]tl.Ptr, len(blocks))
	for i, b := range blocks {
		places[i] = to
		for at := 0; at < b.elems; at += a.Chunk {
			t.Store(to.Add(at), t.Load(in(i).Add(at), tl.Shape{min(a.Chunk, b.elems-at)}, a.DType))
		}
		to = to.Add(b.elems)
	}
	a.In = func(i int) tl.Ptr {
		if i >= 0 && i < len(blocks) && blocks[i].elems > 0 {
			return places[i]
		}
		return in(i)
	}
}
