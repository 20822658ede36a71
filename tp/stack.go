package tp

import (
	"errors"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// stack is tensors one below the other, seen as one matrix: what ranks have gathered of
// each other's rows, or are to be given of them.
type stack []*torch.Tensor

// newStack makes n tensors. If one cannot be made, those before it are freed.
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

// present returns those of some tensors that are not nil.
func present(list ...*torch.Tensor) stack {
	return slices.DeleteFunc(list, func(x *torch.Tensor) bool { return x == nil })
}

// shape returns the shape of the matrix.
func (s stack) shape() torch.Shape {
	rows, cols := s.blocks().extents()
	return torch.Shape{rows, cols}
}

// blocks returns the stack as a block matrix.
func (s stack) blocks() blockMatrix { return tokens.join(s) }

// freeBut frees all of them but x.
func (s stack) freeBut(x *torch.Tensor) error {
	return slices.DeleteFunc(s, func(y *torch.Tensor) bool { return y == x }).free()
}

// free frees all of them.
func (s stack) free() (err error) {
	for _, x := range s {
		err = errors.Join(err, x.Free())
	}
	return err
}

// blockMatrix is a matrix that is made of boxes of tensors.
type blockMatrix []submatrix

// submatrix is a box of a tensor at a place in a block matrix.
type submatrix struct {
	from                 corner
	row, col, rows, cols int
}

// columnsOf returns some columns of a tensor as a block matrix.
func columnsOf(x *torch.Tensor, first, n int) blockMatrix {
	return blockMatrix{{corner{x, 0, first}, 0, 0, rowsOf(x), n}}
}

// extents returns the rows and columns of the matrix.
func (m blockMatrix) extents() (rows, cols int) {
	for _, s := range m {
		rows, cols = max(rows, s.row+s.rows), max(cols, s.col+s.cols)
	}
	return rows, cols
}

// tensors returns the tensors of the matrix, each once.
func (m blockMatrix) tensors() (list []*torch.Tensor) {
	for _, s := range m {
		if !slices.Contains(list, s.from.x) {
			list = append(list, s.from.x)
		}
	}
	return list
}

// pieces returns where a kernel on a PE reads a box.
func (m blockMatrix) pieces(row, col, rows, cols, pe int) []torch.Piece {
	return m.each(row, col, rows, cols, func(x *torch.Tensor, row, col, rows, cols int) []torch.Piece {
		return x.Pieces(row, col, rows, cols, pe)
	})
}

// copies returns where a kernel writes a box.
func (m blockMatrix) copies(row, col, rows, cols int) []torch.Piece {
	return m.each(row, col, rows, cols, (*torch.Tensor).Copies)
}

// each returns the pieces of a box, tensor by tensor.
func (m blockMatrix) each(row, col, rows, cols int, of func(x *torch.Tensor, row, col, rows, cols int) []torch.Piece) (list []torch.Piece) {
	for _, s := range m {
		top, left := max(row, s.row), max(col, s.col)
		h, w := min(row+rows, s.row+s.rows)-top, min(col+cols, s.col+s.cols)-left
		if h <= 0 || w <= 0 {
			continue
		}
		down, right := s.row-s.from.row, s.col-s.from.col
		list = append(list, shifted(of(s.from.x, top-down, left-right, h, w), -down, -right)...)
	}
	return list
}

// rowsOf returns the rows of a tensor seen as a matrix: s·b of [s, b, h].
func rowsOf(x *torch.Tensor) int { return elems(x.Shape()[:len(x.Shape())-1]) }

// colsOf returns the columns of a tensor seen as a matrix: h of [s, b, h].
func colsOf(x *torch.Tensor) int { return x.Shape()[len(x.Shape())-1] }

func elems(extents []int) int {
	n := 1
	for _, k := range extents {
		n *= k
	}
	return n
}

// resized returns a shape with other extents of its first and its last axis.
func resized(shape torch.Shape, first, last int) torch.Shape {
	shape = slices.Clone(shape)
	shape[0], shape[len(shape)-1] = first, last
	return shape
}

// jobs is what the PEs of a launch do, each its own list in order.
type jobs[T interface{ run(t *tl.PE) }] struct {
	pes []int
	of  map[int][]T // by PE
}

// add gives a PE more to do.
func (j *jobs[T]) add(pe int, list ...T) {
	if j.of == nil {
		j.of = map[int][]T{}
	}
	if _, known := j.of[pe]; !known {
		j.pes = append(j.pes, pe)
	}
	j.of[pe] = append(j.of[pe], list...)
}

// launch runs the jobs on their PEs, if there are any.
func (j *jobs[T]) launch(r *torch.Rank, name string, using ...*torch.Tensor) error {
	if len(j.pes) == 0 {
		return nil
	}
	_, err := r.Launch(name, func(t *tl.PE) {
		for _, job := range j.of[j.pes[t.Rank()]] {
			job.run(t)
		}
	}, torch.PEs(j.pes...), torch.Using(using...))
	return err
}

// as returns a tile in a dtype.
func as(x tl.Tile, dtype torch.DType) tl.Tile {
	if x.DType() == dtype {
		return x
	}
	return x.To(dtype)
}
