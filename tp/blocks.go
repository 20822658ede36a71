package tp

import (
	"slices"

	"github.com/kernbench/kernbench/torch"
)

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

func (m blockMatrix) rows() (n int) {
	for _, s := range m {
		n = max(n, s.row+s.rows)
	}
	return n
}

func (m blockMatrix) cols() (n int) {
	for _, s := range m {
		n = max(n, s.col+s.cols)
	}
	return n
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
		for _, p := range of(s.from.x, top-down, left-right, h, w) {
			p.Row, p.Col = p.Row+down, p.Col+right
			list = append(list, p)
		}
	}
	return list
}
