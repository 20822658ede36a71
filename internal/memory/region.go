package memory

// Region is a two-dimensional range of bytes in one memory: Rows rows of RowBytes bytes
// each, which start Stride bytes apart. The bytes of a region are numbered from 0, row by
// row, in the order in which they are transferred.
type Region struct {
	Addr     Addr
	Rows     int64
	RowBytes Bytes
	Stride   Bytes
}

// Contiguous returns the region of n bytes from addr on.
func Contiguous(addr Addr, n Bytes) Region {
	return Region{Addr: addr, Rows: 1, RowBytes: n, Stride: n}
}

// Bytes returns the size of the region.
func (r Region) Bytes() Bytes { return Bytes(r.Rows) * r.RowBytes }

// Overlaps reports whether regions r and s share an address. (Adjacent tiles of one matrix
// do not.) If their strides differ, it takes time linear in the smaller number of rows.
func (r Region) Overlaps(s Region) bool {
	if r.Addr >= s.end() || s.Addr >= r.end() {
		return false
	}
	if r.Stride != s.Stride || r.RowBytes > r.Stride || s.RowBytes > s.Stride {
		if s.Rows < r.Rows {
			r, s = s, r
		}
		for i := range r.Rows {
			if s.touches(r.Addr+Addr(i)*Addr(r.Stride), r.RowBytes) {
				return true
			}
		}
		return false
	}
	if s.Addr < r.Addr {
		r, s = s, r
	}
	col := Bytes(s.Addr-r.Addr) % r.Stride // column of the first byte of s in r
	return col < r.RowBytes || col+s.RowBytes > r.Stride
}

// touches reports whether a row of the region overlaps the n bytes that start at a.
func (r Region) touches(a Addr, n Bytes) bool {
	if r.Rows == 1 || r.Stride <= 0 {
		return a < r.Addr+Addr(r.RowBytes) && r.Addr < a+Addr(n)
	}
	last := Bytes(a-r.Addr) + n - 1 // the last of the n bytes, relative to the first row
	if last < 0 {
		return false
	}
	row := min(last/r.Stride, Bytes(r.Rows-1)) // the last row that starts at or before it
	return row*r.Stride+r.RowBytes > Bytes(a-r.Addr)
}

// end returns the address after the last byte of the region.
func (r Region) end() Addr {
	if r.Bytes() == 0 {
		return r.Addr
	}
	return r.Addr + Addr(Bytes(r.Rows-1)*r.Stride+r.RowBytes)
}

// addr returns the address a of byte number `off` of the region. `left` is the number of
// bytes from a to the end of its row.
func (r Region) addr(off Bytes) (a Addr, left Bytes) {
	if r.Rows == 1 {
		return r.Addr + Addr(off), r.RowBytes - off
	}
	row, col := off/r.RowBytes, off%r.RowBytes
	return r.Addr + Addr(row*r.Stride+col), r.RowBytes - col
}

// Part returns the n bytes of the region from byte number `off` on as a region of its own.
// ok is false if these bytes do not form a region.
func (r Region) Part(off, n Bytes) (part Region, ok bool) {
	a, left := r.addr(off)
	if n <= left {
		return Contiguous(a, n), true
	}
	return Region{Addr: a, Rows: int64(n / r.RowBytes), RowBytes: r.RowBytes, Stride: r.Stride}, left == r.RowBytes && n%r.RowBytes == 0
}

// cursor is a position in a region: a byte number, the address of this byte, and the address
// at which its row ends.
type cursor struct {
	off          Bytes
	addr, rowEnd Addr
}

// cursor returns the position of byte number `off` of the region.
func (r *Region) cursor(off Bytes) cursor {
	a, left := r.addr(off)
	return cursor{off: off, addr: a, rowEnd: a + Addr(left)}
}

// step moves c, a position in r, to the first byte after the burst of h that contains c.
func (c *cursor) step(r *Region, h hash) {
	c.skip(r, Bytes(min(c.addr|h.inBurst+1, c.rowEnd)-c.addr))
}

// skip moves c, a position in r, by n bytes, at most to the end of the row.
func (c *cursor) skip(r *Region, n Bytes) {
	c.off += n
	if c.addr += Addr(n); c.addr == c.rowEnd {
		c.rowEnd += Addr(r.Stride)
		c.addr = c.rowEnd - Addr(r.RowBytes)
	}
}
