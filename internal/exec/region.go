package exec

import "github.com/kernbench/kernbench/oplog"

// region is a set of bytes of one memory: one row, or several rows with gaps between them.
type region struct{ addr, rows, rowBytes, stride int64 }

// regionOf returns the region of memory that an access covers.
func regionOf(a oplog.Access) region {
	r := region{a.Addr, a.Rows, a.RowBytes, a.Stride}
	if r.rows == 0 || r.rowBytes == 0 {
		return region{}
	}
	if r.stride < 0 {
		r.addr, r.stride = r.addr+(r.rows-1)*r.stride, -r.stride
	}
	if r.rows == 1 || r.stride <= r.rowBytes {
		r.rowBytes += (r.rows - 1) * r.stride
		r.rows, r.stride = 1, r.rowBytes
	}
	return r
}

func (r *region) end() int64 { return r.addr + (r.rows-1)*r.stride + r.rowBytes }

// next returns the first address of the region that is not less than the address `at`. The
// second result is false if there is none.
func (r *region) next(at int64) (int64, bool) {
	if at <= r.addr {
		return r.addr, true
	}
	row, off := (at-r.addr)/r.stride, (at-r.addr)%r.stride
	switch {
	case row >= r.rows || row == r.rows-1 && off >= r.rowBytes:
		return 0, false
	case off < r.rowBytes:
		return at, true
	}
	return r.addr + (row+1)*r.stride, true
}

// overlap returns the first address in [lo, hi) that regions a and b share. The second
// result is false if there is none.
func overlap(a, b *region, lo, hi int64) (int64, bool) {
	at := lo
	for {
		inA, ok := a.next(at)
		if !ok || inA >= hi {
			return 0, false
		}
		inB, ok := b.next(inA)
		if !ok || inB >= hi {
			return 0, false
		}
		if inA == inB {
			return inA, true
		}
		at = inB
	}
}

// pageBytes is the size of a page in the index of accesses. With larger pages, a large
// access has fewer entries; with smaller pages, fewer adjacent accesses are compared.
const pageBytes = 16 << 10

// pages calls f for each page that the region touches. [lo, hi) is the range of bytes in
// the page that the region may touch. If a page contains the end of one row and the start
// of the next, pages calls f twice for it.
func (r *region) pages(f func(page, lo, hi int64)) {
	if r.stride <= pageBytes {
		pagesOf(r.addr, r.end(), f)
		return
	}
	for row := range r.rows {
		start := r.addr + row*r.stride
		pagesOf(start, start+r.rowBytes, f)
	}
}

// pagesOf calls f for each page that contains bytes of [lo, hi), with the part of [lo, hi)
// in the page.
func pagesOf(lo, hi int64, f func(page, lo, hi int64)) {
	for page := lo / pageBytes; page*pageBytes < hi; page++ {
		f(page, max(lo, page*pageBytes), min(hi, (page+1)*pageBytes))
	}
}
