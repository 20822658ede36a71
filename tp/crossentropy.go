package tp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// CrossEntropy is the loss of predictions of tokens, and what its gradient needs.
type CrossEntropy struct {
	Loss *torch.Tensor // tokens × 1 in f32, the same on all ranks of the group

	group     *dist.Group
	rows      *rowwise
	kept      *partials // by row: the largest logit, and one over the sum of exponentials
	targets   []int     // of the rows
	first     int       // token of the rank
	smoothing float64
	vocab     int
}

// element is a place in a share.
type element struct{ row, col int }

// Kinds of partials: what ranks have added up, and what is kept of it.
const (
	sumExps, sumTargets, sumLogits = 0, 1, 2
	keptMax, keptInverse           = 0, 1
)

// VocabParallelCrossEntropy computes log Σ exp(x) - x[target] of each row x of logits, of which
// each rank of the tensor parallel group has some columns, those of its tokens of the
// vocabulary: tokens × vocab/tp, or [s, b, vocab/tp], whose tokens are s·b. It is computed in
// f32. Targets are the host's, the same on all ranks, as ids of an embedding are.
//
// Label smoothing takes labelSmoothing of the target's probability, and gives it to all
// other tokens alike. Megatron's code does so within each rank's part of the vocabulary,
// so that ranks have different losses; here it is the whole vocabulary. With one rank both
// are the same.
//
// The logits stay as they are, and Backward reads them again. The result is the caller's
// to free.
func VocabParallelCrossEntropy(r *torch.Rank, logits *torch.Tensor, targets []int, labelSmoothing float64) (*CrossEntropy, error) {
	const who = "VocabParallelCrossEntropy"
	g := groupFor(who, r, Tensor)
	shape := logits.Shape()
	if len(shape) < 2 || rowsOf(logits) != len(targets) || len(targets)*colsOf(logits) == 0 {
		return nil, fmt.Errorf("%s: logits of shape %v for %d targets: want [tokens vocab/tp], with a target for each token", who, shape, len(targets))
	}
	vocab := colsOf(logits) * g.Size()
	if !(labelSmoothing >= 0 && labelSmoothing < 1) || labelSmoothing > 0 && vocab == 1 {
		return nil, fmt.Errorf("%s: label smoothing of %v with a vocabulary of %d: want 0 to less than 1, and a second token to smooth to", who, labelSmoothing, vocab)
	}
	for i, id := range targets {
		if id < 0 || id >= vocab {
			return nil, fmt.Errorf("%s: target %d at position %d: the vocabulary has 0 to %d", who, id, i, vocab-1)
		}
	}
	c := &CrossEntropy{group: g, rows: newRowwise(r, who, logits), targets: slices.Clone(targets), first: g.Rank() * colsOf(logits), vocab: vocab}
	if labelSmoothing > 0 {
		c.smoothing = labelSmoothing * float64(vocab) / float64(vocab-1)
	}
	if err := c.forward(); err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	return c, nil
}

// forward makes the loss. Ranks reduce partials, share by share, before these are taken
// together: many PEs then have a little to send, and not a few of them all of it.
func (c *CrossEntropy) forward() (err error) {
	var made [3]*partials // what is kept, the maxima, the sums
	var tensors stack
	kinds := [...]int{2, 1, 2}
	if c.smoothing > 0 {
		kinds[2] = 3
	}
	for i := range made {
		if made[i], err = c.rows.partials(kinds[i]); err != nil {
			return errors.Join(err, tensors.free())
		}
		tensors = append(tensors, made[i].Tensor)
	}
	if c.Loss, err = c.rows.rank.Empty(torch.F32, torch.Shape{rowsOf(c.rows.x), 1}, Spread); err != nil {
		return errors.Join(err, tensors.free())
	}
	c.kept = made[0]
	maxima, sums := made[1], made[2]
	err = c.maximum(maxima)
	if err == nil {
		err = c.sum(maxima, sums)
	}
	if err == nil {
		err = c.lose(maxima, sums)
	}
	if err = errors.Join(err, tensors[1:].free()); err != nil {
		err = errors.Join(err, c.Free())
	}
	return err
}

// maximum finds the largest logit of each row.
func (c *CrossEntropy) maximum(maxima *partials) error {
	err := c.rows.launch("max", besides{others: []*torch.Tensor{maxima.Tensor}}, func(b *band) {
		b.t.Store(b.own(maxima, 0), b.fold(largest, func(x tl.Tile) []tl.Tile { return []tl.Tile{x} })[0])
	})
	return c.reduce(maxima, dist.MAX, err)
}

// sum adds up the exponentials of each row, after the maximum was subtracted, and with
// smoothing what they are of. The logit of the target, which one share alone has, is the
// sum of what all have, zero for the others.
func (c *CrossEntropy) sum(maxima, sums *partials) error {
	err := c.rows.launch("sum", besides{others: []*torch.Tensor{maxima.Tensor, sums.Tensor}}, func(b *band) {
		most := b.keep(b.total(maxima, 0, largest))
		all := b.fold(adding, func(x tl.Tile) []tl.Tile {
			shifted := x.Sub(most)
			if c.smoothing == 0 {
				return []tl.Tile{shifted.Exp()}
			}
			return []tl.Tile{shifted.Exp(), shifted}
		})
		b.t.Store(b.own(sums, sumExps), all[0])
		if c.smoothing > 0 {
			b.t.Store(b.own(sums, sumLogits), all[1])
		}
		b.t.Store(b.own(sums, sumTargets), b.t.Zeros(tl.Shape{b.n}, torch.F32))
		for _, e := range c.within(b) {
			b.round(b.own(sums, sumTargets).At(0, e.row-b.from), b.element(b.x.At(e.row, e.col)))
		}
	})
	return c.reduce(sums, dist.SUM, err)
}

// reduce reduces partials over the ranks, unless there was an error.
func (c *CrossEntropy) reduce(p *partials, op dist.ReduceOp, err error) error {
	if err != nil || c.group.Size() == 1 {
		return err
	}
	return dist.AllReduce(c.rows.rank, p.Tensor, op, c.group)
}

// lose makes the loss out of them, and what is kept for the gradient.
func (c *CrossEntropy) lose(maxima, sums *partials) error {
	r := c.rows
	var loss []tl.Ptr
	for _, h := range r.shares {
		loss = append(loss, c.Loss.Pieces(h.row, 0, h.rows, 1, h.pe)[0].Ptr)
	}
	use := besides{others: []*torch.Tensor{maxima.Tensor, sums.Tensor, c.kept.Tensor, c.Loss}, partials: true}
	return r.launch("loss", use, func(b *band) {
		most, sum := b.keep(b.total(maxima, 0, largest)), b.keep(b.total(sums, sumExps, adding))
		b.t.Store(b.own(c.kept, keptMax), most.Reshape(b.n))
		b.t.Store(b.own(c.kept, keptInverse), b.t.Div(1, sum).Reshape(b.n))
		if b.copy > 0 || b.index != b.first {
			return // another share of these rows writes the loss
		}
		logit := b.total(sums, sumTargets, adding).Sub(most)
		if c.smoothing > 0 {
			mean := b.total(sums, sumLogits, adding).Div(c.vocab)
			logit = logit.Mul(1 - c.smoothing).Add(mean.Mul(c.smoothing))
		}
		b.t.Store(loss[b.index].At(b.from), sum.Log().Sub(logit))
	})
}

// Backward returns the gradient of the rank's logits, a new tensor of their shape, dtype and
// layout. The gradient of the loss is tokens × 1 in f32; nil is 1 for each token.
func (c *CrossEntropy) Backward(gradOutput *torch.Tensor) (*torch.Tensor, error) {
	r := c.rows
	who := r.name + " backward"
	use := besides{others: []*torch.Tensor{c.kept.Tensor}}
	if gradOutput != nil {
		if shape := gradOutput.Shape(); gradOutput.DType() != torch.F32 || shape.String() != c.Loss.Shape().String() {
			return nil, fmt.Errorf("%s: gradient %v %v of the loss: want f32 %v", who, gradOutput.DType(), shape, c.Loss.Shape())
		}
		use.columns = []*torch.Tensor{gradOutput}
	}
	y, err := r.rank.EmptyLike(r.x)
	if err != nil {
		return result(who, nil, err)
	}
	use.others = append(use.others, y)
	to := r.owned(y)
	err = r.launch("gradient", use, func(b *band) {
		column := func(kind int) tl.Tile {
			return b.keep(b.t.Load(b.own(c.kept, kind), tl.Shape{b.n}, torch.F32)).Reshape(b.n, 1)
		}
		most, over, even := column(keptMax), column(keptInverse), c.smoothing/float64(c.vocab)
		for x := range b.tiles() {
			b.write(to, x, gradient(x.Tile, most, over, b.columns, even))
		}
		for _, e := range c.within(b) { // once more, since few are
			var loss []tl.Tile
			for _, g := range b.walk.columns[b.at] {
				loss = append(loss, b.element(g.At(e.row-b.from)))
			}
			at := func(kind int) tl.Tile { return b.element(b.own(c.kept, kind).At(0, e.row-b.from)) }
			b.round(to[b.index].At(e.row, e.col),
				gradient(b.element(b.x.At(e.row, e.col)), at(keptMax), at(keptInverse), loss, even+1-c.smoothing))
		}
	})
	return result(who, y, err)
}

// gradient returns the probabilities of logits, less what they should be, times the gradient
// of the loss if there is one.
func gradient(x, most, over tl.Tile, loss []tl.Tile, target float64) tl.Tile {
	g := x.Sub(most).Exp().Mul(over)
	if target > 0 {
		g = g.Sub(target)
	}
	for _, l := range loss {
		g = g.Mul(l)
	}
	return g
}

// within returns the targets in a band.
func (c *CrossEntropy) within(b *band) (list []element) {
	for row := b.from; row < b.from+b.n; row++ {
		if col := c.targets[b.row+row] - c.first - b.col; col >= 0 && col < b.share.cols {
			list = append(list, element{row, col})
		}
	}
	return list
}

// Free gives the memory of the loss, and of what is kept for its gradient, back.
func (c *CrossEntropy) Free() error { return errors.Join(c.Loss.Free(), c.kept.Free()) }
