package tl

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/oplog"
)

// Shard is the memory that a pointer may reach: what a PE holds of a tensor, a whole
// tensor, or a block of a collective. Launches make it.
type Shard struct {
	Tensor      string       // name, shape and dtype: "tensor 1 [256] f32"
	Part        fmt.Stringer // "this PE's shard [64:128]"; nil for the whole tensor
	Addr, Bytes int64
	Box         *Ptr // to its first element, with its strides and extents, if there are gaps between its elements
	Whole       *Ptr // to the start of the whole tensor; nil if kernels cannot ask for that
}

// Whole returns a pointer to the start of the whole tensor, wherever p points in it. A
// pointer of a launch reaches the shard that its PE holds, and an access beyond that is an
// error; through Whole it is not. Shards follow each other in the order of the PEs, so
// that a tensor which is cut by rows is all there row by row. Put and Get count from the
// start of a shard and take no such pointer.
//
// What is not a tensor of a launch has no other part: of scratch memory and in kernels of
// scenarios and tasks, Whole returns p.
func (p Ptr) Whole() Ptr {
	if p.Shard == nil || p.Shard.Whole == nil {
		return p
	}
	return *p.Shard.Whole
}

// Span returns the address of the first byte of the block's elements and the one behind
// the last. A block without elements has no span.
func (b *Block) Span() (first, end int64) {
	size := int64(b.DType.Size())
	first, end = b.Ptr.Addr, b.Ptr.Addr+size
	for axis, n := range b.Valid.Dim[:b.Valid.Rank] {
		along := int64(n-1) * b.Ptr.Stride[axis] * size
		first, end = first+min(0, along), end+max(0, along)
	}
	return first, end
}

// inShard checks that all elements of the block lie in the shard of its pointer.
func (b *Block) inShard() error {
	s := b.Ptr.Shard
	if s == nil {
		return nil
	}
	if first, end := b.Span(); first >= s.Addr && end <= s.Addr+s.Bytes && s.avoidsGaps(b) || b.Valid.Elems() == 0 {
		return nil
	}
	return s.Beyond(b)
}

// avoidsGaps reports whether no element of a block, all of which are between the first and
// the last of the shard, lies in a gap of the shard: the block is within one row of the
// shard, or its axes are axes of the shard. Elements of another size are not looked at.
func (s *Shard) avoidsGaps(b *Block) bool {
	box := s.Box
	if box == nil || box.size() != int64(b.DType.Size()) {
		return true
	}
	var room [oplog.MaxRank]int64 // elements of the shard along each axis from the block on
	at := (b.Ptr.Addr - box.Addr) / box.size()
	for axis, n := range box.Extent[:box.Rank] {
		if n > 1 {
			room[axis] = int64(n) - at/box.Stride[axis]
			at %= box.Stride[axis]
		}
		if n > 1 && room[axis] <= 0 {
			return false
		}
	}
	first, end := b.Span()
	if last := int(box.Rank) - 1; at == 0 && last >= 0 && box.Stride[last] == 1 && (end-first)/box.size() <= max(room[last], 1) {
		return true
	}
	for axis, n := range b.Valid.Dim[:b.Valid.Rank] {
		if n == 1 {
			continue
		}
		along := -1
		for i := range int(box.Rank) {
			if box.Stride[i] == b.Ptr.Stride[axis] && room[i] > 0 {
				along = i
			}
		}
		if along < 0 || room[along] < int64(n) {
			return false
		}
		room[along] = 0 // two axes of a block are not one of the shard
	}
	return at == 0
}

// Beyond returns the error of a block that leaves the shard.
func (s *Shard) Beyond(b *Block) error {
	size := int64(b.DType.Size())
	first, end := b.Span()
	where, do := s.Tensor, "move the pointer, or mask what lies beyond"
	if s.Part != nil {
		where = s.Part.String() + " of " + s.Tensor
	}
	if s.Part != nil && s.Whole != nil {
		do += "; Ptr.Whole points to the whole tensor"
	}
	has := fmt.Sprint(s.Bytes / size)
	if s.Box != nil {
		n := 1
		for _, extent := range s.Box.Extent[:s.Box.Rank] {
			n *= int(extent)
		}
		has = fmt.Sprintf("%d, with gaps between them", n)
	}
	return fmt.Errorf("elements %d to %d are not all in %s, which has %s: %s", floorDiv(first-s.Addr, size), floorDiv(end-s.Addr-1, size), where, has, do)
}

func floorDiv(a, b int64) int64 {
	if a < 0 {
		return -((b - 1 - a) / b)
	}
	return a / b
}
