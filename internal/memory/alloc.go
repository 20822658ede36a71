package memory

import (
	"cmp"
	"fmt"
	"slices"
)

// Allocator hands out the addresses of one memory. Set Memory and Size and it
// is ready; it costs 56 bytes until the first Alloc.
//
// It keeps the live blocks in address order and nothing else: free space is
// what lies between them, so neighbouring free ranges are one range without
// being joined. Alloc takes the lowest address that fits. First fit in address
// order is deterministic, fragments about as little as best fit on real
// programs, and keeps the high end of the memory in one piece. Alloc costs time
// linear in the live blocks, of which a memory has tens, and Free as much in
// the worst case; neither allocates once the list has grown to its peak.
type Allocator struct {
	Memory ID
	Size   Bytes

	used Bytes
	live []block // by address
}

type block struct {
	addr Addr
	size Bytes
}

func (b block) end() Addr { return b.addr + Addr(b.size) }

// Alloc reserves size bytes at the lowest free address that is a multiple of
// align. The bytes skipped to reach it stay free. When nothing fits the error
// is an *OutOfMemory.
//
// An allocation of no bytes always succeeds, occupies nothing and has the
// address None.
func (a *Allocator) Alloc(size, align Bytes) (Addr, error) {
	if size < 0 || align < 1 {
		return None, fmt.Errorf("%v: cannot allocate %d bytes aligned to %d: the size must be at least 0 and the alignment at least 1", a.Memory, int64(size), int64(align))
	}
	if size == 0 {
		return None, nil
	}
	var largest Bytes
	var start Addr // of the gap before live block i
	for i := 0; i <= len(a.live); i++ {
		limit := Addr(a.Size)
		if i < len(a.live) {
			limit = a.live[i].addr
		}
		pad := (align - Bytes(start)%align) % align
		room := Bytes(limit-start) - pad
		if size <= room {
			at := start + Addr(pad)
			a.live = slices.Insert(a.live, i, block{at, size})
			a.used += size
			return at, nil
		}
		largest = max(largest, room)
		if i < len(a.live) {
			start = a.live[i].end()
		}
	}
	return None, &OutOfMemory{Memory: a.Memory, Size: a.Size, Asked: size, Align: align, Free: a.Size - a.used, Largest: largest}
}

// Free gives back what Alloc returned: the address of a live block, or None.
func (a *Allocator) Free(addr Addr) error {
	if addr == None {
		return nil
	}
	i, found := slices.BinarySearchFunc(a.live, addr, func(b block, addr Addr) int { return cmp.Compare(b.addr, addr) })
	if found {
		a.used -= a.live[i].size
		a.live = slices.Delete(a.live, i, i+1)
		return nil
	}
	if i > 0 && addr < a.live[i-1].end() {
		b := a.live[i-1]
		return fmt.Errorf("%v: cannot free %v: it lies inside the %v allocated at %v; free that address", a.Memory, addr, b.size, b.addr)
	}
	return fmt.Errorf("%v: cannot free %v: nothing is allocated there; it was freed before, or never allocated", a.Memory, addr)
}

// Used is the sum of the sizes of the live blocks.
func (a *Allocator) Used() Bytes { return a.used }

// OutOfMemory is the error of an Alloc that does not fit.
type OutOfMemory struct {
	Memory  ID
	Size    Bytes // of the memory
	Asked   Bytes
	Align   Bytes
	Free    Bytes // in all gaps together
	Largest Bytes // largest block that would have fitted at the alignment
}

// Error names the memory, what was asked, what there is, and what to change.
func (e *OutOfMemory) Error() string {
	return fmt.Sprintf("%v: out of memory: asked %v aligned to %v, free %v of %v, largest block %v; free something, ask for less, or raise %s in the topology",
		e.Memory, e.Asked, e.Align, e.Free, e.Size, e.Largest, sizeKey(e.Memory))
}
