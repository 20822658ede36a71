package memory

import "fmt"

// PageSize is the size of the pages of a Store. It is small because a typical large run has
// few bytes in each of many memories: one small shard in each of 131,072 HBM slices takes
// 0.5 GiB with pages of 4 KiB, and would take 8 GiB with pages of 64 KiB. It is the default
// size of a queue slot, and large enough that copying a page takes longer than finding it.
const PageSize = 4096

type page [PageSize]byte

// frame is a page of a Store. A shared page also belongs to other users, so it is copied
// before a write.
type frame struct {
	*page
	shared bool
}

// Store holds the bytes of one memory. It is ready to use when Memory and Size are set. It
// takes 32 bytes, and a page for each 4 KiB that were written to. Bytes that were never
// written are zero.
type Store struct {
	Memory ID
	Size   Bytes

	pages map[Addr]frame // by address / PageSize
}

// Read copies len(dst) bytes of the memory, starting at addr, into dst. It creates no
// pages.
func (s *Store) Read(addr Addr, dst []byte) error {
	if err := s.check("read", addr, Bytes(len(dst))); err != nil {
		return err
	}
	for len(dst) > 0 {
		off := addr % PageSize
		n := min(len(dst), int(PageSize-off))
		if p := s.pages[addr/PageSize].page; p != nil {
			copy(dst, p[off:])
		} else {
			clear(dst[:n])
		}
		dst = dst[n:]
		addr += Addr(n)
	}
	return nil
}

// Write copies src into the memory, starting at addr.
func (s *Store) Write(addr Addr, src []byte) error {
	if err := s.check("write", addr, Bytes(len(src))); err != nil {
		return err
	}
	for len(src) > 0 {
		n := min(len(src), int(PageSize-addr%PageSize))
		copy(s.writable(addr, n)[addr%PageSize:], src)
		src = src[n:]
		addr += Addr(n)
	}
	return nil
}

// writable returns the page at addr, of which the caller overwrites n bytes. It creates the
// page if necessary, and replaces a shared page by a copy.
func (s *Store) writable(addr Addr, n int) *page {
	f := s.pages[addr/PageSize]
	if f.page != nil && !f.shared {
		return f.page
	}
	p := new(page)
	if f.page != nil && n < PageSize {
		*p = *f.page
	}
	s.put(addr/PageSize, frame{page: p})
	return p
}

func (s *Store) put(i Addr, f frame) {
	if s.pages == nil {
		s.pages = make(map[Addr]frame)
	}
	s.pages[i] = f
}

// Adopt writes src to the memory, starting at addr. Whole pages are not copied: they are
// memory of src from now on. The caller must not change src afterwards. If `shared` is
// false, later writes to the memory may change src; otherwise the Store copies a page
// before it writes to it.
func (s *Store) Adopt(addr Addr, src []byte, shared bool) error {
	if err := s.check("write", addr, Bytes(len(src))); err != nil {
		return err
	}
	for len(src) > 0 {
		n := min(len(src), int(PageSize-addr%PageSize))
		if n == PageSize {
			s.put(addr/PageSize, frame{(*page)(src), shared})
		} else {
			copy(s.writable(addr, n)[addr%PageSize:], src)
		}
		src = src[n:]
		addr += Addr(n)
	}
	return nil
}

// Snapshot appends the n bytes from addr on to a list, as slices that must not be changed.
// Later writes do not change them. Snapshot copies nothing: it marks the pages as shared.
func (s *Store) Snapshot(to [][]byte, addr Addr, n Bytes) ([][]byte, error) {
	if err := s.check("read", addr, n); err != nil {
		return to, err
	}
	for n > 0 {
		off := addr % PageSize
		part := min(n, Bytes(PageSize-off))
		f := s.pages[addr/PageSize]
		switch {
		case f.page == nil:
			f.page = &zeroPage
		case !f.shared:
			f.shared = true
			s.pages[addr/PageSize] = f
		}
		to = append(to, f.page[off:][:part])
		addr, n = addr+Addr(part), n-part
	}
	return to, nil
}

// zeroPage is the page of snapshots where a Store has none.
var zeroPage page

// Zero sets n bytes from addr on to zero and removes the pages that they cover completely.
// Its time grows with the number of existing pages, not with n.
func (s *Store) Zero(addr Addr, n Bytes) error {
	if err := s.check("zero", addr, n); err != nil {
		return err
	}
	end := addr + Addr(n)
	first, last := addr/PageSize, (end+PageSize-1)/PageSize
	if last-first > Addr(len(s.pages)) {
		for i := range s.pages {
			s.zeroIn(i, addr, end)
		}
	} else {
		for i := first; i < last; i++ {
			s.zeroIn(i, addr, end)
		}
	}
	if len(s.pages) == 0 {
		s.pages = nil // an empty map would keep its buckets
	}
	return nil
}

// zeroIn sets the bytes of page i with addresses in [addr, end) to zero. It removes the
// page if these are all of its bytes, and does nothing if the page does not exist.
func (s *Store) zeroIn(i, addr, end Addr) {
	start := i * PageSize
	lo, hi := max(addr, start), min(end, start+PageSize)
	switch {
	case s.pages[i].page == nil || lo >= hi:
	case lo == start && hi == min(start+PageSize, Addr(s.Size)):
		delete(s.pages, i)
	default:
		clear(s.writable(lo, int(hi-lo))[lo-start : hi-start])
	}
}

// Resident returns how many bytes of host memory the pages take.
func (s *Store) Resident() Bytes { return Bytes(len(s.pages)) * PageSize }

// check returns an error if the n bytes from addr on are not all in the memory.
func (s *Store) check(op string, addr Addr, n Bytes) error {
	if addr >= 0 && n >= 0 && n <= s.Size && Bytes(addr) <= s.Size-n {
		return nil
	}
	return fmt.Errorf("%v: %s of %v at %v is outside the memory, which has %v; check the address against the allocation it belongs to", s.Memory, op, n, addr, s.Size)
}
