package exec

import (
	"math/bits"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
)

// The functions of this file move bytes between values and memory. moveBox and gather
// release the lock while they copy.

// moveBox moves bytes between the slice `value` and the memory of op. The bytes are the box
// of op, which is the part of op's value that is in memory. The function `do` gives the
// direction: it reads or writes memory.
func (e *Executor) moveBox(op *oplog.Op, value []byte, do accessFunc) error {
	e.mu.Unlock()
	defer e.mu.Lock()
	c := cursor{mem: op.Mem}
	for run := range runs(op, value) {
		if err := e.move(op.ID, &c, run, do); err != nil {
			return err
		}
	}
	return nil
}

// gather reads the bytes of all accesses in mem, one after another, into a new value of n
// bytes. Errors name operation id.
func (e *Executor) gather(id oplog.ID, mem []oplog.Access, n int) (*value, error) {
	if v := e.page(mem, n); v != nil {
		return v, nil
	}
	v := e.pool.take(n)
	e.mu.Unlock()
	defer e.mu.Lock()
	return v, e.move(id, &cursor{mem: mem}, v.bytes, (*memory.Store).Read)
}

// wholePages returns the memory of an access that consists of consecutive whole pages, or
// nil if mem is not such an access.
func (e *Executor) wholePages(mem []oplog.Access) *memory.Store {
	const size = int64(memory.PageSize)
	if len(mem) != 1 || mem[0].Rows != 1 && mem[0].Stride != mem[0].RowBytes || mem[0].Addr%size != 0 || mem[0].Bytes()%size != 0 {
		return nil
	}
	return e.mem(mem[0].Space)
}

// page returns the n bytes of mem as a value that shares its bytes with memory, if they are
// one page. Otherwise it returns nil.
func (e *Executor) page(mem []oplog.Access, n int) *value {
	if n != memory.PageSize {
		return nil
	}
	s := e.wholePages(mem)
	if s == nil || mem[0].Bytes() != memory.PageSize {
		return nil
	}
	parts, err := s.Snapshot(e.pages[:0], memory.Addr(mem[0].Addr), memory.PageSize)
	if err != nil {
		return nil // reading returns the error again
	}
	return &value{bytes: parts[0], refs: 1, class: none}
}

// snapshot returns the bytes of the memory of op as a value in parts.
func (e *Executor) snapshot(op *oplog.Op) (*value, error) {
	v := &value{refs: 1, class: none, parts: [][]byte{}}
	return v, e.eachRange(op, func(s *memory.Store, addr memory.Addr, n memory.Bytes) (err error) {
		v.parts, err = s.Snapshot(v.parts, addr, n)
		return err
	})
}

// eachRange calls f for each contiguous range of the memory of op.
func (e *Executor) eachRange(op *oplog.Op, f func(s *memory.Store, addr memory.Addr, n memory.Bytes) error) error {
	for c := (cursor{mem: op.Mem}); ; {
		space, addr, n := c.next(1 << 62)
		if n == 0 {
			return nil
		}
		s := e.mem(space)
		if s == nil {
			return e.fail(op.ID, "the machine has no memory %v", space)
		}
		if err := f(s, memory.Addr(addr), memory.Bytes(n)); err != nil {
			return e.fail(op.ID, "%w", err)
		}
	}
}

// accessFunc is (*memory.Store).Read or Write.
type accessFunc func(*memory.Store, memory.Addr, []byte) error

// move reads or writes len(b) bytes of memory at the position of cursor c, and advances the
// cursor. Errors name operation id.
func (e *Executor) move(id oplog.ID, c *cursor, b []byte, do accessFunc) error {
	for len(b) > 0 {
		space, addr, n := c.next(int64(len(b)))
		s := e.mem(space)
		if s == nil {
			return e.fail(id, "the machine has no memory %v", space)
		}
		if err := do(s, memory.Addr(addr), b[:n]); err != nil {
			return e.fail(id, "%w", err)
		}
		b = b[n:]
	}
	return nil
}

// cursor is a position in a list of memory accesses, which it visits byte by byte, row
// after row.
type cursor struct {
	mem []oplog.Access
	row int64
	off int64 // offset in the row
}

// next returns where the next contiguous bytes begin, as a space and an address, and how
// many there are. n is at most `limit`. next then advances the cursor past these bytes. At
// the end, n is 0.
func (c *cursor) next(limit int64) (space oplog.Space, addr, n int64) {
	for len(c.mem) > 0 {
		a := c.mem[0]
		if a.Stride == a.RowBytes { // contiguous: treat it as one row
			a.Rows, a.RowBytes = min(a.Rows, 1), a.Rows*a.RowBytes
		}
		if c.row >= a.Rows || a.RowBytes == 0 {
			c.mem, c.row = c.mem[1:], 0
			continue
		}
		addr, n = a.Addr+c.row*a.Stride+c.off, min(limit, a.RowBytes-c.off)
		if c.off += n; c.off == a.RowBytes {
			c.row, c.off = c.row+1, 0
		}
		return a.Space, addr, n
	}
	return space, 0, 0
}

// masked reports whether the memory of op holds only a part of its value, the box, and not
// the whole value. The elements outside of the box are op.Fill.
func masked(op *oplog.Op) bool { return op.Box.Rank > 0 && op.Box != op.Shape }

// box returns the shape of the part of op's value that is in memory.
func box(op *oplog.Op) oplog.Shape {
	if op.Box.Rank > 0 {
		return op.Box
	}
	return op.Shape
}

// runs returns an iterator over the parts of the slice `value` that are in the box of op,
// in order. Each part is contiguous and as long as possible.
func runs(op *oplog.Op, value []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		if !masked(op) {
			yield(value)
			return
		}
		// The box contains the whole of each axis after the last axis that it cuts, so one
		// run covers these axes.
		axis := int(op.Shape.Rank) - 1
		for axis > 0 && op.Box.Dim[axis] == op.Shape.Dim[axis] {
			axis--
		}
		size := op.DType.Size()
		for _, d := range op.Shape.Dim[axis+1 : op.Shape.Rank] {
			size *= int(d)
		}
		before, cut, _ := splitAtAxis(op.Box, axis)
		for run := range before {
			off, stride := 0, int(op.Shape.Dim[axis])*size
			for i := axis - 1; i >= 0; i-- {
				off += run % int(op.Box.Dim[i]) * stride
				run /= int(op.Box.Dim[i])
				stride *= int(op.Shape.Dim[i])
			}
			if cut > 0 && !yield(value[off:][:cut*size]) {
				return
			}
		}
	}
}

// value is the bytes of a tile, shared by the operations that only pass it on.
type value struct {
	bytes []byte
	parts [][]byte // the bytes of a read by the host, which are in shared pages
	refs  int32    // number of operations that share the bytes
	class int8     // size class of the buffer in the pool, none if it is not reused
}

const (
	minClass = 6  // 64 bytes
	maxClass = 26 // 64 MiB; the garbage collector frees larger buffers
)

// pool keeps free buffers for reuse, by size class: the power of two of their capacity.
type pool struct {
	free  [maxClass + 1][]*value
	bytes int // total capacity of free
}

// maxFree is the number of bytes of free buffers that a pool keeps.
const maxFree = 64 << 20

// take returns a buffer of n bytes with undefined contents.
func (p *pool) take(n int) *value {
	class := max(minClass, bits.Len(uint(max(n, 1)-1)))
	if class > maxClass {
		return &value{bytes: make([]byte, n), refs: 1, class: none}
	}
	list := p.free[class]
	if len(list) == 0 {
		return &value{bytes: make([]byte, n, 1<<class), refs: 1, class: int8(class)}
	}
	v := list[len(list)-1]
	p.free[class] = list[:len(list)-1]
	p.bytes -= 1 << class
	v.bytes, v.refs = v.bytes[:n], 1
	return v
}

// release removes one reference to v. After the last reference, the pool keeps the buffer
// of v for reuse, unless the buffer is too large or the pool has enough.
func (p *pool) release(v *value) {
	if v.refs--; v.refs == 0 && v.class != none && p.bytes < maxFree {
		p.free[v.class] = append(p.free[v.class], v)
		p.bytes += 1 << v.class
	}
}
