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

// exchange is one call of Forward or Backward of a mapping, on one rank of a group.
type exchange struct {
	r     *torch.Rank
	who   string // name of the launches
	group *dist.Group
	on    torch.DPPolicy // placement of new tensors

	temporaries stack // tensors that run frees
}

// mapFunc is one direction of a mapping over a group of at least two ranks: Forward or
// Backward.
type mapFunc func(p *exchange, x *torch.Tensor) (*torch.Tensor, error)

// run applies `do`, one direction of a mapping, to x and returns the result. It then frees
// the temporaries. On an error it also frees the result, unless the result is x.
func (p *exchange) run(do mapFunc, x *torch.Tensor) (*torch.Tensor, error) {
	y, err := do(p, x)
	if err = errors.Join(err, p.temporaries.free()); y == x {
		return x, err
	}
	return freeOnError(y, err)
}

// identity returns x itself. It is the mapFunc of a direction that changes nothing.
func identity(_ *exchange, x *torch.Tensor) (*torch.Tensor, error) { return x, nil }

// allReduce replaces x with the sum over all ranks, and returns x. It is a mapFunc.
func allReduce(p *exchange, x *torch.Tensor) (*torch.Tensor, error) {
	return x, dist.AllReduce(p.r, x, dist.SUM, p.group)
}

// split returns a mapFunc that returns the rank's own part of x along axis a.
func split(a axis) mapFunc {
	return func(p *exchange, x *torch.Tensor) (*torch.Tensor, error) {
		parts, err := p.evenParts(a, x)
		if err != nil {
			return nil, err
		}
		out, err := p.newTensor(x, a, parts[p.group.Rank()])
		if err != nil {
			return nil, err
		}
		return out, copyMatrix(p.r, p.who, a.part(x, p.group.Rank()*parts[0], parts[0]), stack{out}.blocks())
	}
}

// gather returns a mapFunc that joins the tensors x of all ranks along axis a.
func gather(a axis) mapFunc {
	return func(p *exchange, x *torch.Tensor) (*torch.Tensor, error) {
		extent, in := a.extent(x), stack{x}
		list, err := p.newTemporaries(x, a, slices.Repeat([]int{extent}, p.group.Size()))
		// The tensors of a collective must have the same placement.
		if err == nil && !reflect.DeepEqual(x.Shards(), list[0].Shards()) {
			in, err = p.copyParts(a, x, []int{extent})
		}
		if err != nil {
			return nil, err
		}
		if err := dist.AllGather(p.r, list, in[0], p.group); err != nil {
			return nil, err
		}
		return p.joinParts(a, list)
	}
}

// reduceScatter returns a mapFunc that sums x over all ranks and returns the rank's part of
// the sum along axis a.
func reduceScatter(a axis) mapFunc {
	return func(p *exchange, x *torch.Tensor) (*torch.Tensor, error) {
		parts, err := p.evenParts(a, x)
		if err != nil {
			return nil, err
		}
		list, err := p.copyParts(a, x, parts)
		if err != nil {
			return nil, err
		}
		out, err := p.newTensor(x, a, parts[p.group.Rank()])
		if err != nil {
			return nil, err
		}
		return out, dist.ReduceScatter(p.r, out, list, dist.SUM, p.group)
	}
}

// allToAll returns a mapFunc that divides a tensor along the axis `cut`, sends one part to
// each rank, and joins the received parts along the axis `join`. `in` lists the sizes of
// the parts that are sent, and `out` the sizes of the parts that are received. If both are
// nil, the parts are equal.
func allToAll(cut, join axis, in, out []int) mapFunc {
	return func(p *exchange, x *torch.Tensor) (*torch.Tensor, error) {
		send, receive, err := p.partSizes(cut, x, in, out)
		if err != nil {
			return nil, err
		}
		from, err := p.copyParts(cut, x, send)
		if err != nil {
			return nil, err
		}
		to, err := p.newTemporaries(x, cut, receive)
		if err == nil {
			err = dist.AllToAll(p.r, to, from, p.group)
		}
		if err != nil {
			return nil, err
		}
		return p.joinParts(join, to)
	}
}

// freeOnError returns x and nil if err is nil. Otherwise it frees x and returns nil and
// err.
func freeOnError(x *torch.Tensor, err error) (*torch.Tensor, error) {
	if err != nil && x != nil {
		return nil, errors.Join(err, x.Free())
	}
	return x, err
}

// wrapResult returns x and nil if err is nil. Otherwise it frees x, and returns nil and err
// with the name `who` in front.
func wrapResult(who string, x *torch.Tensor, err error) (*torch.Tensor, error) {
	if x, err = freeOnError(x, err); err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	return x, nil
}

// Spread is the default placement in this package: columns are divided over the cubes of a
// device, rows over the PEs of each cube.
var Spread = torch.DPPolicy{Cube: torch.ColumnWise, PE: torch.RowWise}

// ByTokens is another placement of weights: each cube has a copy of the whole weight,
// divided by columns over its PEs, and computes its own tokens. Activations then do not
// move between cubes, but weights take more memory.
var ByTokens = torch.DPPolicy{Cube: torch.Replicate, PE: torch.ColumnWise}

// corner is the position of the first element of a box in a tensor seen as a matrix.
type corner struct {
	x        *torch.Tensor
	row, col int
}

// tileCopy is one tile that a kernel copies, with its source and destination.
type tileCopy struct {
	from, to tl.Ptr
	shape    tl.Shape
}

func (c tileCopy) run(t *tl.PE) { t.Store(c.to, t.Load(c.from, c.shape, c.from.DType)) }

// copyTilesInTCM is the number of tiles of a copy that fit in TCM. That many tiles are in
// flight at once, because a load does not wait for earlier stores.
const copyTilesInTCM = 64

// copyMatrix copies the matrix `from` to the matrix `to`, which has the same extents and
// dtype, in one launch. Each PE writes the shards of `to` that this PE holds.
func copyMatrix(r *torch.Rank, name string, from, to blockMatrix) error {
	tileBytes := tcmBytes(r) / copyTilesInTCM
	var tiles jobs[tileCopy]
	for _, part := range to {
		for _, s := range part.from.x.Shards() {
			b := boxOf(r, s)
			for _, own := range (blockMatrix{part}).pieces(b.row+part.row-part.from.row, b.col+part.col-part.from.col, b.rows, b.cols, b.pe) {
				for _, p := range from.pieces(own.Row, own.Col, own.Rows, own.Cols, b.pe) {
					to := own.Ptr.At(p.Row-own.Row, p.Col-own.Col)
					tiles.add(b.pe, splitCopy(p, to, tileBytes/p.Ptr.DType.Size())...)
				}
			}
		}
	}
	return tiles.launch(r, name, slices.Concat(from, to).tensors()...)
}

// splitCopy divides the copy of piece p to the address `to` into tiles of at most elems
// elements. A tile has whole rows or, if a row is longer than elems, a part of one row.
func splitCopy(p torch.Piece, to tl.Ptr, elems int) (list []tileCopy) {
	cols := min(p.Cols, elems)
	rows := min(p.Rows, elems/cols)
	for row := 0; row < p.Rows; row += rows {
		for col := 0; col < p.Cols; col += cols {
			shape := tl.Shape{min(rows, p.Rows-row), min(cols, p.Cols-col)}
			list = append(list, tileCopy{p.Ptr.At(row, col), to.At(row, col), shape})
		}
	}
	return list
}
