package tp

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// peers is a group as one of its ranks sees it, for a mapping under way.
type peers struct {
	r     *torch.Rank
	who   string // name of the launches
	group *dist.Group
	on    torch.DPPolicy // layout of new tensors

	temporaries stack // that the mapping frees when it is done
}

// step is one direction of a mapping, over a group of several ranks.
type step func(p *peers, x *torch.Tensor) (*torch.Tensor, error)

// run returns what a step makes of x.
func (p *peers) run(do step, x *torch.Tensor) (*torch.Tensor, error) {
	y, err := do(p, x)
	if err = errors.Join(err, p.temporaries.free()); y == x {
		return x, err
	}
	return orFree(y, err)
}

// keep returns x itself.
func keep(_ *peers, x *torch.Tensor) (*torch.Tensor, error) { return x, nil }

// allReduce makes x the sum of all ranks'.
func allReduce(p *peers, x *torch.Tensor) (*torch.Tensor, error) {
	return x, dist.AllReduce(p.r, x, dist.SUM, p.group)
}

// split returns the rank's own part along an axis.
func split(a axis) step {
	return func(p *peers, x *torch.Tensor) (*torch.Tensor, error) {
		parts, err := p.even(a, x)
		if err != nil {
			return nil, err
		}
		out, err := p.empty(x, a, parts[p.group.Rank()])
		if err != nil {
			return nil, err
		}
		return out, copyMatrix(p.r, p.who, a.part(x, p.group.Rank()*parts[0], parts[0]), stack{out}.blocks())
	}
}

// gather puts the ranks' tensors together along an axis.
func gather(a axis) step {
	return func(p *peers, x *torch.Tensor) (*torch.Tensor, error) {
		extent, in := a.extent(x), stack{x}
		list, err := p.empties(x, a, slices.Repeat([]int{extent}, p.group.Size()))
		if err == nil && !reflect.DeepEqual(x.Shards(), list[0].Shards()) { // a collective's tensors are laid out alike
			in, err = p.cut(a, x, []int{extent})
		}
		if err != nil {
			return nil, err
		}
		if err := dist.AllGather(p.r, list, in[0], p.group); err != nil {
			return nil, err
		}
		return p.join(a, list)
	}
}

// reduceScatter returns the rank's part along an axis of the sum of all ranks'.
func reduceScatter(a axis) step {
	return func(p *peers, x *torch.Tensor) (*torch.Tensor, error) {
		parts, err := p.even(a, x)
		if err != nil {
			return nil, err
		}
		list, err := p.cut(a, x, parts)
		if err != nil {
			return nil, err
		}
		out, err := p.empty(x, a, parts[p.group.Rank()])
		if err != nil {
			return nil, err
		}
		return out, dist.ReduceScatter(p.r, out, list, dist.SUM, p.group)
	}
}

// allToAll cuts a tensor along one axis into a part for each rank and puts what they send
// together along another. Parts are even if their sizes are nil.
func allToAll(cut, join axis, in, out []int) step {
	return func(p *peers, x *torch.Tensor) (*torch.Tensor, error) {
		send, receive, err := p.splits(cut, x, in, out)
		if err != nil {
			return nil, err
		}
		from, err := p.cut(cut, x, send)
		if err != nil {
			return nil, err
		}
		to, err := p.empties(x, cut, receive)
		if err == nil {
			err = dist.AllToAll(p.r, to, from, p.group)
		}
		if err != nil {
			return nil, err
		}
		return p.join(join, to)
	}
}

// orFree returns a new tensor, or what went wrong: then there is none.
func orFree(x *torch.Tensor, err error) (*torch.Tensor, error) {
	if err != nil && x != nil {
		return nil, errors.Join(err, x.Free())
	}
	return x, err
}

// result returns a new tensor, or what went wrong with the name of what makes it: then there
// is none.
func result(who string, x *torch.Tensor, err error) (*torch.Tensor, error) {
	if x, err = orFree(x, err); err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	return x, nil
}

// Spread is how tensors of this package are laid out: columns over the cubes of a device,
// rows over the PEs of each.
var Spread = torch.DPPolicy{Cube: torch.ColumnWise, PE: torch.RowWise}

// ByTokens is another way to lay out weights: each cube has a copy of all of them, cut by
// columns over its PEs, and works on tokens of its own. Activations do not cross from
// cube to cube then, at the price of memory.
var ByTokens = torch.DPPolicy{Cube: torch.Replicate, PE: torch.ColumnWise}

// corner is an element of a matrix, the first of a box.
type corner struct {
	x        *torch.Tensor
	row, col int
}

// copied is a tile that a kernel copies.
type copied struct {
	from, to tl.Ptr
	shape    tl.Shape
}

func (c copied) run(t *tl.PE) { t.Store(c.to, t.Load(c.from, c.shape, c.from.DType)) }

// tilesOfTCM is how many tiles of a copy TCM has room for: so many are on their way at
// once, since a load does not wait for the stores before it.
const tilesOfTCM = 64

// copyMatrix copies a matrix to another of the same extents and dtype, in one launch: each PE
// reads what it holds of the destination.
func copyMatrix(r *torch.Rank, name string, from, to blockMatrix) error {
	room := tcm(r) / tilesOfTCM
	var tiles jobs[copied]
	for _, part := range to {
		for _, s := range part.from.x.Shards() {
			b := boxOf(r, s)
			for _, own := range (blockMatrix{part}).pieces(b.row+part.row-part.from.row, b.col+part.col-part.from.col, b.rows, b.cols, b.pe) {
				for _, p := range from.pieces(own.Row, own.Col, own.Rows, own.Cols, b.pe) {
					to := own.Ptr.At(p.Row-own.Row, p.Col-own.Col)
					tiles.add(b.pe, tilesOf(p, to, room/p.Ptr.DType.Size())...)
				}
			}
		}
	}
	return tiles.launch(r, name, slices.Concat(from, to).tensors()...)
}

// tilesOf cuts the copy of a piece into tiles of so many elements at most: of whole rows,
// or where a row is too long for that of a part of one.
func tilesOf(p torch.Piece, to tl.Ptr, elems int) (list []copied) {
	cols := min(p.Cols, elems)
	rows := min(p.Rows, elems/cols)
	for row := 0; row < p.Rows; row += rows {
		for col := 0; col < p.Cols; col += cols {
			shape := tl.Shape{min(rows, p.Rows-row), min(cols, p.Cols-col)}
			list = append(list, copied{p.Ptr.At(row, col), to.At(row, col), shape})
		}
	}
	return list
}
