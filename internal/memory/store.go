package memory

import "fmt"

// pageSize is the size of the pages of a Store. It is small because a typical large run has
// few bytes in each of many memories: one small shard in each of 131,072 HBM slices takes
// 0.5 GiB with pages of 4 KiB, and would take 8 GiB with pages of 64 KiB. It is the default
// size of a queue slot, and large enough that copying a page takes longer than finding it.
const pageSize = 4096

type page [pageSize]byte

// Store holds the bytes of one memory. It is ready to use when Memory and Size are set. It
// takes 32 bytes, and a page for each 4 KiB that were written to. Bytes that were never
// written are zero.
type Store struct {
	Memory ID
	Size   Bytes

	pages map[Addr]*page // by address / pageSize
}

// Read copies len(dst) bytes of the memory, starting at addr, into dst. It creates no
// pages.
func (s *Store) Read(addr Addr, dst []byte) error {
	if err := s.check("read", addr, Bytes(len(dst))); err != nil {
		return err
	}
	for len(dst) > 0 {
		off := addr % pageSize
		n := min(len(dst), int(pageSize-off))
		if p := s.pages[addr/pageSize]; p != nil {
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
		p := s.pages[addr/pageSize]
		if p == nil {
			if s.pages == nil {
				s.pages = make(map[Addr]*page)
			}
			p = new(page)
			s.pages[addr/pageSize] = p
		}
		n := copy(p[addr%pageSize:], src)
		src = src[n:]
		addr += Addr(n)
	}
	return nil
}

// Zero sets n bytes from addr on to zero and removes the pages that they cover completely.
// Its time grows with the number of existing pages, not with n.
func (s *Store) Zero(addr Addr, n Bytes) error {
	if err := s.check("zero", addr, n); err != nil {
		return err
	}
	end := addr + Addr(n)
	first, last := addr/pageSize, (end+pageSize-1)/pageSize
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
	start := i * pageSize
	lo, hi := max(addr, start), min(end, start+pageSize)
	p := s.pages[i]
	switch {
	case p == nil || lo >= hi:
	case lo == start && hi == min(start+pageSize, Addr(s.Size)):
		delete(s.pages, i)
	default:
		clear(p[lo-start : hi-start])
	}
}

// Resident returns how many bytes of host memory the pages take.
func (s *Store) Resident() Bytes { return Bytes(len(s.pages)) * pageSize }

// check returns an error if the n bytes from addr on are not all in the memory.
func (s *Store) check(op string, addr Addr, n Bytes) error {
	if addr >= 0 && n >= 0 && n <= s.Size && Bytes(addr) <= s.Size-n {
		return nil
	}
	return fmt.Errorf("%v: %s of %v at %v is outside the memory, which has %v; check the address against the allocation it belongs to", s.Memory, op, n, addr, s.Size)
}
