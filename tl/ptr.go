package tl

import (
	"fmt"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// Ptr is a pointer to an element of a tensor or of scratch memory. It contains the dtype
// and the strides of the tensor, so t.Load(x.At(row, col), tl.Shape{rows, cols}, tl.F16)
// loads a tile of a matrix.
//
// A kernel gets a pointer to the part of each tensor argument that its own PE holds, or
// to the start of the whole tensor if the PE holds no part of it. An access outside of
// that part is an error, unless the pointer comes from [Ptr.Whole].
//
// A tile with fewer axes than the tensor extends along the tensor's last axes: a tile of
// one axis through a pointer into a matrix is a piece of a row. A tile with more axes than
// the tensor has its additional, outer axes packed: a tile of two axes through a pointer
// into a vector consists of consecutive rows.
type Ptr struct {
	Addr   int64 // virtual address
	DType  numeric.DType
	Rank   int8     // the number of axes
	Window int16    // the number of the tensor argument of the launch, from 1; 0 if Put and Get cannot use it
	Stride [4]int64 // elements between neighbours along each axis of the tensor
	Extent [4]int32 // elements of the PE's own part along each axis; see Dim
	Shard  *Shard   // the memory that it may access; nil if only the machine checks accesses
}

// Dim returns the extent of an axis: the number of elements along the axis in the PE's part
// of the tensor. It returns 0 if the PE holds no elements, or if the pointer comes from
// Strided, which does not know the extents. A negative axis counts from the end. The result
// does not change when the pointer moves.
func (p Ptr) Dim(axis int) int {
	if axis < 0 {
		axis += int(p.Rank)
	}
	if axis < 0 || axis >= int(p.Rank) {
		panic(misuse("Dim", "pointer to "+p.DType.String(),
			fmt.Errorf("no axis %d: what it points into has %d", axis, p.Rank)))
	}
	return int(p.Extent[axis])
}

// At moves the pointer by an index along each axis, outermost first: x.At(i) points to
// element i of a vector, a.At(row, col) to an element of a matrix, and a.At(row) to the
// start of a row. Indices may be negative. A pointer outside of the tensor is an error
// only when it is used.
func (p Ptr) At(i ...int) Ptr {
	if len(i) > int(p.Rank) {
		panic(misuse("At", "pointer to "+p.DType.String(),
			fmt.Errorf("%d indices are too many: what it points into has %d axes", len(i), p.Rank)))
	}
	for axis, n := range i {
		p.Addr += int64(n) * p.Stride[axis] * p.size()
	}
	return p
}

// Add moves the pointer by n elements along the innermost axis.
func (p Ptr) Add(n int) Ptr {
	p.Addr += int64(n) * p.inner() * p.size()
	return p
}

// As reinterprets the same memory as elements of another dtype. If the element size
// changes, As adapts the strides so that rows start at the same addresses.
func (p Ptr) As(d DType) Ptr {
	if !d.Valid() {
		panic(misuse("As", d.String(), errDType))
	}
	from, to := p.size(), int64(d.Size())
	p.DType = d
	if from == to {
		return p
	}
	whole := p.inner() == 1
	for i := range int(p.Rank) - 1 {
		whole = whole && p.Stride[i]*from%to == 0
		p.Stride[i] = p.Stride[i] * from / to
	}
	if last := int(p.Rank) - 1; last >= 0 {
		p.Extent[last] = int32(int64(p.Extent[last]) * from / to)
	}
	if !whole {
		panic(misuse("As", d.String(),
			fmt.Errorf("elements of %d bytes cannot be read as elements of %d: rows must be contiguous and their distance a multiple of %d bytes", from, to, to)))
	}
	return p
}

// Strided views the same memory as a tensor with the given strides, one for each axis:
// x.Strided(ld, 1) is a matrix whose rows are ld elements apart, and x.Strided(ld) a column
// of that matrix. The stride of an axis must not be negative if a block has several
// elements along this axis.
func (p Ptr) Strided(stride ...int) Ptr {
	if len(stride) > oplog.MaxRank {
		panic(misuse("Strided", Shape(stride).String(),
			fmt.Errorf("%d axes are too many: a tensor has at most %d", len(stride), oplog.MaxRank)))
	}
	p.Rank = int8(len(stride))
	p.Stride = [4]int64{}
	p.Extent = [4]int32{} // the extents of the new view are unknown
	for i, n := range stride {
		p.Stride[i] = int64(n)
	}
	return p
}

// size returns the size of an element in bytes. It returns 0 for a zero Ptr; operations
// that use a zero Ptr report the error.
func (p Ptr) size() int64 {
	if !p.DType.Valid() {
		return 0
	}
	return int64(p.DType.Size())
}

// inner returns the stride of the innermost axis, or 1 if there is no axis.
func (p Ptr) inner() int64 {
	if p.Rank == 0 {
		return 1
	}
	return p.Stride[p.Rank-1]
}

// view gives p one stride for each axis of a tile of shape s. The innermost axes keep their
// strides. If the tile has more axes than p, its outer axes are packed without gaps.
func (p *Ptr) view(s *oplog.Shape) {
	if p.Rank == s.Rank {
		return
	}
	next, stride, rank := p.inner(), p.Stride, int(p.Rank)
	p.Rank = s.Rank
	p.Stride = [4]int64{}
	for back := 1; back <= int(s.Rank); back++ {
		i := int(s.Rank) - back
		if back <= rank {
			next = stride[rank-back]
		}
		p.Stride[i] = next
		next *= int64(s.Dim[i])
	}
}

// Shard is the memory that a pointer may access: the part of a tensor that a PE holds, a
// whole tensor, or a block of a collective. Launches create it.
type Shard struct {
	Tensor      string       // name, shape and dtype: "tensor 1 [256] f32"
	Part        fmt.Stringer // "this PE's shard [64:128]"; nil for the whole tensor
	Addr, Bytes int64
	Box         *Ptr // its first element, strides and extents; nil if there are no gaps between elements
	Whole       *Ptr // the start of the whole tensor; nil if kernels cannot access it
}

// Whole returns a pointer to the start of the whole tensor, wherever p points in it. A
// pointer argument of a launch may access only the shard that its PE holds; the result of
// Whole may access all shards. In memory, shards follow each other in the order of the
// PEs, so a tensor that is split by rows is contiguous, row by row. Put and Get address
// elements from the start of a shard and do not accept the result of Whole.
//
// Scratch memory and the memory of scenarios and tasks are not divided into shards. For
// these, Whole returns p.
func (p Ptr) Whole() Ptr {
	if p.Shard == nil || p.Shard.Whole == nil {
		return p
	}
	return *p.Shard.Whole
}

// Span returns the address of the first byte of the block's elements and the address
// after the last byte. The block must have elements.
func (b *Block) Span() (first, end int64) {
	size := int64(b.DType.Size())
	first, end = b.Ptr.Addr, b.Ptr.Addr+size
	for axis, n := range b.Valid.Dim[:b.Valid.Rank] {
		along := int64(n-1) * b.Ptr.Stride[axis] * size
		first, end = first+min(0, along), end+max(0, along)
	}
	return first, end
}

// inShard checks that all elements of the block are in the shard of its pointer.
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

// avoidsGaps reports whether no element of a block is in a gap between elements of the
// shard: the block is within one row of the shard, or its axes are axes of the shard. The
// block must be between the first and the last element of the shard. If the shard has no
// gaps, avoidsGaps returns true. If the elements of the block and of the shard differ in
// size, avoidsGaps does not check and returns true.
func (s *Shard) avoidsGaps(b *Block) bool {
	box := s.Box
	if box == nil || box.size() != int64(b.DType.Size()) {
		return true
	}
	var left [oplog.MaxRank]int64 // elements of the shard along each axis, from the start of the block on
	at := (b.Ptr.Addr - box.Addr) / box.size()
	for axis, n := range box.Extent[:box.Rank] {
		if n > 1 {
			left[axis] = int64(n) - at/box.Stride[axis]
			at %= box.Stride[axis]
		}
		if n > 1 && left[axis] <= 0 {
			return false
		}
	}
	first, end := b.Span()
	if last := int(box.Rank) - 1; at == 0 && last >= 0 && box.Stride[last] == 1 && (end-first)/box.size() <= max(left[last], 1) {
		return true
	}
	for axis, n := range b.Valid.Dim[:b.Valid.Rank] {
		if n == 1 {
			continue
		}
		along := -1
		for i := range int(box.Rank) {
			if box.Stride[i] == b.Ptr.Stride[axis] && left[i] > 0 {
				along = i
			}
		}
		if along < 0 || left[along] < int64(n) {
			return false
		}
		left[along] = 0 // two axes of a block cannot be the same axis of the shard
	}
	return at == 0
}

// Beyond returns the error for a block that is partly or completely outside of the shard.
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
