package tp

import (
	"errors"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// product is y = x·w + bias on all PEs of a device. Each PE computes a box of y; the
// placement of the weight determines the boxes. The PE reads x and w wherever they are
// stored, and writes its box to wherever y is stored.
type product struct {
	x, w   factor        // x with a nil matrix is a row of ones: y is the column sums of w
	bias   *torch.Tensor // nil if there is none
	y      blockMatrix
	addToY bool // add to the elements of y; not together with a bias

	// A PE that needs its rows of x several times keeps them in TCM (keepX) if they fit.
	// Otherwise it writes them to its shard of localX when it first reads them, and later
	// reads them from there.
	keepX       bool
	localX      *torch.Tensor
	localXReady bool // an earlier product has written all of localX
	widestCols  int  // widest box, in columns, of the products that keep the same tiles of x
}

// factor is an operand of a product: a matrix, or the transpose of a matrix. PEs transpose
// tiles after reading them.
type factor struct {
	blockMatrix
	transposed bool
}

// factor returns the matrix m as an operand of a product.
func (m blockMatrix) factor() factor { return factor{m, false} }

// transpose returns the transpose of the matrix m as an operand of a product.
func (m blockMatrix) transpose() factor { return factor{m, true} }

// extents returns the rows and columns of the operand.
func (f factor) extents() (rows, cols int) {
	rows, cols = f.blockMatrix.extents()
	if f.transposed {
		return cols, rows
	}
	return rows, cols
}

// pieces returns the pieces of memory from which a kernel on PE pe reads a box of the
// operand. The box and the pieces are in coordinates of the operand. For a transposed
// operand the strides are exchanged, so that pointers, too, are indexed by row and
// column of the operand.
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

// load issues the load of a tile of rows × cols elements of the operand. p points to the
// first element; it is derived from a pointer that the method pieces returned. The tile is
// not transposed: it has the layout of the memory.
func (f factor) load(t *tl.PE, p tl.Ptr, rows, cols int) tl.Tile {
	if f.transposed {
		p.Stride[0], p.Stride[1] = p.Stride[1], p.Stride[0]
		rows, cols = cols, rows
	}
	return t.Load(p, tl.Shape{rows, cols}, p.DType).Pin()
}

// tiles returns the number of tiles of the operand that are in TCM at a time: one for each
// pipeline stage and, if the operand is transposed, the transposes of the current and the
// next tile.
func (f factor) tiles() int {
	if f.transposed {
		return stages + 2
	}
	return stages
}

// extents returns the rows and columns of y, and the number k of terms of each element.
// Without an operand x, y has one row.
func (p *product) extents() (rows, cols, k int) {
	if rows, _ = p.x.extents(); p.x.blockMatrix == nil {
		rows = 1
	}
	k, cols = p.w.extents()
	return rows, cols, k
}

// dtype returns the dtype of the operands.
func (p *product) dtype() torch.DType { return p.w.blockMatrix[0].from.x.DType() }

// launch runs the product on all PEs of the device. grid is the placement of a weight; it
// determines which box of the result each PE computes.
func (p *product) launch(r *torch.Rank, name string, grid torch.DPPolicy) error {
	var plans jobs[*plan]
	rows, cols, _ := p.extents()
	work := resultBoxes(r, grid, rows, cols)
	if p.x.blockMatrix != nil && !p.x.transposed && slices.ContainsFunc(work, func(b box) bool { return b.cols > blockCols }) {
		if err := p.prepareReuse(r, grid, work, tcmBytes(r)); err != nil {
			return err
		}
	}
	for _, b := range work {
		plans.add(b.pe, p.plan(r, b, tcmBytes(r)))
	}
	err := plans.launch(r, name, p.tensors()...)
	if p.localX != nil {
		err = errors.Join(err, p.localX.Free())
	}
	return err
}

// prepareReuse chooses where PEs that need their rows of x several times keep these rows.
// The product may use `tcm` bytes of TCM. If the rows fit in half of these bytes, they are
// kept in TCM, and otherwise in the new tensor localX.
func (p *product) prepareReuse(r *torch.Rank, grid torch.DPPolicy, work []box, tcm int) (err error) {
	most := 0
	rows, _, k := p.extents()
	for _, b := range work {
		most = max(most, b.rows*k*p.dtype().Size())
	}
	if p.keepX = most <= tcm/2; p.keepX {
		return nil
	}
	p.localX, err = r.Empty(p.dtype(), torch.Shape{rows, k}, replaceSplit(Activations(grid), torch.ColumnWise, torch.Replicate))
	return err
}

// tcmBytes returns the size of a PE's TCM in bytes.
func tcmBytes(r *torch.Rank) int { return int(r.Topology().Spec().PE.TCM.Size) }

// tensors returns all tensors that the product uses.
func (p *product) tensors() []*torch.Tensor {
	list := slices.Concat(p.x.blockMatrix, p.w.blockMatrix, p.y).tensors()
	return append(list, nonNil(p.bias, p.localX)...)
}

// planRun computes the blocks of a plan on a PE, one term at a time, so that a collective
// can run in between.
type planRun struct {
	t     *tl.PE
	plan  *plan
	block int        // current block
	term  int        // next term of the block
	sums  [2]tl.Tile // sums of the terms with even and with odd numbers

	nextLoad [2]int             // block and term of the next operands to load
	operands []operands         // operands whose loads have been issued, in order
	keptX    map[tl.Ptr]tl.Tile // tiles of x that stay in TCM with keepX; plans may share the map
}

// operands is a tile of x and a tile of w.
type operands struct {
	x, w       tl.Tile
	transposed bool // tiles of transposed factors have been transposed
}

// run computes all blocks of the plan on a PE.
func (p *plan) run(t *tl.PE) {
	for s := (&planRun{t: t, plan: p, keptX: map[tl.Ptr]tl.Tile{}}); s.next(); {
	}
}

// next issues the commands of the next term and reports whether there was one. Operands are
// loaded a few terms ahead. Terms are added to two sums alternately. So the operands of a
// term are fetched while the engine computes a term of the other sum, and no term waits
// until the previous one is stored. Tiles are pinned until their last use and then freed at
// once, so that the product and other work on the PE do not evict each other's tiles.
func (s *planRun) next() bool {
	if s.block == len(s.plan.blocks) {
		return false
	}
	for len(s.operands) < stages && s.loadNext() {
	}
	// Also transpose the next operands, while the current product runs.
	for i := range s.operands[:min(2, len(s.operands))] {
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
	if !s.plan.keepX {
		x.Free()
	}
	if s.term++; s.term == len(b.terms) {
		s.storeBlock(b)
		s.block, s.term = s.block+1, 0
	}
	return true
}

// loadNext issues the loads of the operands of the next term, and reports whether there was
// such a term.
func (s *planRun) loadNext() bool {
	at := &s.nextLoad
	if at[0] == len(s.plan.blocks) {
		return false
	}
	b := &s.plan.blocks[at[0]]
	term := b.terms[at[1]]
	x, known := s.keptX[term.x]
	switch {
	case known:
	case s.plan.x.blockMatrix == nil:
		x = s.t.Full(tl.Shape{1, term.n}, s.plan.dtype, 1).Pin()
	default:
		x = s.plan.x.load(s.t, term.x, b.rows, term.n)
	}
	if s.plan.keepX {
		s.keptX[term.x] = x
	}
	w := s.plan.w.load(s.t, term.w, term.n, b.cols)
	if term.localX != nil {
		s.t.Store(*term.localX, x)
	}
	s.operands = append(s.operands, operands{x: x, w: w})
	if at[1]++; at[1] == len(b.terms) {
		at[0], at[1] = at[0]+1, 0
	}
	return true
}

// transpose transposes the tiles of o that belong to transposed factors, unless it has done
// so before.
func (s *planRun) transpose(o *operands) {
	if o.transposed {
		return
	}
	o.transposed = true
	replace := func(f factor, x *tl.Tile) {
		if f.transposed {
			before := *x
			*x = before.Trans().Pin()
			before.Free()
		}
	}
	replace(s.plan.x, &o.x)
	replace(s.plan.w, &o.w)
}

// storeBlock adds up the one or two sums of block b and, if the block has an addend, the
// addend. It converts the result and stores it in every copy of the block.
func (s *planRun) storeBlock(b *block) {
	out := s.sums[0]
	replaceOut := func(next tl.Tile) {
		out.Free()
		out = next.Pin()
	}
	if len(b.terms) > 1 {
		replaceOut(out.Add(s.sums[1]))
		s.sums[1].Free()
	}
	if b.addend != nil {
		addend := s.t.Load(*b.addend, tl.Shape{b.addendRows, b.cols}, b.addend.DType)
		replaceOut(out.Add(addend.To(out.DType())))
	}
	if dtype := b.to[0].Ptr.DType; out.DType() != dtype {
		replaceOut(out.To(dtype))
	}
	for _, to := range b.to {
		s.t.Store(to.Ptr, out)
	}
	out.Free()
}
