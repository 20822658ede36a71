package torch

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// Piece is a part of a box of a matrix that a kernel reads or writes in one go: rows one
// below the other at one distance, on one PE or on several whose shards follow each other.
type Piece struct {
	Row, Col   int // where it begins, in the tensor
	Rows, Cols int
	Ptr        tl.Ptr // to its first element
}

// Pieces cuts a box of a matrix, or of a vector, which is a row, into such parts, by
// columns and then by rows: what a kernel on a PE reads that needs more of a tensor than
// its own part. A tensor of more axes is seen as a matrix whose columns are the last axis:
// [s, b, h] is s·b rows of h. Of a replicated tensor it is the copy nearest to the PE: its own, one of
// its cube, of its SIP, any. A partial tensor has no pieces: reduce it first.
func (x *Tensor) Pieces(row, col, rows, cols, pe int) []Piece {
	near := x.rank.m.PE(x.rank.peID("Pieces", "", pe))
	distance := func(s *shard) int {
		switch at := x.rank.m.PE(s.at); {
		case at == near:
			return 0
		case at.SIP == near.SIP && at.Cube == near.Cube:
			return 1
		case at.SIP == near.SIP:
			return 2
		}
		return 3
	}
	var list []Piece
	nearest := map[[2]int]int{} // place in the list by where it begins
	far := map[[2]int]int{}
	x.box("Pieces", row, col, rows, cols, func(s *shard, p Piece) {
		at := [2]int{p.Row, p.Col}
		switch i, known := nearest[at]; {
		case !known:
			nearest[at], far[at] = len(list), distance(s)
			list = append(list, p)
		case distance(s) < far[at]:
			list[i], far[at] = p, distance(s)
		}
	})
	return joined(list)
}

// Copies is Pieces of all copies: what a kernel writes that makes a box of the tensor.
func (x *Tensor) Copies(row, col, rows, cols int) (list []Piece) {
	x.box("Copies", row, col, rows, cols, func(_ *shard, p Piece) { list = append(list, p) })
	return joined(list)
}

// joined makes one piece of those one below the other, or one beside the other in a row,
// that follow each other in the addresses.
func joined(list []Piece) (out []Piece) {
	slices.SortFunc(list, func(a, b Piece) int {
		return cmp.Or(a.Col-b.Col, cmp.Compare(a.Ptr.Addr, b.Ptr.Addr))
	})
	for _, p := range list {
		if n := len(out); n > 0 {
			last := &out[n-1]
			stride, size := last.Ptr.Stride[0], int64(p.Ptr.DType.Size())
			switch {
			case last.Ptr.Stride[1] != p.Ptr.Stride[1]:
			case last.Col == p.Col && last.Cols == p.Cols && last.Row+last.Rows == p.Row && stride == p.Ptr.Stride[0] &&
				last.Ptr.Addr+int64(last.Rows)*stride*size == p.Ptr.Addr:
				last.Rows += p.Rows
				continue
			case last.Row == p.Row && last.Rows == 1 && p.Rows == 1 && last.Col+last.Cols == p.Col &&
				last.Ptr.Addr+int64(last.Cols)*last.Ptr.Stride[1]*size == p.Ptr.Addr:
				last.Cols += p.Cols
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// Layout returns who would hold what of a tensor: its shards, without addresses.
func (r *Rank) Layout(shape Shape, on Placement) (list []Shard) {
	refuse(r.s.Current() == nil, "Layout", "called from a kernel, which has no device of its own")
	for _, s := range on.place(r, "Layout", shape) {
		list = append(list, r.shard(&s))
	}
	return list
}

// shard returns where a shard is and what of the tensor it has.
func (c *Context) shard(s *shard) Shard {
	pe := c.m.PE(s.at)
	return Shard{
		SIP: pe.SIP, Cube: pe.Cube, PE: pe.PE, Start: slices.Clone(s.box.start), Extent: slices.Clone(s.box.extent), Copy: s.copy, Addend: s.addend,
	}
}

// box calls a function for each shard that has some of a box.
func (x *Tensor) box(op string, row, col, rows, cols int, found func(*shard, Piece)) {
	x.usable(op)
	height, width := x.matrix()
	if row < 0 || col < 0 || rows < 0 || cols < 0 || row+rows > height || col+cols > width {
		panic(misuse(op, "rows %d to %d and columns %d to %d of %s", row, row+rows, col, col+cols, x.name))
	}
	for i := range x.shards {
		s := &x.shards[i]
		if s.addend > 0 {
			panic(misuse(op, "%s is partial: each PE has an addend of it: reduce it first", x.name))
		}
		top, left, h, w, ok := s.asMatrix(x.shape)
		if !ok {
			panic(misuse(op, "%s: what PE %d holds, %s, is not a block of rows: place the tensor so that only its first and its last axis are cut", x.name, s.at, s.box.ranges()))
		}
		down, across := s.steps()
		p := Piece{Row: max(row, top), Col: max(col, left)}
		p.Rows, p.Cols = min(row+rows, top+h)-p.Row, min(col+cols, left+w)-p.Col
		if p.Rows <= 0 || p.Cols <= 0 {
			continue
		}
		size := int64(x.dtype.Size())
		p.Ptr = tl.Ptr{Addr: int64(s.va) + (int64(p.Row-top)*down+int64(p.Col-left)*across)*size, DType: x.dtype, Rank: 2}
		p.Ptr.Stride[0], p.Ptr.Stride[1] = down, across
		found(s, p)
	}
}

// matrix returns the rows and columns of a tensor: the last axis is columns, and all axes
// before it are rows.
func (x *Tensor) matrix() (rows, cols int) {
	shape := axes(x.shape)
	last := len(shape) - 1
	return elems(shape[:last]), shape[last]
}

// asMatrix returns what a shard of a tensor of a shape has of the tensor seen as a matrix. It
// reports whether that is a box whose rows follow each other in memory at one distance. It
// allocates nothing: plans of layers ask for many pieces.
func (s *shard) asMatrix(shape Shape) (row, col, rows, cols int, ok bool) {
	start, extent := s.box.start, s.box.extent
	last := len(extent) - 1
	rows, ok = 1, true
	for axis, n := range extent[:last] {
		ok = ok && (rows == 1 || n == shape[axis]) // below a cut axis all is there
		row, rows = row*shape[axis]+start[axis], rows*n
	}
	if s.stride != nil {
		_, even := distance(extent[:last], s.stride[:last])
		ok = ok && even
	}
	return row, start[last], rows, extent[last], ok || s.elems == 0
}

// steps returns the elements from one row to the next, and from one column to the next, of a
// shard seen as a matrix.
func (s *shard) steps() (down, across int64) {
	last := len(s.box.extent) - 1
	down, across = int64(s.box.extent[last]), 1
	if s.stride == nil {
		return down, across
	}
	for axis := last - 1; axis >= 0; axis-- {
		down = int64(s.stride[axis])
		if s.box.extent[axis] > 1 {
			break
		}
	}
	return down, int64(s.stride[last])
}

// PartOn returns where the part of the tensor on a SIP lies, as a kernel reads it: its first
// address, its bytes and its shape. It is ok if that is one row-major block of whole
// rows: the shards there are side by side, of the first copy and the first addend,
// without gaps, and cut along the first axis alone.
func (x *Tensor) PartOn(sip int) (va, bytes int64, shape Shape, ok bool) {
	x.usable("PartOn")
	rows, from := 0, 0 // so many, from this one on
	for _, s := range x.shards {
		if s.elems == 0 || x.rank.m.PE(s.at).SIP != sip {
			continue
		}
		if rows == 0 {
			va, from = int64(s.va), s.box.start[0]
		}
		whole := elems(s.box.extent[1:]) == elems(axes(x.shape)[1:])
		if s.copy != 0 || s.addend != 0 || s.stride != nil || !whole || s.box.start[0] != from+rows || int64(s.va) != va+bytes {
			return 0, 0, nil, false
		}
		rows += s.box.extent[0]
		bytes += int64(s.bytes)
	}
	if rows == 0 {
		return 0, 0, nil, false
	}
	shape = x.Shape()
	if len(shape) > 0 {
		shape[0] = rows
	}
	return va, bytes, shape, true
}
