package tp

import (
	"errors"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// VocabParallelEmbedding is a table of a row for each token of a vocabulary, which is cut
// by rows: each rank of the tensor parallel group has the rows of some tokens.
type VocabParallelEmbedding struct {
	Name   string
	Weight *torch.Tensor // vocab/tp × hidden

	// WeightGrad is the sum of the gradients that Backward has computed since the layer was
	// made, or since ZeroGrad, of Options.GradDType. There is one copy of it: where PEs share
	// columns of Weight they have rows of its gradient. It is nil before the first Backward,
	// and the layer's to free.
	WeightGrad *torch.Tensor

	rank          *torch.Rank
	group         *dist.Group
	o             Options
	vocab, hidden int // of the whole table
	first         int // token of the rank
}

// NewVocabParallelEmbedding makes the calling rank's part of a table, all zero. The
// vocabulary has to divide by the size of the group: pad it. Of the options it uses
// DType, GradDType, SequenceParallel, Weight and Output.
func NewVocabParallelEmbedding(r *torch.Rank, name string, vocab, hidden int, o Options) (*VocabParallelEmbedding, error) {
	who := "VocabParallelEmbedding " + name
	g := groupFor(who, r, Tensor)
	if err := o.checkOther(); err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	if hidden < 1 {
		return nil, fmt.Errorf("%s: %d hidden features: there has to be one", who, hidden)
	}
	mine, err := divide(who, "tokens of the vocabulary", vocab, g.Size())
	if err != nil {
		return nil, err
	}
	e := &VocabParallelEmbedding{Name: who, rank: r, group: g, o: o, vocab: vocab, hidden: hidden, first: g.Rank() * mine}
	if e.Weight, err = r.Zeros(o.dtype(), torch.Shape{mine, hidden}, o.weight()); err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	return e, nil
}

// Load copies the rank's part of the whole table, vocab × hidden in row-major order, to
// the device.
func (e *VocabParallelEmbedding) Load(weight []float32) error {
	if len(weight) != e.vocab*e.hidden {
		return fmt.Errorf("%s: a weight of %d elements, and the table has %d × %d", e.Name, len(weight), e.vocab, e.hidden)
	}
	return e.Weight.CopyFrom(weight[e.first*e.hidden:][:e.Weight.Numel()])
}

// NumEmbeddings returns the number of rows of the whole table, the size of the vocabulary.
func (e *VocabParallelEmbedding) NumEmbeddings() int { return e.vocab }

// EmbeddingDim returns the number of columns of the table.
func (e *VocabParallelEmbedding) EmbeddingDim() int { return e.hidden }

// VocabStartIndex returns the first token whose row the rank has.
func (e *VocabParallelEmbedding) VocabStartIndex() int { return e.first }

// VocabEndIndex returns the token after the last whose row the rank has.
func (e *VocabParallelEmbedding) VocabEndIndex() int { return e.first + e.Weight.Shape()[0] }

// Free gives the memory of the table and of its gradient back.
func (e *VocabParallelEmbedding) Free() error { return errors.Join(e.Weight.Free(), e.ZeroGrad()) }

// Forward returns the rows of the tokens that ids name: a new tensor of all of them on every
// rank or, with SequenceParallel, of the rank's share. All ranks have to give the same ids,
// which is not checked.
//
// The ids are the host's: kernels then read the rows of the table and nothing else, need
// no values to know which, and run with --data=off too.
//
// The rows are the table's, bit for bit. A rank that does not have a token adds -0, and
// not 0, which would make 0 of a -0 in the table.
func (e *VocabParallelEmbedding) Forward(ids []int) (*torch.Tensor, error) {
	rows, err := e.rows(ids)
	if err != nil {
		return nil, err
	}
	y, err := e.rank.Empty(e.o.dtype(), torch.Shape{rows, e.hidden}, e.o.output())
	if err == nil {
		err = addUp(e.rank, e.group, y, e.o.SequenceParallel, func(addend stack) error { return e.lookUp(addend, ids) })
	}
	return result(e.Name, y, err)
}

// rows returns how many rows of the result the rank has. It refuses ids that are not in the
// vocabulary.
func (e *VocabParallelEmbedding) rows(ids []int) (int, error) {
	sameGroup(e.Name, e.rank, e.group)
	for i, id := range ids {
		if id < 0 || id >= e.vocab {
			return 0, fmt.Errorf("%s: id %d at position %d: the vocabulary has 0 to %d", e.Name, id, i, e.vocab-1)
		}
	}
	if e.o.SequenceParallel && e.group.Size() > 1 {
		return divide(e.Name, "tokens", len(ids), e.group.Size())
	}
	return len(ids), nil
}

// lookup is some columns of the rows that a PE fills: where they are, and where in the
// table, nil for those of other ranks.
type lookup struct {
	cols int
	to   []tl.Ptr
	from []*tl.Ptr
}

// lookUp fills tensors one below the other: each PE what it holds of them.
func (e *VocabParallelEmbedding) lookUp(parts stack, ids []int) error {
	var work jobs[*lookup]
	room := tcm(e.rank) / tilesOfTCM / e.o.dtype().Size()
	for i, y := range parts {
		for _, s := range y.Shards() {
			b := boxOf(e.rank, s)
			if b.rows*b.cols == 0 {
				continue
			}
			own := y.Pieces(b.row, b.col, b.rows, b.cols, b.pe)[0].Ptr
			table := e.Weight.Pieces(0, b.col, rowsOf(e.Weight), b.cols, b.pe)
			_, cols := starts(table)
			for _, n := range ranges(append(cols, b.col, b.col+b.cols), room) {
				l := &lookup{cols: n.n}
				for k := range b.rows {
					var from *tl.Ptr
					if found := at(table, ids[i*rowsOf(y)+b.row+k]-e.first, n.from); found != nil {
						from = &found[0].Ptr
					}
					l.to, l.from = append(l.to, own.At(k, n.from-b.col)), append(l.from, from)
				}
				work.add(b.pe, l)
			}
		}
	}
	return work.launch(e.rank, e.Name, append(stack{e.Weight}, parts...)...)
}

func (l *lookup) run(t *tl.PE) {
	shape, dtype := tl.Shape{1, l.cols}, l.to[0].DType
	nothing := t.Full(shape, dtype, math.Copysign(0, -1)).Pin()
	for i, to := range l.to {
		if from := l.from[i]; from != nil {
			t.Store(to, t.Load(*from, shape, dtype))
		} else {
			t.Store(to, nothing)
		}
	}
	nothing.Free()
}

// Backward adds the gradient of the table to WeightGrad, given the ids of Forward and the
// gradient of what it made of them: to the row of each token of the rank the rows of dy at
// the positions of its id, in f32 and rounded once. Rows of other tokens get nothing. With
// SequenceParallel dy is the rank's rows, which the ranks gather first.
func (e *VocabParallelEmbedding) Backward(ids []int, dy *torch.Tensor) error {
	rows, err := e.rows(ids)
	if err != nil {
		return err
	}
	if len(dy.Shape()) < 2 || rowsOf(dy) != rows || colsOf(dy) != e.hidden || dy.DType() != e.o.dtype() {
		return fmt.Errorf("%s: gradient %v %v: want that of the result, [%d %d] %v", e.Name, dy.DType(), dy.Shape(), rows, e.hidden, e.o.dtype())
	}
	all := stack{dy}
	if e.o.SequenceParallel && e.group.Size() > 1 {
		all, err = gatheredRows(e.rank, e.group, dy)
	}
	if err == nil && e.WeightGrad == nil {
		e.WeightGrad, err = e.rank.Zeros(e.o.gradDType(), e.Weight.Shape(), e.o.grid())
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
	room := tcm(e.rank) / tilesOfTCM / torch.F32.Size()
	for _, s := range e.WeightGrad.Shards() {
		b := boxOf(e.rank, s)
		if b.rows*b.cols == 0 {
			continue
		}
		own := e.WeightGrad.Pieces(b.row, b.col, b.rows, b.cols, b.pe)[0].Ptr
		from := dy.blocks().pieces(0, b.col, len(ids), b.cols, b.pe)
		_, cols := starts(from)
		for _, n := range ranges(append(cols, b.col, b.col+b.cols), room) {
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
	return work.launch(e.rank, e.Name+" weight gradient", append(stack{e.WeightGrad}, dy...)...)
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
