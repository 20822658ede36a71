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
	x, w factor        // x without a matrix is a row of ones: y is the sums of the columns of w
	bias *torch.Tensor // nil if there is none
	y    blockMatrix
	add  bool // to what y has; not together with a bias

	// A PE that needs its rows of x several times keeps them in TCM, if they fit. If they
	// do not, it writes them to its part of own when it first reads them, and then reads
	// them there.
	keep    bool
	own     *torch.Tensor
	written bool // all of own, by an earlier product
	wide    int  // columns of a box of the widest of several products that keep the same tiles
}

// factor is an operand of a product: a matrix, or the transpose of one. PEs transpose the
// tiles that they have read.
type factor struct {
	blockMatrix
	transposed bool
}

// factor returns the matrix as an operand.
func (m blockMatrix) factor() factor { return factor{m, false} }

// transpose returns the transpose of the matrix as an operand.
func (m blockMatrix) transpose() factor { return factor{m, true} }

// extents returns the rows and columns of the operand.
func (f factor) extents() (rows, cols int) {
	rows, cols = f.blockMatrix.extents()
	if f.transposed {
		return cols, rows
	}
	return rows, cols
}

// pieces returns where a kernel on a PE reads a box, in coordinates of the operand. Strides
// of a transposed one are exchanged, so that pointers move in these coordinates too.
func (f factor) pieces(row, col, rows, cols, pe int) []torch.Piece {
	if !f.transposed {
		return f.blockMatrix.pieces(row, col, rows, cols, pe)
	}
	list := f.blockMatrix.pieces(col, row, cols, rows, pe)
	for i := range list {
		p := &list[i]
		p.Row, p.Col, p.Rows, p.Cols = p.Col, p.Row, p.Cols, p.Rows
		p.Ptr.Stride[0], p.Ptr.Stride[1] = p.Ptr.Stride[1], p.Ptr.Stride[0]
	}
	return list
}

// load asks for a tile that a pointer of such a piece points to, as it lies in memory.
func (f factor) load(t *tl.PE, p tl.Ptr, rows, cols int) tl.Tile {
	if f.transposed {
		p.Stride[0], p.Stride[1] = p.Stride[1], p.Stride[0]
		rows, cols = cols, rows
	}
	return t.Load(p, tl.Shape{rows, cols}, p.DType).Pin()
}

// tiles returns how many tiles TCM has at a time: one for each stage, and the transposes of
// the tiles in use and next.
func (f factor) tiles() int {
	if f.transposed {
		return stages + 2
	}
	return stages
}

// extents returns the rows and columns of y, and how many terms its sums have.
func (p *product) extents() (rows, cols, k int) {
	if rows, _ = p.x.extents(); p.x.blockMatrix == nil {
		rows = 1
	}
	k, cols = p.w.extents()
	return rows, cols, k
}

// dtype returns that of the operands.
func (p *product) dtype() torch.DType { return p.w.blockMatrix[0].from.x.DType() }

// launch runs the product.
func (p *product) launch(r *torch.Rank, name string, grid torch.DPPolicy) error {
	var plans jobs[*plan]
	rows, cols, _ := p.extents()
	work := boxes(r, grid, rows, cols)
	if p.x.blockMatrix != nil && !p.x.transposed && slices.ContainsFunc(work, func(b box) bool { return b.cols > blockCols }) {
		if err := p.again(r, grid, work, tcm(r)); err != nil {
			return err
		}
	}
	for _, b := range work {
		plans.add(b.pe, p.plan(r, b, tcm(r)))
	}
	err := plans.launch(r, name, p.tensors()...)
	if p.own != nil {
		err = errors.Join(err, p.own.Free())
	}
	return err
}

// again prepares for PEs that need their rows of x several times.
func (p *product) again(r *torch.Rank, grid torch.DPPolicy, work []box, room int) (err error) {
	most := 0
	rows, _, k := p.extents()
	for _, b := range work {
		most = max(most, b.rows*k*p.dtype().Size())
	}
	if p.keep = most <= room/2; p.keep {
		return nil
	}
	p.own, err = r.Empty(p.dtype(), torch.Shape{rows, k}, replaced(Activations(grid), torch.ColumnWise, torch.Replicate))
	return err
}

// tcm returns the bytes of TCM that a PE has.
func tcm(r *torch.Rank) int { return int(r.Topology().Spec().PE.TCM.Size) }

// tensors returns all that it uses.
func (p *product) tensors() []*torch.Tensor {
	list := slices.Concat(p.x.blockMatrix, p.w.blockMatrix, p.y).tensors()
	return append(list, present(p.bias, p.own)...)
}

// summer makes the blocks of a plan on a PE, a step of K at a time: for a collective
// that goes on beside it.
type summer struct {
	t     *tl.PE
	plan  *plan
	block int        // the one that it makes
	term  int        // the next of its sum
	sums  [2]tl.Tile // of every other term

	asked    [2]int             // block and term of the next operands to ask for
	operands []operands         // that are on their way, in order
	kept     map[tl.Ptr]tl.Tile // of x, also for others, if the plan says so
}

// operands is a tile of x and one of w.
type operands struct {
	x, w       tl.Tile
	transposed bool // those that have to be
}

// run makes the blocks of the plan.
func (p *plan) run(t *tl.PE) {
	for s := (&summer{t: t, plan: p, kept: map[tl.Ptr]tl.Tile{}}); s.next(); {
	}
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
	for i := range s.operands[:min(2, len(s.operands))] { // those of the next step are transposed beside this one's product
		s.transpose(&s.operands[i])
	}
	x, w := s.operands[0].x, s.operands[0].w
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
	switch {
	case known:
	case s.plan.x.blockMatrix == nil:
		x = s.t.Full(tl.Shape{1, term.n}, s.plan.dtype, 1).Pin()
	default:
		x = s.plan.x.load(s.t, term.x, b.rows, term.n)
	}
	if s.plan.keep {
		s.kept[term.x] = x
	}
	w := s.plan.w.load(s.t, term.w, term.n, b.cols)
	if term.own != nil {
		s.t.Store(*term.own, x)
	}
	s.operands = append(s.operands, operands{x: x, w: w})
	if at[1]++; at[1] == len(b.terms) {
		at[0], at[1] = at[0]+1, 0
	}
	return true
}

// transpose transposes those tiles of a step that lie transposed in memory.
func (s *summer) transpose(o *operands) {
	if o.transposed {
		return
	}
	o.transposed = true
	turn := func(f factor, x *tl.Tile) {
		if f.transposed {
			before := *x
			*x = before.Trans().Pin()
			before.Free()
		}
	}
	turn(s.plan.x, &o.x)
	turn(s.plan.w, &o.w)
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
	if b.addend != nil {
		addend := s.t.Load(*b.addend, tl.Shape{b.addendRows, b.cols}, b.addend.DType)
		becomes(out.Add(addend.To(out.DType())))
	}
	if dtype := b.to[0].Ptr.DType; out.DType() != dtype {
		becomes(out.To(dtype))
	}
	for _, to := range b.to {
		s.t.Store(to.Ptr, out)
	}
	out.Free()
}
