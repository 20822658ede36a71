package tp

import (
	"errors"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// product is y = x·w + bias on all PEs of a device. Each PE makes a box of y, as the
// weight's placement cuts it, out of what it reads of x and w, wherever that lies, and
// writes it to wherever it belongs.
type product struct {
	x    stack
	w    *torch.Tensor
	bias *torch.Tensor // nil if there is none
	y    stack

	// A PE that needs its rows of x several times keeps them in TCM, if they fit. If they
	// do not, it writes them to its part of own when it first reads them, and then reads
	// them there.
	keep    bool
	own     *torch.Tensor
	written bool // all of own, by an earlier product
	wide    int  // columns of a box of the widest of several products that keep the same tiles
}

// launch runs the product.
func (p *product) launch(ctx *torch.Context, name string, grid torch.DPPolicy) error {
	var plans []*plan
	var pes []int
	work := boxes(ctx, grid, p.x.rows(), p.w.Shape()[1])
	if slices.ContainsFunc(work, func(b box) bool { return b.cols > blockCols }) {
		if err := p.again(ctx, grid, work, tcm(ctx)); err != nil {
			return err
		}
	}
	for _, b := range work {
		plans, pes = append(plans, p.plan(ctx, b, tcm(ctx))), append(pes, b.pe)
	}
	_, err := ctx.Launch(name, func(t *tl.PE) {
		for s := newSummer(t, plans[t.Rank()], map[tl.Ptr]tl.Tile{}); s.next(); {
		}
	}, torch.PEs(pes...), torch.Using(p.tensors()...))
	if p.own != nil {
		err = errors.Join(err, p.own.Free())
	}
	return err
}

// again prepares for PEs that need their rows of x several times.
func (p *product) again(ctx *torch.Context, grid torch.DPPolicy, work []box, room int) (err error) {
	most := 0
	for _, b := range work {
		most = max(most, b.rows*p.x.cols()*p.w.DType().Size())
	}
	if p.keep = most <= room/2; p.keep {
		return nil
	}
	rows := gridOf(grid)
	for _, level := range []*torch.Split{&rows.Cube, &rows.PE} {
		if *level == torch.ColumnWise {
			*level = torch.Replicate
		}
	}
	p.own, err = ctx.Empty(p.w.DType(), torch.Shape{p.x.rows(), p.x.cols()}, rows)
	return err
}

// tcm is the bytes of TCM that a PE has.
func tcm(ctx *torch.Context) int { return int(ctx.Topology().Spec().PE.TCM.Size) }

// tensors is all that it uses.
func (p *product) tensors() []*torch.Tensor {
	list := slices.Concat(p.x, stack{p.w}, p.y)
	for _, x := range []*torch.Tensor{p.bias, p.own} {
		if x != nil {
			list = append(list, x)
		}
	}
	return list
}

// summer makes the blocks of a plan on a PE, a step of K at a time: for a collective
// that goes on beside it.
type summer struct {
	t     *tl.PE
	plan  *plan
	block int        // the one that it makes
	term  int        // the next of its sum
	sums  [2]tl.Tile // of every other term

	asked    [2]int       // block and term of the next operands to ask for
	operands [][2]tl.Tile // that are on their way, in order
	kept     map[tl.Ptr]tl.Tile
}

// newSummer makes a summer, which keeps tiles of x among those that others have kept if
// the plan says so.
func newSummer(t *tl.PE, p *plan, kept map[tl.Ptr]tl.Tile) *summer {
	return &summer{t: t, plan: p, kept: kept}
}

// next issues the next step and reports whether there was one. Operands are asked for a
// few steps ahead. Terms are added to two sums in turn: a product is fetched while that
// of the other sum runs, and does not wait for its own to be stored. Tiles that are still
// to be used are pinned, and given back at once when they have been, so that nothing
// else on the PE loses its tiles to the product, or the other way round.
func (s *summer) next() bool {
	if s.block == len(s.plan.blocks) {
		return false
	}
	for len(s.operands) < stages && s.ask() {
	}
	x, w := s.operands[0][0], s.operands[0][1]
	s.operands = s.operands[1:]
	b, sum := &s.plan.blocks[s.block], &s.sums[s.term%2]
	if s.term < 2 {
		*sum = x.Dot(w).Pin()
	} else {
		before := *sum
		*sum = x.Dot(w, before).Pin()
		before.Free()
	}
	w.Free()
	if !s.plan.keep {
		x.Free()
	}
	if s.term++; s.term == len(b.terms) {
		s.finish(b)
		s.block, s.term = s.block+1, 0
	}
	return true
}

// ask loads the next operands, if there are any.
func (s *summer) ask() bool {
	at := &s.asked
	if at[0] == len(s.plan.blocks) {
		return false
	}
	b := &s.plan.blocks[at[0]]
	term := b.terms[at[1]]
	x, known := s.kept[term.x]
	if !known {
		x = s.t.Load(term.x, tl.Shape{b.rows, term.n}, s.plan.dtype).Pin()
	}
	if s.plan.keep {
		s.kept[term.x] = x
	}
	w := s.t.Load(term.w, tl.Shape{term.n, b.cols}, s.plan.dtype).Pin()
	if term.own != nil {
		s.t.Store(*term.own, x)
	}
	s.operands = append(s.operands, [2]tl.Tile{x, w})
	if at[1]++; at[1] == len(b.terms) {
		at[0], at[1] = at[0]+1, 0
	}
	return true
}

// finish writes a block whose sums are complete.
func (s *summer) finish(b *block) {
	out := s.sums[0]
	becomes := func(next tl.Tile) {
		out.Free()
		out = next.Pin()
	}
	if len(b.terms) > 1 {
		becomes(out.Add(s.sums[1]))
		s.sums[1].Free()
	}
	if b.bias != nil {
		bias := s.t.Load(b.bias.Ptr, tl.Shape{1, b.cols}, s.plan.dtype)
		becomes(out.Add(bias.To(out.DType())))
	}
	if out.DType() != s.plan.dtype {
		becomes(out.To(s.plan.dtype))
	}
	for _, to := range b.to {
		s.t.Store(to.Ptr, out)
	}
	out.Free()
}
