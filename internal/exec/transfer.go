package exec

import (
	"math/bits"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
)

// The functions here move bytes between values and memory. They give up the lock
// meanwhile.

// moveBox moves the box of a value from or to the memory of its operation.
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

// gather reads pieces of memory one after another into a new value of n bytes.
func (e *Executor) gather(id oplog.ID, mem []oplog.Access, n int) (*value, error) {
	v := e.pool.take(n)
	e.mu.Unlock()
	defer e.mu.Lock()
	return v, e.move(id, &cursor{mem: mem}, v.bytes, (*memory.Store).Read)
}

// zero makes the memory of an operation zero.
func (e *Executor) zero(op *oplog.Op) error {
	for c := (cursor{mem: op.Mem}); ; {
		space, addr, n := c.next(1 << 62)
		if n == 0 {
			return nil
		}
		s := e.mem(space)
		if s == nil {
			return e.fail(op.ID, "the machine has no memory %v", space)
		}
		if err := s.Zero(memory.Addr(addr), memory.Bytes(n)); err != nil {
			return e.fail(op.ID, "%w", err)
		}
	}
}

// accessFunc is (*memory.Store).Read or Write.
type accessFunc func(*memory.Store, memory.Addr, []byte) error

// move reads or writes as many bytes as b has at a cursor.
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

// cursor goes through pieces of memory, row by row.
type cursor struct {
	mem []oplog.Access
	row int64
	off int64 // in the row
}

// next is the next bytes that lie in one piece, at most limit of them; none at the
// end.
func (c *cursor) next(limit int64) (space oplog.Space, addr, n int64) {
	for len(c.mem) > 0 {
		a := c.mem[0]
		if a.Stride == a.RowBytes { // one row, in fact
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

// masked says whether part of an operation's value has no memory.
func masked(op *oplog.Op) bool { return op.Box.Rank > 0 && op.Box != op.Shape }

// box is the shape of the part that has.
func box(op *oplog.Op) oplog.Shape {
	if op.Box.Rank > 0 {
		return op.Box
	}
	return op.Shape
}

// runs iterates over the bytes of a value that lie in the box, in order, in pieces that are
// as long as possible.
func runs(op *oplog.Op, value []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		if !masked(op) {
			yield(value)
			return
		}
		// Axes behind the last that is cut are whole: one run covers them.
		axis := int(op.Shape.Rank) - 1
		for axis > 0 && op.Box.Dim[axis] == op.Shape.Dim[axis] {
			axis--
		}
		size := op.DType.Size()
		for _, d := range op.Shape.Dim[axis+1 : op.Shape.Rank] {
			size *= int(d)
		}
		before, cut, _ := around(op.Box, axis)
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
	refs  int32
	class int8 // of its buffer in the pool, none if it is not for reuse
}

const (
	minClass = 6  // 64 bytes
	maxClass = 26 // 64 MiB: what is larger goes back to the garbage collector
)

// pool keeps the buffers of values that are gone, by powers of two of their size.
type pool struct {
	free [maxClass + 1][]*value
}

// take is a buffer of n bytes with anything in it.
func (p *pool) take(n int) *value {
	class := max(minClass, bits.Len(uint(max(n, 1)-1)))
	if class > maxClass {
		return &value{make([]byte, n), 1, none}
	}
	list := p.free[class]
	if len(list) == 0 {
		return &value{make([]byte, n, 1<<class), 1, int8(class)}
	}
	v := list[len(list)-1]
	p.free[class] = list[:len(list)-1]
	v.bytes, v.refs = v.bytes[:n], 1
	return v
}

// release gives up one share in a value.
func (p *pool) release(v *value) {
	if v.refs--; v.refs == 0 && v.class != none {
		p.free[v.class] = append(p.free[v.class], v)
	}
}
