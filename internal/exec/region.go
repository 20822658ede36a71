package exec

import "github.com/kernbench/kernbench/oplog"

// region is a set of bytes of one memory: one row, or several rows with gaps between them.
type region struct{ addr, rows, rowBytes, stride int64 }

// regionOf returns the set of bytes of an access, regardless of their order.
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

// next returns the first byte of the region at or after at.
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

// overlap returns the first byte in [lo, hi) that two regions share.
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

// pages calls f for each page that a region touches, with the range of bytes that it may
// touch there. A page with the end of one row and the start of the next comes twice.
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

// pagesOf calls f for each page of the bytes in [lo, hi).
func pagesOf(lo, hi int64, f func(page, lo, hi int64)) {
	for page := lo / pageBytes; page*pageBytes < hi; page++ {
		f(page, max(lo, page*pageBytes), min(hi, (page+1)*pageBytes))
	}
}
