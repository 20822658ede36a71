package memory

import (
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/topology"
)

// Guard is the granularity of virtual addresses. Tensors start at multiples of Guard, never
// at 0, and at least Guard bytes between two tensors are unmapped. Guard is larger than
// any alignment of a memory, so a virtual address has the alignment of its shard.
const Guard Bytes = 64 << 10

// Space maps tensors to virtual addresses. The zero value is empty and ready to use.
//
// Behind every tensor is an unmapped guard at least as long as the tensor, and no address
// is used twice. So an access beyond the end, by a row or by a whole tensor, is an error
// and does not reach another tensor. An access after Unmap is an error, too. There are 2⁶³
// addresses: enough for four billion tensors of 1 GiB.
type Space struct {
	tensors []*tensor // sorted by base, which is also the order of mapping
	bases   []VA      // base of each tensor: a search that reads the tensors would miss the processor cache
	next    VA        // base of the next tensor
	unmaps  uint32
}

// tensor is a mapped tensor.
type tensor struct {
	name   string
	base   VA
	size   Bytes
	shards []Segment
	ends   []Bytes // offset of the end of each shard in the tensor
}

func (t *tensor) end() VA { return t.base + VA(t.size) }

// From makes the virtual addresses of s begin at base. It must be called before Map.
func (s *Space) From(base VA) { s.next = base }

// Map assigns a range of virtual addresses to a tensor and returns the start of the range.
// The range covers the given shards in order. name appears in errors and need not be
// unique. Empty shards are left out. An empty tensor has its own address, too.
func (s *Space) Map(name string, shards []Segment) (VA, error) {
	t := &tensor{name: name, base: max(s.next, VA(Guard))}
	for i, sh := range shards {
		if sh.Bytes == 0 {
			continue
		}
		if sh.Bytes < 0 || sh.Addr < 0 {
			return 0, fmt.Errorf("map tensor %q: shard %d is %d bytes at address %d of %v: neither may be negative", name, i, int64(sh.Bytes), int64(sh.Addr), sh.Memory)
		}
		if sh.Bytes > math.MaxInt64-t.size {
			return 0, fmt.Errorf("map tensor %q: its %d shards have more bytes than there are addresses", name, len(shards))
		}
		t.size += sh.Bytes
		t.shards = append(t.shards, sh)
		t.ends = append(t.ends, t.size)
	}
	if t.size > (math.MaxInt64-Bytes(t.base))/2-Guard {
		return 0, fmt.Errorf("map tensor %q of %v: no virtual addresses left after %v", name, t.size, t.base)
	}
	length := (t.size + Guard - 1) / Guard * Guard
	s.next = t.base + VA(length+max(length, Guard))
	s.tensors, s.bases = append(s.tensors, t), append(s.bases, t.base)
	return t.base, nil
}

// Unmap removes the tensor that starts at base and returns its shards. The caller must free
// the memory of the shards.
func (s *Space) Unmap(base VA) ([]Segment, error) {
	i, found := s.search(base)
	if !found {
		return nil, fmt.Errorf("unmap %v: no tensor starts there; it was unmapped before, or never mapped", base)
	}
	s.unmaps++
	t := s.tensors[i]
	s.tensors, s.bases = slices.Delete(s.tensors, i, i+1), slices.Delete(s.bases, i, i+1)
	return t.shards, nil
}

// Unmaps returns a number that differs after every Unmap.
func (s *Space) Unmaps() uint32 { return s.unmaps }

// search returns the index of the first tensor that starts at or after va. The second
// result reports whether this tensor starts exactly at va.
func (s *Space) search(va VA) (int, bool) { return slices.BinarySearch(s.bases, va) }

// Translate finds the tensor that contains all n bytes from va on and returns these bytes
// as an Access. If the bytes are not completely inside one tensor, it returns an error. An
// access of 0 bytes may start at the end of a tensor. Translate takes time logarithmic in
// the number of tensors and allocates nothing.
func (s *Space) Translate(va VA, n Bytes) (Access, error) {
	if n < 0 {
		return Access{}, fmt.Errorf("access of %d bytes at %v: the size must not be negative", int64(n), va)
	}
	i, found := s.search(va)
	if found {
		i++
	}
	if i > 0 {
		t := s.tensors[i-1]
		if off := Bytes(va - t.base); off <= t.size && n <= t.size-off {
			return Access{t, off, n}, nil
		}
	}
	return Access{}, s.unmappedError(va, n, i)
}

// Shard returns the shard of a tensor that contains va, and the virtual address of its first
// byte. ok is false if no shard contains va.
func (s *Space) Shard(va VA) (base VA, shard Segment, ok bool) {
	access, err := s.Translate(va, 1)
	if err != nil {
		return 0, Segment{}, false
	}
	t := access.tensor
	i, _ := slices.BinarySearch(t.ends, access.off+1)
	shard = t.shards[i]
	return t.base + VA(t.ends[i]-shard.Bytes), shard, true
}

// unmappedError returns the error for an access of n bytes at va that is not inside a
// tensor. i is the index of the first tensor that starts after va. The error names the
// tensor nearest to va.
func (s *Space) unmappedError(va VA, n Bytes, i int) error {
	access := fmt.Sprintf("access of %v at %v", n, va)
	var near *tensor
	if i > 0 {
		near = s.tensors[i-1]
	}
	if i < len(s.tensors) && (near == nil || s.tensors[i].base-va < va-near.end()) {
		near = s.tensors[i]
	}
	if near == nil {
		return fmt.Errorf("%s: no tensor is mapped", access)
	}
	tensor := fmt.Sprintf("tensor %q (%v at %v)", near.name, near.size, near.base)
	switch {
	case va < near.base:
		return fmt.Errorf("%s starts %v before %s; check the address arithmetic, and that the tensor meant was not freed", access, Bytes(near.base-va), tensor)
	case va > near.end():
		return fmt.Errorf("%s starts %v past the end of %s; check the address arithmetic, and that the tensor meant was not freed", access, Bytes(va-near.end()), tensor)
	}
	return fmt.Errorf("%s runs %v past the end of %s; mask the ragged edge or shorten the access", access, n-Bytes(near.end()-va), tensor)
}

// Access is a range of bytes in one tensor.
type Access struct {
	tensor *tensor
	off, n Bytes
}

// Segments iterates over the physical segments of the access, in order of virtual
// addresses. It allocates nothing. It is used as
//
//	for seg := range access.Segments {
func (a Access) Segments(yield func(Segment) bool) {
	if a.n == 0 {
		return
	}
	i, _ := slices.BinarySearch(a.tensor.ends, a.off+1) // the shard that contains off
	for n := a.n; n > 0; i++ {
		seg := a.tensor.shards[i]
		if skip := a.off - (a.tensor.ends[i] - seg.Bytes); skip > 0 {
			seg.Addr += Addr(skip)
			seg.Bytes -= skip
		}
		seg.Bytes = min(seg.Bytes, n)
		if !yield(seg) {
			return
		}
		n -= seg.Bytes
	}
}

// Bytes is an amount of data or a size of memory.
type Bytes = topology.Bytes

// ID identifies a memory. PE is 0 for an SRAM, which all PEs of a cube share.
type ID = oplog.Space

// Kinds maps the kind of a topology node to a kind of memory.
var Kinds = [...]oplog.SpaceKind{topology.KindHBM: oplog.HBM, topology.KindSRAM: oplog.SRAM, topology.KindTCM: oplog.TCM}

// sizeKey returns the key of topology.yaml that sets the size of memory id.
func sizeKey(id ID) string {
	switch id.Kind {
	case oplog.HBM:
		return "cube.hbm.slice_size"
	case oplog.SRAM:
		return "cube.sram.size"
	}
	return "pe.tcm.size"
}

// Addr is a byte address within one memory, from 0.
type Addr int64

// None is the address of an allocation of 0 bytes. It is in no memory.
const None Addr = -1

// String returns the address in hexadecimal, or "none".
func (a Addr) String() string {
	if a == None {
		return "none"
	}
	return fmt.Sprintf("%#x", int64(a))
}

// VA is a virtual address: a byte of a tensor in any memory.
type VA int64

// String returns the address in hexadecimal.
func (va VA) String() string { return fmt.Sprintf("%#x", int64(va)) }

// Part is a range of virtual addresses in a tensor.
type Part struct {
	VA    VA
	Bytes Bytes
}

// Segment is a range of bytes in one memory: a shard of a tensor, or the part of an access
// that is in one shard.
type Segment struct {
	Memory ID
	Addr   Addr
	Bytes  Bytes
}

// String returns the segment as in "sip0.cube5.hbm3[0x100:0x180]".
func (s Segment) String() string {
	return fmt.Sprintf("%v[%v:%v]", s.Memory, s.Addr, s.Addr+Addr(s.Bytes))
}
