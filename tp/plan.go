package tp

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// plan is the work of one PE for a product: blocks of the result, one after another.
type plan struct {
	x, w   factor
	dtype  torch.DType // dtype of x and w
	col    int         // first column of the PE's box
	blocks []block
	keepX  bool // keep tiles of x in TCM
}

// block is a box of the result that a PE computes at once: a sum of products of columns of
// x with rows of w.
type block struct {
	rows, cols int
	terms      []term
	to         []torch.Piece // every copy of the block
	addend     *tl.Ptr       // the bias (one row), or the old elements of the block; nil for none
	addendRows int
}

// term is one term of the sum of a block: n columns of x times n rows of w.
type term struct {
	n      int
	x, w   tl.Ptr
	localX *tl.Ptr // address in product.localX to which x is copied; nil for none
}

// box is a range of rows and columns of a matrix that a PE holds or computes.
type box struct {
	pe, cube, peInCube   int
	row, col, rows, cols int
}

// Activations returns the placement of a layer's result, which is also the best placement
// of its input, given the placement of its weight. Where cubes or PEs have different
// columns of the weight, they compute these columns of the result. Where cubes or PEs have
// the same columns, because they have rows or copies of the weight, they compute different
// rows of the result.
func Activations(weight torch.DPPolicy) torch.DPPolicy {
	for _, level := range []*torch.Split{&weight.Cube, &weight.PE} {
		if *level != torch.ColumnWise {
			*level = torch.RowWise
		}
	}
	return weight
}

// replaceSplit returns the policy `on` with each split `old` replaced by the split `by`.
func replaceSplit(on torch.DPPolicy, old, by torch.Split) torch.DPPolicy {
	for _, level := range []*torch.Split{&on.Cube, &on.PE} {
		if *level == old {
			*level = by
		}
	}
	return on
}

// firstRowBoxes returns the boxes of the PEs that compute the first row of a result. The
// result has the given number of columns, and the weight has the given placement.
func firstRowBoxes(r *torch.Rank, weight torch.DPPolicy, cols int) []box {
	return slices.DeleteFunc(resultBoxes(r, weight, 1, cols), func(b box) bool { return b.row > 0 })
}

// resultBoxes returns, for each PE, the box of the result that the PE computes. The result
// has the given numbers of rows and columns, and the weight has the given placement.
func resultBoxes(r *torch.Rank, weight torch.DPPolicy, rows, cols int) []box {
	return layoutBoxes(r, torch.Shape{rows, cols}, Activations(weight))
}

// layoutBoxes returns the boxes into which a placement divides a tensor of the given shape:
// one box for each PE that would hold a part. The tensor is seen as a matrix.
func layoutBoxes(r *torch.Rank, shape torch.Shape, on torch.DPPolicy) (list []box) {
	for _, s := range r.Layout(shape, on) {
		list = append(list, boxOf(r, s))
	}
	return list
}

// boxOf returns the box that shard s covers in its tensor, seen as a matrix. Axes between
// the first and the last are never divided.
func boxOf(r *torch.Rank, s torch.Shard) box {
	last := len(s.Extent) - 1
	between := elems(s.Extent[1:last])
	return box{
		pe: r.PE(s.SIP, s.Cube, s.PE), cube: s.Cube, peInCube: s.PE,
		row: s.Start[0] * between, col: s.Start[last], rows: s.Extent[0] * between, cols: s.Extent[last],
	}
}

// plan returns the plan by which a PE computes box b of the result. The PE may use `tcm`
// bytes of TCM.
func (p *product) plan(self *torch.Rank, b box, tcm int) *plan {
	plan := &plan{x: p.x, w: p.w, col: b.col, dtype: p.dtype(), keepX: p.keepX}
	if b.rows*b.cols == 0 {
		return plan
	}
	_, _, k := p.extents()
	w, to := p.w.pieces(0, b.col, k, b.cols, b.pe), p.y.copies(b.row, b.col, b.rows, b.cols)
	var x, addend []torch.Piece
	if p.x.blockMatrix != nil {
		x = p.x.pieces(b.row, 0, b.rows, k, b.pe)
	}
	c := cuts{rows: []int{b.row, b.row + b.rows}, cols: []int{b.col, b.col + b.cols}, k: []int{0, k}}
	if p.bias != nil {
		addend = p.bias.Pieces(0, b.col, 1, b.cols, b.pe)
	} else if p.addToY {
		addend = p.y.pieces(b.row, b.col, b.rows, b.cols, b.pe)
		rows, _ := starts(addend)
		c.rows = append(c.rows, rows...)
	}
	xRows, xCols := starts(x)
	wRows, wCols := starts(w)
	toRows, toCols := starts(to)
	_, addendCols := starts(addend)
	c.rows = slices.Concat(c.rows, xRows, toRows)
	c.k = slices.Concat(c.k, xCols, wRows)
	c.cols = slices.Concat(c.cols, wCols, toCols, addendCols)
	var own []torch.Piece
	if p.localX != nil {
		own = p.localX.Pieces(b.row, 0, b.rows, k, b.pe)
	}
	elem := p.dtype().Size()
	tiles := [2]int{p.x.tiles(), p.w.tiles()}
	size := c.fit(p.widestCols, tiles, elem, tcm)
	if plan.keepX {
		size = c.fit(p.widestCols, tiles, elem, tcm-b.rows*k*elem)
		// Many small pieces take more TCM than they have bytes.
		if plan.keepX = c.keptBytes(size, elem) <= tcm/2; !plan.keepX {
			size = c.fit(p.widestCols, tiles, elem, tcm)
		}
	}
	spec := self.Topology().Spec()
	for _, r := range splitRanges(c.rows, size.rows) {
		written := p.localXReady
		for _, n := range splitRanges(c.cols, size.cols) {
			next := block{rows: r.n, cols: n.n, to: piecesAt(to, r.from, n.from)}
			for _, s := range splitRanges(c.k, size.k) {
				t := term{n: s.n, w: piecesAt(w, s.from, n.from)[0].Ptr}
				switch {
				case written:
					t.x = piecesAt(own, r.from, s.from)[0].Ptr
				case x != nil:
					t.x = piecesAt(x, r.from, s.from)[0].Ptr
				}
				if p.localX != nil && !written {
					t.localX = &piecesAt(own, r.from, s.from)[0].Ptr
				}
				next.terms = append(next.terms, t)
			}
			written = p.localX != nil
			next.rotate(b.cube, spec.CubesPerSIP(), b.peInCube, spec.PEsPerCube())
			if p.bias != nil {
				next.addend, next.addendRows = &piecesAt(addend, 0, n.from)[0].Ptr, 1
			} else if p.addToY {
				next.addend, next.addendRows = &piecesAt(addend, r.from, n.from)[0].Ptr, r.n
			}
			plan.blocks = append(plan.blocks, next)
		}
	}
	return plan
}

// rotate changes the order of the block's terms, so that the PEs of a device begin with
// different terms and read different memory at the same time. The device has `cubes` cubes
// of `pes` PEs. The first terms of neighbouring cubes are 1/cubes of all terms apart, and
// the first terms of neighbouring PEs of a cube are 1/pes of all terms apart.
func (b *block) rotate(cube, cubes, pe, pes int) {
	n := len(b.terms)
	first := (cube*n/cubes + pe*n/pes) % n
	b.terms = slices.Concat(b.terms[first:], b.terms[:first])
}

// piecesAt returns the pieces in list that contain the element at (row, col), with pointers
// to this element.
func piecesAt(list []torch.Piece, row, col int) (found []torch.Piece) {
	for _, p := range list {
		if row >= p.Row && row < p.Row+p.Rows && col >= p.Col && col < p.Col+p.Cols {
			p.Ptr = p.Ptr.At(row-p.Row, col-p.Col)
			found = append(found, p)
		}
	}
	return found
}
