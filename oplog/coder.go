package oplog

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"

	"github.com/kernbench/kernbench/simtime"
)

// again is what to do about a damaged file.
const again = "the file is damaged: copy it again, or record the run again"

// recordsPerCtx is how many records are read between looks at the context.
const recordsPerCtx = 1 << 12

// coder writes a log, if out is set, or reads one. One walk over the fields
// (walk.go) serves both, so that the two cannot drift apart, and so do its checks:
// what Decode would refuse, Encode does not write. The first error stays.
type coder struct {
	out io.Writer
	buf []byte
	sum uint32

	ctx context.Context // of reading
	in  []byte
	off int
	end int // of what may be read: the checksum follows

	part  string // what is being coded, for errors
	index int    // which one of them, from 1
	err   error

	// The record in progress.
	mask  uint64
	field int
	vals  []int64

	issue      simtime.Time // of the operation before
	furthest   ID           // that any operation refers to
	furthestBy int
	effected   ID // operation of the effect before
}

func (c *coder) reading() bool { return c.out == nil }

func (c *coder) fail(format string, args ...any) {
	if c.err != nil {
		return
	}
	at := c.part
	if c.index > 0 {
		at = fmt.Sprintf("%s %d", at, c.index)
	}
	if c.reading() {
		at = fmt.Sprintf("byte %d, %s", c.off, at)
	}
	c.err = fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...))
	c.off = c.end
}

// flush writes out what was coded.
func (c *coder) flush() {
	c.write(c.buf)
	c.buf = c.buf[:0]
}

func (c *coder) write(b []byte) {
	if c.err != nil {
		return
	}
	c.sum = crc32.Update(c.sum, castagnoli, b)
	_, c.err = c.out.Write(b)
}

// begin starts a record.
func (c *coder) begin() {
	c.field = 0
	if c.reading() {
		c.mask = c.uvarint()
		return
	}
	c.vals = c.vals[:0]
}

// number codes a field, which must lie within lo and hi.
func number[T ~int8 | ~int32 | ~int64 | ~uint8](c *coder, name string, v *T, lo, hi int64) {
	x := int64(*v)
	if c.reading() {
		x = 0
		if c.mask>>c.field&1 != 0 {
			u := c.uvarint()
			x = int64(u>>1) ^ -int64(u&1) // as binary.Varint has signed numbers
		}
		c.field++
	} else {
		c.vals = append(c.vals, x)
	}
	if x < lo || x > hi {
		c.fail("%s is %d, want %d to %d; %s", name, x, lo, hi, c.advice())
		return
	}
	*v = T(x)
}

// any64 codes a field of which every value makes sense.
func any64[T ~int64](c *coder, v *T) { number(c, "", v, math.MinInt64, math.MaxInt64) }

// relative codes a field by its distance from another.
func relative[T ~int64](c *coder, v *T, from T) {
	d := *v - from
	any64(c, &d)
	*v = from + d
}

// float codes a field with its bytes reversed.
func float(c *coder, v *float64) {
	x := int64(bits.ReverseBytes64(math.Float64bits(*v)))
	any64(c, &x)
	*v = math.Float64frombits(bits.ReverseBytes64(uint64(x)))
}

// length codes how many elements a list has. Each takes at least a byte.
func length[T any](c *coder, name string, list []T) int {
	n := int64(len(list))
	most := int64(math.MaxInt64)
	if c.reading() {
		most = int64(c.end - c.off)
	}
	number(c, name, &n, 0, most)
	return int(n)
}

// finish ends the fields of a record; its lists follow.
func (c *coder) finish() {
	if c.reading() {
		if c.mask>>c.field != 0 {
			c.fail("a record has a field that this program does not know; %s", again)
		}
		return
	}
	mask := uint64(0)
	for i, v := range c.vals {
		if v != 0 {
			mask |= 1 << i
		}
	}
	c.buf = binary.AppendUvarint(c.buf, mask)
	for _, v := range c.vals {
		if v != 0 {
			c.buf = binary.AppendVarint(c.buf, v)
		}
	}
	if len(c.buf) >= flushBytes {
		c.flush()
	}
}

// elements codes the n elements of a list.
func elements[T any](c *coder, list *[]T, n int, walk func(*coder, *T)) {
	if !c.reading() {
		for i := range *list {
			walk(c, &(*list)[i])
		}
		return
	}
	if n == 0 || c.err != nil {
		return
	}
	*list = make([]T, 0, min(n, 1024))
	for range n {
		var v T
		*list = append(*list, v)
		walk(c, &(*list)[len(*list)-1])
		if c.err != nil {
			return
		}
	}
}

// table codes a list of its own, numbering its elements for errors.
func table[T any](c *coder, part string, list *[]T, walk func(*coder, *T)) {
	c.part, c.index = part, 0
	n := c.count(len(*list))
	elements(c, list, n, func(c *coder, v *T) {
		if c.index++; c.reading() && c.index%recordsPerCtx == 0 && c.ctx.Err() != nil {
			c.fail("%w", context.Cause(c.ctx))
			return
		}
		walk(c, v)
	})
}

// count codes a number of things that take at least a byte each.
func (c *coder) count(n int) int {
	if !c.reading() {
		c.buf = binary.AppendUvarint(c.buf, uint64(n))
		return n
	}
	at := c.off
	u := c.uvarint()
	if left := c.end - c.off; u > uint64(left) {
		c.off = at
		c.fail("%d are announced where only %d bytes are left; %s", u, left, again)
		return 0
	}
	return int(u)
}

// blob codes a length and bytes, which when read stay where they are.
func (c *coder) blob(b *[]byte) {
	n := c.count(len(*b))
	c.raw(b, n)
}

// raw codes n bytes.
func (c *coder) raw(b *[]byte, n int) {
	if !c.reading() {
		if n < flushBytes {
			c.buf = append(c.buf, *b...)
			return
		}
		c.flush()
		c.write(*b)
		return
	}
	if c.err != nil || n == 0 {
		return
	}
	if left := c.end - c.off; n > left {
		c.fail("%d bytes are announced where only %d are left; %s", n, left, again)
		return
	}
	*b = c.in[c.off : c.off+n : c.off+n]
	c.off += n
}

func (c *coder) text(s *string) {
	b := []byte(*s)
	c.blob(&b)
	*s = string(b)
}

func (c *coder) uvarint() uint64 {
	v, n := binary.Uvarint(c.in[c.off:c.end])
	switch {
	case c.err != nil:
	case n > 0:
		c.off += n
	case n == 0:
		c.fail("the file ends here, in the middle; %s", again)
	default:
		c.fail("a number has more than 64 bits; %s", again)
	}
	return v
}

func (c *coder) advice() string {
	if c.reading() {
		return again
	}
	return "correct what made the log"
}
