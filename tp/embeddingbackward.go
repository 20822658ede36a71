package tp

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// Backward adds the gradient of the table to WeightGrad, given the ids of Forward and the
// gradient of what it made of them: to the row of each token of the rank the rows of dy at
// the positions of its id, in f32 and rounded once. Rows of other tokens get nothing. With
// SequenceParallel dy is the rank's rows, which the ranks gather first.
func (e *VocabParallelEmbedding) Backward(ids []int, dy *torch.Tensor) error {
	s := sameGroups(e.ctx, e.Name, e.group)
	rows, err := e.rows(s, ids)
	if err != nil {
		return err
	}
	if len(dy.Shape()) < 2 || rowsOf(dy) != rows || colsOf(dy) != e.hidden || dy.DType() != e.o.dtype() {
		return fmt.Errorf("%s: gradient %v %v: want that of the result, [%d %d] %v", e.Name, dy.DType(), dy.Shape(), rows, e.hidden, e.o.dtype())
	}
	all := stack{dy}
	if e.o.SequenceParallel && s.tensorSize() > 1 {
		all, err = gatheredRows(e.ctx, s, dy)
	}
	if err == nil && e.WeightGrad == nil {
		e.WeightGrad, err = e.ctx.Zeros(e.o.gradDType(), e.Weight.Shape(), gridOf(e.o.weight()))
	}
	if err == nil {
		err = e.accumulate(all, ids)
	}
	if err = errors.Join(err, all.freeBut(dy)); err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	return nil
}

// ZeroGrad frees the gradient: WeightGrad is nil until the next Backward.
func (e *VocabParallelEmbedding) ZeroGrad() error {
	list := present(e.WeightGrad)
	e.WeightGrad = nil
	return list.free()
}

// rowSum is some columns of a row of the gradient, and the rows of dy that are added to
// them.
type rowSum struct {
	cols int
	to   tl.Ptr
	from []tl.Ptr
}

// accumulate adds the rows of dy to the gradient: each PE to what it holds of it.
func (e *VocabParallelEmbedding) accumulate(dy stack, ids []int) error {
	positions := map[int][]int{} // by row of the rank's table
	for i, id := range ids {
		positions[id-e.first] = append(positions[id-e.first], i)
	}
	var work jobs[*rowSum]
	room := tcm(e.ctx) / tilesOfTCM / torch.F32.Size()
	for _, s := range e.WeightGrad.Shards() {
		b := boxOf(e.ctx, s)
		if b.rows*b.cols == 0 {
			continue
		}
		own := e.WeightGrad.Pieces(b.row, b.col, b.rows, b.cols, b.pe)[0].Ptr
		from := dy.blocks().pieces(0, b.col, len(ids), b.cols, b.pe)
		for _, n := range ranges(append(firstCols(from), b.col, b.col+b.cols), room) {
			for row := range b.rows {
				sum := &rowSum{cols: n.n, to: own.At(row, n.from-b.col)}
				for _, i := range positions[b.row+row] {
					sum.from = append(sum.from, at(from, i, n.from)[0].Ptr)
				}
				if sum.from != nil {
					work.add(b.pe, sum)
				}
			}
		}
	}
	return work.launch(e.ctx, e.Name+" weight gradient", append(stack{e.WeightGrad}, dy...)...)
}

func (r *rowSum) run(t *tl.PE) {
	work := torch.F32
	if r.from[0].DType == torch.F64 {
		work = torch.F64
	}
	load := func(from tl.Ptr) tl.Tile { return as(t.Load(from, tl.Shape{1, r.cols}, from.DType), work) }
	sum := load(r.to)
	for _, from := range r.from {
		sum = sum.Add(load(from))
	}
	t.Store(r.to, as(sum, r.to.DType))
}
