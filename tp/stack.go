package tp

import (
	"errors"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// stack is a list of tensors that are stacked vertically into one matrix, such as the rows
// of all ranks after an all-gather or before a reduce-scatter.
type stack []*torch.Tensor

// newStack calls `make` for i from 0 to n-1 and returns the n tensors. If one tensor cannot
// be created, it frees the earlier ones.
func newStack(n int, make func(i int) (*torch.Tensor, error)) (s stack, err error) {
	for i := range n {
		x, err := make(i)
		if err != nil {
			return nil, errors.Join(err, s.free())
		}
		s = append(s, x)
	}
	return s, nil
}

// nonNil returns the tensors of a list that are not nil.
func nonNil(list ...*torch.Tensor) stack {
	return slices.DeleteFunc(list, func(x *torch.Tensor) bool { return x == nil })
}

// shape returns the shape of the matrix that the method blocks returns.
func (s stack) shape() torch.Shape {
	rows, cols := s.blocks().extents()
	return torch.Shape{rows, cols}
}

// blocks returns a matrix in which the tensors of the stack are one below another.
func (s stack) blocks() blockMatrix { return tokens.join(s) }

// freeExcept frees all tensors of the stack except x.
func (s stack) freeExcept(x *torch.Tensor) error {
	return slices.DeleteFunc(s, func(y *torch.Tensor) bool { return y == x }).free()
}

// free frees all tensors of the stack.
func (s stack) free() (err error) {
	for _, x := range s {
		err = errors.Join(err, x.Free())
	}
	return err
}

// blockMatrix is a matrix that consists of boxes of tensors.
type blockMatrix []submatrix

// submatrix is a box of a tensor, with its position and size in a block matrix.
type submatrix struct {
	from                 corner
	row, col, rows, cols int
}

// columnsOf returns the n columns of x that begin at column `first`, as a matrix.
func columnsOf(x *torch.Tensor, first, n int) blockMatrix {
	return blockMatrix{{corner{x, 0, first}, 0, 0, rowsOf(x), n}}
}

// extents returns the number of rows and columns of the matrix.
func (m blockMatrix) extents() (rows, cols int) {
	for _, s := range m {
		rows, cols = max(rows, s.row+s.rows), max(cols, s.col+s.cols)
	}
	return rows, cols
}

// tensors returns the tensors that the matrix consists of, each once.
func (m blockMatrix) tensors() (list []*torch.Tensor) {
	for _, s := range m {
		if !slices.Contains(list, s.from.x) {
			list = append(list, s.from.x)
		}
	}
	return list
}

// pieces returns the pieces of memory from which a kernel on PE pe reads a box of the
// matrix.
func (m blockMatrix) pieces(row, col, rows, cols, pe int) []torch.Piece {
	return m.collectPieces(row, col, rows, cols, func(x *torch.Tensor, row, col, rows, cols int) []torch.Piece {
		return x.Pieces(row, col, rows, cols, pe)
	})
}

// copies returns the pieces of memory to which a kernel writes a box of the matrix: all
// copies of the box.
func (m blockMatrix) copies(row, col, rows, cols int) []torch.Piece {
	return m.collectPieces(row, col, rows, cols, (*torch.Tensor).Copies)
}

// collectPieces calls `find` for each submatrix that overlaps the given box, with the
// overlapping part of the submatrix's tensor. It returns all pieces that `find` returned,
// in coordinates of the matrix.
func (m blockMatrix) collectPieces(row, col, rows, cols int, find func(x *torch.Tensor, row, col, rows, cols int) []torch.Piece) (list []torch.Piece) {
	for _, s := range m {
		top, left := max(row, s.row), max(col, s.col)
		h, w := min(row+rows, s.row+s.rows)-top, min(col+cols, s.col+s.cols)-left
		if h <= 0 || w <= 0 {
			continue
		}
		down, right := s.row-s.from.row, s.col-s.from.col
		list = append(list, shift(find(s.from.x, top-down, left-right, h, w), -down, -right)...)
	}
	return list
}

// rowsOf returns the number of rows of a tensor seen as a matrix: s·b for [s, b, h].
func rowsOf(x *torch.Tensor) int { return elems(x.Shape()[:len(x.Shape())-1]) }

// colsOf returns the number of columns of a tensor seen as a matrix: h for [s, b, h].
func colsOf(x *torch.Tensor) int { return x.Shape()[len(x.Shape())-1] }

func elems(extents []int) int {
	n := 1
	for _, k := range extents {
		n *= k
	}
	return n
}

// resize returns a copy of shape in which the first and the last axis have the given
// extents.
func resize(shape torch.Shape, first, last int) torch.Shape {
	shape = slices.Clone(shape)
	shape[0], shape[len(shape)-1] = first, last
	return shape
}

// jobs holds the jobs of one launch. Each PE runs its own list of jobs in order.
type jobs[T interface{ run(t *tl.PE) }] struct {
	pes  []int
	byPE map[int][]T
}

// add appends jobs to the list of a PE.
func (j *jobs[T]) add(pe int, list ...T) {
	if j.byPE == nil {
		j.byPE = map[int][]T{}
	}
	if _, known := j.byPE[pe]; !known {
		j.pes = append(j.pes, pe)
	}
	j.byPE[pe] = append(j.byPE[pe], list...)
}

// launch runs the jobs on their PEs, in one launch that uses the given tensors. It does
// nothing if there are no jobs.
func (j *jobs[T]) launch(r *torch.Rank, name string, using ...*torch.Tensor) error {
	if len(j.pes) == 0 {
		return nil
	}
	_, err := r.Launch(name, func(t *tl.PE) {
		for _, job := range j.byPE[j.pes[t.Rank()]] {
			job.run(t)
		}
	}, torch.PEs(j.pes...), torch.Using(using...))
	return err
}

// convert returns tile x converted to dtype. It returns x itself if x already has this
// dtype.
func convert(x tl.Tile, dtype torch.DType) tl.Tile {
	if x.DType() == dtype {
		return x
	}
	return x.To(dtype)
}
