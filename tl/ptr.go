package tl

import (
	"fmt"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// Ptr points to an element of a tensor, or of scratch memory. It knows the dtype
// and the strides of what it points into, so that a tile of a matrix is
// t.Load(x.At(row, col), tl.Shape{rows, cols}, tl.F16).
//
// A kernel gets a pointer to the part of each tensor argument that its own PE
// holds, or to the start of the whole tensor if the PE holds none of it. An access that
// leaves that part is an error, unless it is by way of [Ptr.Whole].
//
// A tile with fewer axes than the tensor lies along the tensor's last ones: a tile
// of one axis through a pointer into a matrix is a piece of a row. A tile with more
// axes has its further, outer axes packed: a tile of two axes through a pointer
// into a vector is rows one after the other.
type Ptr struct {
	Addr   int64 // virtual
	DType  numeric.DType
	Rank   int8
	Window int16    // which tensor argument of the launch, from 1, for Put and Get
	Stride [4]int64 // elements between neighbours along each axis of the tensor
	Extent [4]int32 // elements of the PE's own part along each axis; see Dim
	Shard  *Shard   // what it may reach; nil is what the machine says
}

// Dim is how many elements the part of the tensor that the PE holds has along an axis,
// negative axes counting from the last: 0 if it holds none. It stays the same when the
// pointer moves.
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

// At moves the pointer by an index along each axis, from the outermost: x.At(i) of
// a vector is element i, a.At(row, col) an element of a matrix and a.At(row) the
// start of a row. Indices may be negative; memory that is not there is an error
// where it is used.
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

// As reads the same memory as elements of another dtype. If their size is another,
// so are the strides: rows stay where they are.
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

// Strided sees the same memory as a tensor of as many axes as strides are given:
// x.Strided(ld, 1) is a matrix whose rows are ld elements apart, x.Strided(ld) a
// column of it. Strides along which a block has several elements must not be negative.
func (p Ptr) Strided(stride ...int) Ptr {
	if len(stride) > oplog.MaxRank {
		panic(misuse("Strided", Shape(stride).String(),
			fmt.Errorf("%d axes are too many: a tensor has at most %d", len(stride), oplog.MaxRank)))
	}
	p.Rank = int8(len(stride))
	p.Stride = [4]int64{}
	p.Extent = [4]int32{} // of what it is now seen as, nothing is known
	for i, n := range stride {
		p.Stride[i] = int64(n)
	}
	return p
}

// size is the bytes of an element. A zero Ptr has none: what uses it says so.
func (p Ptr) size() int64 {
	if !p.DType.Valid() {
		return 0
	}
	return int64(p.DType.Size())
}

// inner is the stride of the innermost axis.
func (p Ptr) inner() int64 {
	if p.Rank == 0 {
		return 1
	}
	return p.Stride[p.Rank-1]
}

// view gives the pointer a stride for each axis of a tile.
func (p *Ptr) view(s *oplog.Shape) {
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
