package tp

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// pass is the work of one PE for an elementwise computation: out = f(in…) over a box of a
// matrix, tile by tile.
type pass struct {
	tiles []passTile
	f     func(in []tl.Tile) tl.Tile
}

// passTile is a tile of a pass: the addresses of its operands and of every copy of the
// result.
type passTile struct {
	in     []tl.Ptr
	shapes []tl.Shape
	to     []torch.Piece
}

// operand is a matrix that a pass reads or writes, or a vector.
type operand struct {
	x      *torch.Tensor
	shift  int  // column of the operand minus column of the box
	vector bool // x is one row, used for every row of the box
}

// pieces returns the pieces of the operand's memory that belong to box b, in the
// coordinates in which b is given. The function `find` returns the pieces of the operand's
// tensor for a range of rows and columns.
func (o operand) pieces(b box, find func(row, col, rows, cols int) []torch.Piece) []torch.Piece {
	row, rows := b.row, b.rows
	if o.vector {
		row, rows = 0, 1
	}
	return shift(find(row, b.col+o.shift, rows, b.cols), 0, o.shift)
}

// newPass plans a pass that computes box b of out = f(in…), with tiles of at most `most`
// bytes.
func newPass(b box, out operand, in []operand, f func([]tl.Tile) tl.Tile, most int) *pass {
	p := &pass{f: f}
	if b.rows*b.cols == 0 {
		return p
	}
	to := out.pieces(b, out.x.Copies)
	c := cuts{rows: []int{b.row, b.row + b.rows}, cols: []int{b.col, b.col + b.cols}}
	from := make([][]torch.Piece, len(in))
	size := out.x.DType().Size()
	for i, o := range in {
		size = max(size, o.x.DType().Size())
		from[i] = o.pieces(b, func(row, col, rows, cols int) []torch.Piece { return o.x.Pieces(row, col, rows, cols, b.pe) })
		rows, cols := starts(from[i])
		if c.cols = append(c.cols, cols...); !o.vector {
			c.rows = append(c.rows, rows...)
		}
	}
	toRows, toCols := starts(to)
	c.rows, c.cols = append(c.rows, toRows...), append(c.cols, toCols...)
	cols := max(1, min(widestRange(c.cols), most/size))
	for _, r := range splitRanges(c.rows, max(1, most/size/cols)) {
		for _, n := range splitRanges(c.cols, cols) {
			tile := passTile{to: piecesAt(to, r.from, n.from)}
			for i, o := range in {
				row, rows := r.from, r.n
				if o.vector {
					row, rows = 0, 1
				}
				tile.in = append(tile.in, piecesAt(from[i], row, n.from)[0].Ptr)
				tile.shapes = append(tile.shapes, tl.Shape{rows, n.n})
			}
			p.tiles = append(p.tiles, tile)
		}
	}
	return p
}

// run runs the pass on its PE. The operands of the next tile are loaded before the
// arithmetic on the current tile.
func (p *pass) run(t *tl.PE) {
	load := func(i int) (list []tl.Tile) {
		if i < len(p.tiles) {
			for k, from := range p.tiles[i].in {
				list = append(list, t.Load(from, p.tiles[i].shapes[k], from.DType).Pin())
			}
		}
		return list
	}
	ahead := load(0)
	for i, tile := range p.tiles {
		in := ahead
		ahead = load(i + 1)
		out := convert(p.f(in), tile.to[0].Ptr.DType)
		for _, to := range tile.to {
			t.Store(to.Ptr, out)
		}
		for _, x := range in {
			x.Free()
		}
	}
}

// applyElementwise launches a kernel that computes out = f(in…) element by element. Each PE
// that holds a shard of the first copy of out computes this shard and stores it in all
// copies. The function `in` returns the operands for the box of a shard.
func applyElementwise(r *torch.Rank, name string, out *torch.Tensor, f func([]tl.Tile) tl.Tile, in func(b box) []operand) error {
	var passes jobs[*pass]
	using := []*torch.Tensor{out}
	for _, s := range out.Shards() {
		b := boxOf(r, s)
		if s.Copy > 0 || b.rows*b.cols == 0 {
			continue
		}
		list := in(b)
		for _, o := range list {
			if !slices.Contains(using, o.x) {
				using = append(using, o.x)
			}
		}
		passes.add(b.pe, newPass(b, operand{x: out}, list, f, tcmBytes(r)/16/(len(list)+1)))
	}
	return passes.launch(r, name, using...)
}
