package tp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// CrossEntropy holds the loss of predicted tokens, and the values that Backward needs.
type CrossEntropy struct {
	Loss *torch.Tensor // tokens × 1 in f32, the same on all ranks of the group

	group     *dist.Group
	rows      *rowwise
	saved     *partials // by row: the largest logit and the inverse of the sum of exponentials
	targets   []int     // target token of each row
	first     int       // first token of the rank
	smoothing float64
	vocab     int
}

// element is the position of an element within a share.
type element struct{ row, col int }

// Kinds of partials: sums over all ranks, and values saved for Backward.
const (
	sumExps, sumTargets, sumLogits = 0, 1, 2
	savedMax, savedInverse         = 0, 1
)

// VocabParallelCrossEntropy computes log Σ exp(x) - x[target] for each row x of the logits,
// in f32. Each rank of the tensor parallel group has the columns of its part of the
// vocabulary: logits is tokens × vocab/tp, or [s, b, vocab/tp] with s·b tokens. The targets
// are on the host and must be the same on all ranks, like the ids of an embedding.
//
// Label smoothing lowers the probability of the target by labelSmoothing and divides this
// share evenly among all other tokens of the vocabulary. Megatron's code divides it within
// each rank's part of the vocabulary, so that its ranks have different losses. With one
// rank both give the same loss.
//
// VocabParallelCrossEntropy does not change the logits; Backward reads them again. The
// caller frees the result.
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

// forward computes c.Loss. A share of the logits is the part that one PE holds. The ranks
// reduce the partial results of each share before the shares of a row are combined. In this
// way, many PEs send little data each, instead of few PEs sending all data.
func (c *CrossEntropy) forward() (err error) {
	var all [3]*partials // saved values, maxima, sums
	var tensors stack
	kinds := [...]int{2, 1, 2}
	if c.smoothing > 0 {
		kinds[2] = 3
	}
	for i := range all {
		if all[i], err = c.rows.newPartials(kinds[i]); err != nil {
			return errors.Join(err, tensors.free())
		}
		tensors = append(tensors, all[i].Tensor)
	}
	if c.Loss, err = c.rows.rank.Empty(torch.F32, torch.Shape{rowsOf(c.rows.x), 1}, Spread); err != nil {
		return errors.Join(err, tensors.free())
	}
	c.saved = all[0]
	maxima, sums := all[1], all[2]
	err = c.computeMaxima(maxima)
	if err == nil {
		err = c.computeSums(maxima, sums)
	}
	if err == nil {
		err = c.computeLoss(maxima, sums)
	}
	if err = errors.Join(err, tensors[1:].free()); err != nil {
		err = errors.Join(err, c.Free())
	}
	return err
}

// computeMaxima stores in `maxima`, for each share, the largest logit of each row, and
// reduces these maxima over the ranks.
func (c *CrossEntropy) computeMaxima(maxima *partials) error {
	err := c.rows.launch("max", launchOperands{others: []*torch.Tensor{maxima.Tensor}}, func(b *band) {
		b.t.Store(b.ownPartials(maxima, 0), b.reduceRows(maxReduction, func(x tl.Tile) []tl.Tile { return []tl.Tile{x} })[0])
	})
	return c.reduce(maxima, dist.MAX, err)
}

// computeSums stores in `sums`, for each share and row, the sum of exp(x - m) over the
// logits x of the row, where m is the largest logit of the row. With label smoothing it
// also stores the sum of x - m. The logit of the target is stored as a sum, too: only one
// share has this logit, and all other shares add zero. computeSums then adds the sums of
// all ranks.
func (c *CrossEntropy) computeSums(maxima, sums *partials) error {
	err := c.rows.launch("sum", launchOperands{others: []*torch.Tensor{maxima.Tensor, sums.Tensor}}, func(b *band) {
		most := b.keep(b.reducePartials(maxima, 0, maxReduction))
		all := b.reduceRows(sumReduction, func(x tl.Tile) []tl.Tile {
			shifted := x.Sub(most)
			if c.smoothing == 0 {
				return []tl.Tile{shifted.Exp()}
			}
			return []tl.Tile{shifted.Exp(), shifted}
		})
		b.t.Store(b.ownPartials(sums, sumExps), all[0])
		if c.smoothing > 0 {
			b.t.Store(b.ownPartials(sums, sumLogits), all[1])
		}
		b.t.Store(b.ownPartials(sums, sumTargets), b.t.Zeros(tl.Shape{b.n}, torch.F32))
		for _, e := range c.targetsIn(b) {
			b.storeConverted(b.ownPartials(sums, sumTargets).At(0, e.row-b.from), b.loadElement(b.x.At(e.row, e.col)))
		}
	})
	return c.reduce(sums, dist.SUM, err)
}

// reduce all-reduces the partial results p over the ranks of the group with the reduction
// op. It does nothing if the group has one rank. If err is not nil, it does nothing and
// returns err.
func (c *CrossEntropy) reduce(p *partials, op dist.ReduceOp, err error) error {
	if err != nil || c.group.Size() == 1 {
		return err
	}
	return dist.AllReduce(c.rows.rank, p.Tensor, op, c.group)
}

// computeLoss computes the loss and the values saved for Backward from the maxima and sums
// of all ranks.
func (c *CrossEntropy) computeLoss(maxima, sums *partials) error {
	r := c.rows
	var loss []tl.Ptr
	for _, h := range r.shares {
		loss = append(loss, c.Loss.Pieces(h.row, 0, h.rows, 1, h.pe)[0].Ptr)
	}
	use := launchOperands{others: []*torch.Tensor{maxima.Tensor, sums.Tensor, c.saved.Tensor, c.Loss}, partialsOnly: true}
	return r.launch("loss", use, func(b *band) {
		most, sum := b.keep(b.reducePartials(maxima, 0, maxReduction)), b.keep(b.reducePartials(sums, sumExps, sumReduction))
		b.t.Store(b.ownPartials(c.saved, savedMax), most.Reshape(b.n))
		b.t.Store(b.ownPartials(c.saved, savedInverse), b.t.Div(1, sum).Reshape(b.n))
		if b.copy > 0 || b.index != b.rowFirst {
			return // another share of these rows writes the loss
		}
		logit := b.reducePartials(sums, sumTargets, sumReduction).Sub(most)
		if c.smoothing > 0 {
			mean := b.reducePartials(sums, sumLogits, sumReduction).Div(c.vocab)
			logit = logit.Mul(1 - c.smoothing).Add(mean.Mul(c.smoothing))
		}
		b.t.Store(loss[b.index].At(b.from), sum.Log().Sub(logit))
	})
}

// Backward returns the gradient of the rank's logits: a new tensor with the shape, dtype
// and placement of the logits. gradOutput is the gradient of the loss, tokens × 1 in f32;
// nil means 1 for each token.
func (c *CrossEntropy) Backward(gradOutput *torch.Tensor) (*torch.Tensor, error) {
	r := c.rows
	who := r.name + " backward"
	use := launchOperands{others: []*torch.Tensor{c.saved.Tensor}}
	if gradOutput != nil {
		if shape := gradOutput.Shape(); gradOutput.DType() != torch.F32 || shape.String() != c.Loss.Shape().String() {
			return nil, fmt.Errorf("%s: gradient %v %v of the loss: want f32 %v", who, gradOutput.DType(), shape, c.Loss.Shape())
		}
		use.columns = []*torch.Tensor{gradOutput}
	}
	y, err := r.rank.EmptyLike(r.x)
	if err != nil {
		return wrapResult(who, nil, err)
	}
	use.others = append(use.others, y)
	to := r.shareStarts(y)
	err = r.launch("gradient", use, func(b *band) {
		column := func(kind int) tl.Tile {
			return b.keep(b.t.Load(b.ownPartials(c.saved, kind), tl.Shape{b.n}, torch.F32)).Reshape(b.n, 1)
		}
		most, inverse, even := column(savedMax), column(savedInverse), c.smoothing/float64(c.vocab)
		for x := range b.tiles() {
			b.storeTile(to, x, gradient(x.Tile, most, inverse, b.columns, even))
		}
		for _, e := range c.targetsIn(b) { // compute the targets again, with their target probability
			var loss []tl.Tile
			for _, g := range b.walk.columns[b.bandIndex] {
				loss = append(loss, b.loadElement(g.At(e.row-b.from)))
			}
			at := func(kind int) tl.Tile { return b.loadElement(b.ownPartials(c.saved, kind).At(0, e.row-b.from)) }
			b.storeConverted(to[b.index].At(e.row, e.col),
				gradient(b.loadElement(b.x.At(e.row, e.col)), at(savedMax), at(savedInverse), loss, even+1-c.smoothing))
		}
	})
	return wrapResult(who, y, err)
}

// gradient returns the gradient of logits x. It subtracts `target`, the target probability,
// from the probabilities of the logits, and multiplies the difference by the gradient of
// the loss. `most` and `inverse` are the saved values of the rows: the largest logit and
// the inverse of the sum of exponentials. `loss` holds the gradient of the loss, or is
// empty if that gradient is 1.
func gradient(x, most, inverse tl.Tile, loss []tl.Tile, target float64) tl.Tile {
	g := x.Sub(most).Exp().Mul(inverse)
	if target > 0 {
		g = g.Sub(target)
	}
	for _, l := range loss {
		g = g.Mul(l)
	}
	return g
}

// targetsIn returns the positions, within the PE's share, of the target logits in the rows
// of band b.
func (c *CrossEntropy) targetsIn(b *band) (list []element) {
	for row := b.from; row < b.from+b.n; row++ {
		if col := c.targets[b.row+row] - c.first - b.col; col >= 0 && col < b.share.cols {
			list = append(list, element{row, col})
		}
	}
	return list
}

// Free frees the loss and the values saved for Backward.
func (c *CrossEntropy) Free() error { return errors.Join(c.Loss.Free(), c.saved.Free()) }
