package torch

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// Piece is a part of a box of a matrix that a kernel can read or write with one operation:
// rows at a constant distance in memory, on one PE or on several PEs with consecutive
// addresses.
type Piece struct {
	Row, Col   int // the position of the first element in the tensor
	Rows, Cols int
	Ptr        tl.Ptr // points to the first element
}

// Pieces divides a box of the tensor into pieces, ordered by columns and then by rows. The
// box starts at (row, col) and has `rows` rows and `cols` columns. With the pieces, a
// kernel on PE pe reads parts of a tensor that other PEs hold. A vector counts as one row.
// A tensor of more axes counts as a matrix whose columns are the last axis: [s, b, h] is
// s·b rows of h.
//
// In a replicated tensor, Pieces takes the copy nearest to pe: on pe itself, else in its
// cube, else in its SIP, else any. A partial tensor has no pieces and must be reduced
// first.
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
	nearest := map[[2]int]int{} // from the position of a piece to its index in list
	far := map[[2]int]int{}     // from the position of a piece to the distance of its nearest copy so far
	x.forEachPiece("Pieces", row, col, rows, cols, func(s *shard, p Piece) {
		at := [2]int{p.Row, p.Col}
		switch i, known := nearest[at]; {
		case !known:
			nearest[at], far[at] = len(list), distance(s)
			list = append(list, p)
		case distance(s) < far[at]:
			list[i], far[at] = p, distance(s)
		}
	})
	return joinPieces(list)
}

// Copies divides a box into pieces. In contrast to Pieces, it returns the pieces of all
// copies of the tensor, not of one copy. A kernel that computes the box writes each of
// these pieces.
func (x *Tensor) Copies(row, col, rows, cols int) (list []Piece) {
	x.forEachPiece("Copies", row, col, rows, cols, func(_ *shard, p Piece) { list = append(list, p) })
	return joinPieces(list)
}

// joinPieces merges pieces in `list` whose addresses are consecutive, and returns the new
// list. It merges two pieces if one is directly below the other, or if both are parts of
// the same row.
func joinPieces(list []Piece) (out []Piece) {
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

// Layout returns the shards that a tensor with this shape and placement would have. The
// shards have no addresses.
func (r *Rank) Layout(shape Shape, on Placement) (list []Shard) {
	refuse(r.s.Current() == nil, "Layout", "called from a kernel, which has no device of its own")
	for _, s := range on.place(r, "Layout", shape) {
		list = append(list, r.shard(&s))
	}
	return list
}

// shard returns the PE, the box, the copy and the addend of s. It sets no address and no
// size.
func (c *Context) shard(s *shard) Shard {
	pe := c.m.PE(s.at)
	return Shard{
		SIP: pe.SIP, Cube: pe.Cube, PE: pe.PE, Start: slices.Clone(s.box.start), Extent: slices.Clone(s.box.extent), Copy: s.copy, Addend: s.addend,
	}
}

// forEachPiece treats the tensor as a matrix; see matrix. The arguments row, col, rows and
// cols describe a box of the matrix: its first row and column, and its size. forEachPiece
// calls `found` for each shard that holds a part of the box, with the shard and that part.
// It panics if the box is not inside the matrix, if the tensor is partial, or if a shard is
// not a box of the matrix; see asMatrix. op is the name of the calling function, for errors.
func (x *Tensor) forEachPiece(op string, row, col, rows, cols int, found func(*shard, Piece)) {
	x.checkUsable(op)
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
		down, across := s.matrixStrides()
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

// matrix returns the number of rows and columns of the tensor as a matrix: the last axis
// becomes the columns, and all axes before it together become the rows.
func (x *Tensor) matrix() (rows, cols int) {
	shape := axes(x.shape)
	last := len(shape) - 1
	return elems(shape[:last]), shape[last]
}

// asMatrix returns the position and size of the shard in its tensor, which has the given
// shape and is treated as a matrix. ok reports whether the shard is a box of the matrix
// whose rows are at a constant distance in memory. asMatrix does not allocate memory,
// because it is called for a very large number of pieces.
func (s *shard) asMatrix(shape Shape) (row, col, rows, cols int, ok bool) {
	start, extent := s.box.start, s.box.extent
	last := len(extent) - 1
	rows, ok = 1, true
	for axis, n := range extent[:last] {
		ok = ok && (rows == 1 || n == shape[axis]) // all axes after a divided axis must be complete
		row, rows = row*shape[axis]+start[axis], rows*n
	}
	if s.stride != nil {
		_, even := commonStride(extent[:last], s.stride[:last])
		ok = ok && even
	}
	return row, start[last], rows, extent[last], ok || s.elems == 0
}

// matrixStrides treats the shard as a matrix. It returns the distance between neighbouring
// rows (down) and the distance between neighbouring columns (across), in elements.
func (s *shard) matrixStrides() (down, across int64) {
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

// PartOn returns the part of the tensor on a SIP as a kernel reads it: its first address,
// its size in bytes and its shape. ok reports whether this part is one row-major block of
// whole rows. That is so if the shards on the SIP have consecutive addresses, belong to the
// first copy and the first addend, have no gaps, and are cut only along the first axis.
func (x *Tensor) PartOn(sip int) (va, bytes int64, shape Shape, ok bool) {
	x.checkUsable("PartOn")
	rows, from := 0, 0 // number of rows so far, and the first row
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
