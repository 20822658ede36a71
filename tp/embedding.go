package tp

import (
	"errors"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// VocabParallelEmbedding is a table with a row for each token of a vocabulary. It is
// divided by rows: each rank of the tensor parallel group has the rows of some tokens.
type VocabParallelEmbedding struct {
	Name   string
	Weight *torch.Tensor // vocab/tp × hidden

	// WeightGrad is the sum of the gradients that Backward has computed since the layer was
	// created or since ZeroGrad. Its dtype is Options.GradDType. There is only one copy:
	// PEs with the same columns of Weight hold different rows of WeightGrad. It
	// is nil before the first Backward. The layer frees it.
	WeightGrad *torch.Tensor

	rank          *torch.Rank
	group         *dist.Group
	o             Options
	vocab, hidden int // rows and columns of the whole table
	first         int // first token of the rank
}

// NewVocabParallelEmbedding creates the calling rank's part of a table of embeddings. All
// elements are zero. The size of the vocabulary must be a multiple of the size of the
// group; pad it if needed. The options DType, GradDType, SequenceParallel, Weight and
// Output are used.
func NewVocabParallelEmbedding(r *torch.Rank, name string, vocab, hidden int, o Options) (*VocabParallelEmbedding, error) {
	who := "VocabParallelEmbedding " + name
	g := groupFor(who, r, Tensor)
	if err := o.checkNonLinear(); err != nil {
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

// VocabStartIndex returns the id of the first token whose row the rank has.
func (e *VocabParallelEmbedding) VocabStartIndex() int { return e.first }

// VocabEndIndex returns 1 more than the id of the last token whose row the rank has.
func (e *VocabParallelEmbedding) VocabEndIndex() int { return e.first + e.Weight.Shape()[0] }

// Free frees the table and its gradient.
func (e *VocabParallelEmbedding) Free() error { return errors.Join(e.Weight.Free(), e.ZeroGrad()) }

// Forward returns the table rows of the given ids as a new tensor. Every rank gets all of
// these rows or, with SequenceParallel, only the rank's share of the rows. All ranks must
// pass the same ids; this is not checked.
//
// The ids are on the host. Kernels therefore read only rows of the table, and also run with
// --data=off, without values.
//
// The rows have the same bits as in the table. The ranks add their rows. A rank adds -0 for
// a token whose row is in another rank's part of the table, because adding 0 would turn a
// -0 of the table into 0.
func (e *VocabParallelEmbedding) Forward(ids []int) (*torch.Tensor, error) {
	rows, err := e.resultRows(ids)
	if err != nil {
		return nil, err
	}
	y, err := e.rank.Empty(e.o.dtype(), torch.Shape{rows, e.hidden}, e.o.output())
	if err == nil {
		err = fillAndReduce(e.rank, e.group, y, e.o.SequenceParallel, func(addend stack) error { return e.lookUp(addend, ids) })
	}
	return wrapResult(e.Name, y, err)
}

// resultRows returns the number of rows of the rank's part of the result for the given ids.
// It returns an error if an id is not in the vocabulary or if, with SequenceParallel, the
// ids cannot be divided evenly over the ranks.
func (e *VocabParallelEmbedding) resultRows(ids []int) (int, error) {
	requireSameGroup(e.Name, e.rank, e.group)
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

// lookupJob is the work of one PE for a range of columns: it copies rows of the table to
// the result. from is nil for rows of other ranks.
type lookupJob struct {
	cols int
	to   []tl.Ptr
	from []*tl.Ptr
}

// lookUp copies the table rows of ids to the tensors of `parts`, which are stacked
// vertically. For ids whose rows another rank has, it fills the rows with -0. Each PE fills
// the shards that it holds.
func (e *VocabParallelEmbedding) lookUp(parts stack, ids []int) error {
	var work jobs[*lookupJob]
	maxCols := tcmBytes(e.rank) / copyTilesInTCM / e.o.dtype().Size()
	for i, y := range parts {
		for _, s := range y.Shards() {
			b := boxOf(e.rank, s)
			if b.rows*b.cols == 0 {
				continue
			}
			own := y.Pieces(b.row, b.col, b.rows, b.cols, b.pe)[0].Ptr
			table := e.Weight.Pieces(0, b.col, rowsOf(e.Weight), b.cols, b.pe)
			_, cols := starts(table)
			for _, n := range splitRanges(append(cols, b.col, b.col+b.cols), maxCols) {
				l := &lookupJob{cols: n.n}
				for k := range b.rows {
					var from *tl.Ptr
					if found := piecesAt(table, ids[i*rowsOf(y)+b.row+k]-e.first, n.from); found != nil {
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

func (l *lookupJob) run(t *tl.PE) {
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

// Backward adds the gradient of the table to WeightGrad. `ids` are the tokens that were
// passed to Forward, and `dy` is the gradient of Forward's result. Each row of `dy` belongs
// to one of the ids. For each token whose row of the table the rank has, Backward adds all
// rows of `dy` that belong to this token to the token's row of WeightGrad. It adds in f32
// and rounds once. Rows of tokens that do not occur in `ids` do not change. With
// SequenceParallel, `dy` has only the rank's rows, and the ranks gather all rows first.
func (e *VocabParallelEmbedding) Backward(ids []int, dy *torch.Tensor) error {
	rows, err := e.resultRows(ids)
	if err != nil {
		return err
	}
	if len(dy.Shape()) < 2 || rowsOf(dy) != rows || colsOf(dy) != e.hidden || dy.DType() != e.o.dtype() {
		return fmt.Errorf("%s: gradient %v %v: want that of the result, [%d %d] %v", e.Name, dy.DType(), dy.Shape(), rows, e.hidden, e.o.dtype())
	}
	all := stack{dy}
	if e.o.SequenceParallel && e.group.Size() > 1 {
		all, err = allGather(e.rank, e.group, dy)
	}
	if err == nil && e.WeightGrad == nil {
		e.WeightGrad, err = e.rank.Zeros(e.o.gradDType(), e.Weight.Shape(), e.o.grid())
	}
	if err == nil {
		err = e.accumulate(all, ids)
	}
	if err = errors.Join(err, all.freeExcept(dy)); err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	return nil
}

// ZeroGrad frees the gradient: WeightGrad is nil until the next Backward.
func (e *VocabParallelEmbedding) ZeroGrad() error {
	list := nonNil(e.WeightGrad)
	e.WeightGrad = nil
	return list.free()
}

// rowSum is the work of one PE for one row of the gradient: it adds rows of dy to the row,
// in a range of columns.
type rowSum struct {
	cols int
	to   tl.Ptr
	from []tl.Ptr
}

// accumulate adds row i of dy to the row of WeightGrad for the token ids[i], for each i
// whose token the rank has. Each PE updates the shards that it holds.
func (e *VocabParallelEmbedding) accumulate(dy stack, ids []int) error {
	positions := map[int][]int{} // by row of the rank's table
	for i, id := range ids {
		positions[id-e.first] = append(positions[id-e.first], i)
	}
	var work jobs[*rowSum]
	maxCols := tcmBytes(e.rank) / copyTilesInTCM / torch.F32.Size()
	for _, s := range e.WeightGrad.Shards() {
		b := boxOf(e.rank, s)
		if b.rows*b.cols == 0 {
			continue
		}
		own := e.WeightGrad.Pieces(b.row, b.col, b.rows, b.cols, b.pe)[0].Ptr
		from := dy.blocks().pieces(0, b.col, len(ids), b.cols, b.pe)
		_, cols := starts(from)
		for _, n := range splitRanges(append(cols, b.col, b.col+b.cols), maxCols) {
			for row := range b.rows {
				sum := &rowSum{cols: n.n, to: own.At(row, n.from-b.col)}
				for _, i := range positions[b.row+row] {
					sum.from = append(sum.from, piecesAt(from, i, n.from)[0].Ptr)
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
	load := func(from tl.Ptr) tl.Tile { return convert(t.Load(from, tl.Shape{1, r.cols}, from.DType), work) }
	sum := load(r.to)
	for _, from := range r.from {
		sum = sum.Add(load(from))
	}
	t.Store(r.to, convert(sum, r.to.DType))
}
