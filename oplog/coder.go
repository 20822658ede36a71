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

// damageAdvice is the advice for a damaged file.
const damageAdvice = "the file is damaged: copy it again, or record the run again"

// recordsPerCtx is the number of records that are read between two checks of the context.
const recordsPerCtx = 1 << 12

// coder writes a log, if out is set, or reads one. Writing and reading use the same walk
// over the fields (walk.go), so that they cannot diverge. They also share the checks:
// Encode does not write what Decode would reject. A coder keeps its first error.
type coder struct {
	out io.Writer
	buf []byte
	sum uint32

	ctx context.Context // ends reading
	in  []byte
	off int
	end int // end of the data to read; the checksum follows

	part  string // the table that is being written or read, for errors
	index int    // number of the current element of the table, from 1; 0 for none
	err   error

	// The current record.
	mask  uint64
	field int
	vals  []int64

	issue      simtime.Time // issue time of the previous operation
	maxRef     ID           // the last operation that any operation refers to
	maxRefBy   int          // number of the operation that refers to maxRef
	lastEffect ID           // operation of the previous effect
}

func (c *coder) reading() bool { return c.out == nil }

// fail sets the error of the coder and skips the rest of the input, unless the coder
// already has an error. The error has the given text and the place in the log: the table,
// the number of the element and, when reading, the byte.
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

// flush writes the buffer to out.
func (c *coder) flush() {
	c.write(c.buf)
	c.buf = c.buf[:0]
}

// write writes b to out and adds it to the checksum.
func (c *coder) write(b []byte) {
	if c.err != nil {
		return
	}
	c.sum = crc32.Update(c.sum, castagnoli, b)
	_, c.err = c.out.Write(b)
}

// begin starts a record. If the coder is reading, begin reads the mask of the fields that
// are not 0.
func (c *coder) begin() {
	c.field = 0
	if c.reading() {
		c.mask = c.uvarint()
		return
	}
	c.vals = c.vals[:0]
}

// number writes or reads *v, the next field of a record, whose value must be between lo and
// hi. `name` is the name of the field in errors.
func number[T ~int8 | ~int32 | ~int64 | ~uint8](c *coder, name string, v *T, lo, hi int64) {
	x := int64(*v)
	if c.reading() {
		x = 0
		if c.mask>>c.field&1 != 0 {
			u := c.uvarint()
			x = int64(u>>1) ^ -int64(u&1) // zigzag, as in binary.Varint
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

// any64 writes or reads *v, the next field of a record, which may have any value.
func any64[T ~int64](c *coder, v *T) { number(c, "", v, math.MinInt64, math.MaxInt64) }

// relative writes or reads *v, the next field of a record, as the difference between *v and
// the value `from`.
func relative[T ~int64](c *coder, v *T, from T) {
	d := *v - from
	any64(c, &d)
	*v = from + d
}

// float writes or reads *v, the next field of a record, as its bits with the bytes
// reversed.
func float(c *coder, v *float64) {
	x := int64(bits.ReverseBytes64(math.Float64bits(*v)))
	any64(c, &x)
	*v = math.Float64frombits(bits.ReverseBytes64(uint64(x)))
}

// length writes or reads the number of elements of a list as the next field of a record,
// and returns the number. `name` is the name of the field in errors. When it reads, it
// refuses a number above the number of bytes left, because each element takes at least a
// byte.
func length[T any](c *coder, name string, list []T) int {
	n := int64(len(list))
	most := int64(math.MaxInt64)
	if c.reading() {
		most = int64(c.end - c.off)
	}
	number(c, name, &n, 0, most)
	return int(n)
}

// finish ends the fields of a record. When it writes, it writes the mask and the fields
// that are not 0. When it reads, it fails if the mask has fields that are not known. The
// caller then writes or reads the elements of the record's lists.
func (c *coder) finish() {
	if c.reading() {
		if c.mask>>c.field != 0 {
			c.fail("a record has a field that this program does not know; %s", damageAdvice)
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

// elements writes or reads the n elements of a list. The function `walk` writes or reads
// one element.
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

// table writes or reads a table of the log: first the number of elements of `list`, then
// the elements. The function `walk` writes or reads one element. Errors contain `part`, the
// name of the table, and the number of the element. Reading fails if the context has ended.
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

// count writes n, the number of elements of a list, or reads such a number. It returns the
// number. When it reads, it refuses a number above the number of bytes left, because each
// element takes at least a byte.
func (c *coder) count(n int) int {
	if !c.reading() {
		c.buf = binary.AppendUvarint(c.buf, uint64(n))
		return n
	}
	at := c.off
	u := c.uvarint()
	if left := c.end - c.off; u > uint64(left) {
		c.off = at
		c.fail("%d are announced where only %d bytes are left; %s", u, left, damageAdvice)
		return 0
	}
	return int(u)
}

// blob writes or reads the length of *b and its bytes. Bytes that are read are a slice of
// the input, not a copy.
func (c *coder) blob(b *[]byte) {
	n := c.count(len(*b))
	c.raw(b, n)
}

// raw writes or reads the n bytes of *b.
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
		c.fail("%d bytes are announced where only %d are left; %s", n, left, damageAdvice)
		return
	}
	*b = c.in[c.off : c.off+n : c.off+n]
	c.off += n
}

// text writes or reads a string: its length and its bytes.
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
		c.fail("the file ends here, in the middle; %s", damageAdvice)
	default:
		c.fail("a number has more than 64 bits; %s", damageAdvice)
	}
	return v
}

// advice returns what the user can do about an error.
func (c *coder) advice() string {
	if c.reading() {
		return damageAdvice
	}
	return "correct what made the log"
}
