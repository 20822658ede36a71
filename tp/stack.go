package tp

import (
	"slices"

	"github.com/kernbench/kernbench/torch"
)

// stack is tensors one below the other, seen as one matrix: what ranks have gathered of
// each other's rows, or are to be given of them.
type stack []*torch.Tensor

// present returns those of some tensors that are not nil.
func present(list ...*torch.Tensor) stack {
	return slices.DeleteFunc(list, func(x *torch.Tensor) bool { return x == nil })
}

// shape returns the shape of the matrix.
func (s stack) shape() torch.Shape { return torch.Shape{s.blocks().rows(), colsOf(s[0])} }

// blocks returns the stack as a block matrix.
func (s stack) blocks() (m blockMatrix) {
	top := 0
	for _, x := range s {
		m = append(m, submatrix{corner{x, 0, 0}, top, 0, rowsOf(x), colsOf(x)})
		top += rowsOf(x)
	}
	return m
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
