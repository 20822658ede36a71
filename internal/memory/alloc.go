package memory

import (
	"cmp"
	"fmt"
	"slices"
)

// Allocator allocates the addresses of one memory. It is ready to use when Memory and Size
// are set. It takes 56 bytes until the first Alloc.
//
// It stores only the live blocks, in address order. The free space is between the blocks,
// so free ranges never need to be merged. Alloc returns the lowest address that fits. First
// fit in address order is deterministic, fragments about as little as best fit on real
// programs, and keeps the high end of the memory contiguous. Alloc and, in the worst case,
// Free take time linear in the number of live blocks; a memory has tens of them. Neither
// allocates memory once the list has reached its largest size.
type Allocator struct {
	Memory ID
	Size   Bytes

	used Bytes   // sum of the sizes of the live blocks
	live []block // sorted by address
}

// block is an allocated range of addresses.
type block struct {
	addr Addr
	size Bytes
}

func (b block) end() Addr { return b.addr + Addr(b.size) }

// Alloc reserves `size` bytes at the lowest free address that is a multiple of align. Bytes
// that are skipped for alignment stay free. If no free range is large enough, the error is
// an *OutOfMemory.
//
// An allocation of 0 bytes always succeeds, reserves nothing and returns None.
func (a *Allocator) Alloc(size, align Bytes) (Addr, error) {
	if size < 0 || align < 1 {
		return None, fmt.Errorf("%v: cannot allocate %d bytes aligned to %d: the size must be at least 0 and the alignment at least 1", a.Memory, int64(size), int64(align))
	}
	if size == 0 {
		return None, nil
	}
	var largest Bytes
	var start Addr // start of the gap before live block i
	for i := 0; i <= len(a.live); i++ {
		limit := Addr(a.Size)
		if i < len(a.live) {
			limit = a.live[i].addr
		}
		pad := (align - Bytes(start)%align) % align
		available := Bytes(limit-start) - pad
		if size <= available {
			at := start + Addr(pad)
			a.live = slices.Insert(a.live, i, block{at, size})
			a.used += size
			return at, nil
		}
		largest = max(largest, available)
		if i < len(a.live) {
			start = a.live[i].end()
		}
	}
	return None, &OutOfMemory{Memory: a.Memory, Size: a.Size, Asked: size, Align: align, Free: a.Size - a.used, Largest: largest}
}

// Free frees the block at addr, which Alloc returned. It does nothing for None. Any other
// address is an error.
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

// Used returns the sum of the sizes of the live blocks.
func (a *Allocator) Used() Bytes { return a.used }

// OutOfMemory is the error of an Alloc that does not fit.
type OutOfMemory struct {
	Memory  ID
	Size    Bytes // size of the memory
	Asked   Bytes
	Align   Bytes
	Free    Bytes // sum of all gaps
	Largest Bytes // largest block that fits at the alignment
}

// Error returns a text with the memory, the requested bytes, the free bytes, and the
// topology key that sets the size of the memory.
func (e *OutOfMemory) Error() string {
	return fmt.Sprintf("%v: out of memory: asked %v aligned to %v, free %v of %v, largest block %v; free something, ask for less, or raise %s in the topology",
		e.Memory, e.Asked, e.Align, e.Free, e.Size, e.Largest, sizeKey(e.Memory))
}
