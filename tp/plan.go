package tp

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// plan is what a PE does of a product: blocks of the result, one after the other.
type plan struct {
	x, w   factor
	dtype  torch.DType // of both
	col    int         // of the box
	blocks []block
	keep   bool // tiles of x in TCM
}

// block is a box of the result that is made in one go: the sum of products of some
// columns of x by as many rows of w.
type block struct {
	rows, cols int
	terms      []term
	to         []torch.Piece // every copy of it
	addend     *tl.Ptr       // the bias, one row, or what the block had before; nil if there is none
	addendRows int
}

// term is a part of the sum: n columns of x by n rows of w.
type term struct {
	n    int
	x, w tl.Ptr
	own  *tl.Ptr // where x is to be written for later, if it is
}

// box is what a PE, of a place in a cube, makes of a matrix.
type box struct {
	pe, cube, place      int
	row, col, rows, cols int
}

// Activations returns where the results of a layer lie, and where its input is best, given
// the placement of its weight. PEs make columns of the result as they have columns of the
// weight, and where they share columns, having rows or copies, rows of the result.
func Activations(weight torch.DPPolicy) torch.DPPolicy {
	for _, level := range []*torch.Split{&weight.Cube, &weight.PE} {
		if *level != torch.ColumnWise {
			*level = torch.RowWise
		}
	}
	return weight
}

// replaced returns a policy with one cut in the place of another.
func replaced(on torch.DPPolicy, old, by torch.Split) torch.DPPolicy {
	for _, level := range []*torch.Split{&on.Cube, &on.PE} {
		if *level == old {
			*level = by
		}
	}
	return on
}

// across returns what PEs make of the first row of a result of so many columns.
func across(r *torch.Rank, weight torch.DPPolicy, cols int) []box {
	return slices.DeleteFunc(boxes(r, weight, 1, cols), func(b box) bool { return b.row > 0 })
}

// boxes returns what each PE makes of a result of so many rows and columns.
func boxes(r *torch.Rank, weight torch.DPPolicy, rows, cols int) []box {
	return layout(r, torch.Shape{rows, cols}, Activations(weight))
}

// layout returns what each PE would have of a tensor seen as a matrix.
func layout(r *torch.Rank, shape torch.Shape, on torch.DPPolicy) (list []box) {
	for _, s := range r.Layout(shape, on) {
		list = append(list, boxOf(r, s))
	}
	return list
}

// boxOf returns what a shard has of its tensor seen as a matrix. Axes between the first and
// the last are never cut.
func boxOf(r *torch.Rank, s torch.Shard) box {
	last := len(s.Extent) - 1
	between := elems(s.Extent[1:last])
	return box{
		pe: r.PE(s.SIP, s.Cube, s.PE), cube: s.Cube, place: s.PE,
		row: s.Start[0] * between, col: s.Start[last], rows: s.Extent[0] * between, cols: s.Extent[last],
	}
}

// plan returns how a PE makes a box, with so many bytes of TCM.
func (p *product) plan(self *torch.Rank, b box, room int) *plan {
	plan := &plan{x: p.x, w: p.w, col: b.col, dtype: p.dtype(), keep: p.keep}
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
	} else if p.add {
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
	if p.own != nil {
		own = p.own.Pieces(b.row, 0, b.rows, k, b.pe)
	}
	elem := p.dtype().Size()
	tiles := [2]int{p.x.tiles(), p.w.tiles()}
	size := c.fit(p.wide, tiles, elem, room)
	if plan.keep {
		size = c.fit(p.wide, tiles, elem, room-b.rows*k*elem)
		if plan.keep = c.kept(size, elem) <= room/2; !plan.keep { // many small pieces take more than their bytes
			size = c.fit(p.wide, tiles, elem, room)
		}
	}
	spec := self.Topology().Spec()
	for _, r := range ranges(c.rows, size.rows) {
		written := p.written
		for _, n := range ranges(c.cols, size.cols) {
			made := block{rows: r.n, cols: n.n, to: at(to, r.from, n.from)}
			for _, s := range ranges(c.k, size.k) {
				t := term{n: s.n, w: at(w, s.from, n.from)[0].Ptr}
				switch {
				case written:
					t.x = at(own, r.from, s.from)[0].Ptr
				case x != nil:
					t.x = at(x, r.from, s.from)[0].Ptr
				}
				if p.own != nil && !written {
					t.own = &at(own, r.from, s.from)[0].Ptr
				}
				made.terms = append(made.terms, t)
			}
			written = p.own != nil
			made.rotate(b.cube, spec.CubesPerSIP(), b.place, spec.PEsPerCube())
			if p.bias != nil {
				made.addend, made.addendRows = &at(addend, 0, n.from)[0].Ptr, 1
			} else if p.add {
				made.addend, made.addendRows = &at(addend, r.from, n.from)[0].Ptr, r.n
			}
			plan.blocks = append(plan.blocks, made)
		}
	}
	return plan
}

// rotate has the PEs of a device begin with different terms, so that not all read the
// same memory at the same time: cubes are apart by a cube's share of the terms, PEs of a
// cube by a PE's.
func (b *block) rotate(cube, cubes, pe, pes int) {
	n := len(b.terms)
	first := (cube*n/cubes + pe*n/pes) % n
	b.terms = slices.Concat(b.terms[first:], b.terms[:first])
}

// at returns the pieces that have an element, from there on.
func at(list []torch.Piece, row, col int) (found []torch.Piece) {
	for _, p := range list {
		if row >= p.Row && row < p.Row+p.Rows && col >= p.Col && col < p.Col+p.Cols {
			p.Ptr = p.Ptr.At(row-p.Row, col-p.Col)
			found = append(found, p)
		}
	}
	return found
}
