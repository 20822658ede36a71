package tp

import (
	"github.com/kernbench/kernbench/torch"
)

// stack is tensors one below the other, seen as one matrix: what ranks have gathered of
// each other's rows, or are to be given of them.
type stack []*torch.Tensor

func (s stack) rows() (n int) {
	for _, x := range s {
		n += x.Shape()[0]
	}
	return n
}

func (s stack) cols() int { return s[0].Shape()[1] }

// pieces is where a kernel on a PE reads a box.
func (s stack) pieces(row, col, rows, cols, pe int) []torch.Piece {
	return s.each(row, rows, func(x *torch.Tensor, row, rows int) []torch.Piece {
		return x.Pieces(row, col, rows, cols, pe)
	})
}

// copies is where a kernel writes a box.
func (s stack) copies(row, col, rows, cols int) []torch.Piece {
	return s.each(row, rows, func(x *torch.Tensor, row, rows int) []torch.Piece {
		return x.Copies(row, col, rows, cols)
	})
}

// each is the pieces of some rows, tensor by tensor.
func (s stack) each(row, rows int, of func(x *torch.Tensor, row, rows int) []torch.Piece) (list []torch.Piece) {
	top := 0
	for _, x := range s {
		height := x.Shape()[0]
		from, to := max(row, top), min(row+rows, top+height)
		if from < to {
			for _, p := range of(x, from-top, to-from) {
				p.Row += top
				list = append(list, p)
			}
		}
		top += height
	}
	return list
}
