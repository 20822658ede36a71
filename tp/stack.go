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
