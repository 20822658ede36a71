package tp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// axis is a dimension of a tensor: the first or the last.
type axis int

const (
	tokens axis = iota
	features
)

func (a axis) String() string { return [...]string{"first", "last"}[a] }

// of returns which axis it is of a shape.
func (a axis) of(shape torch.Shape) int {
	if a == tokens {
		return 0
	}
	return len(shape) - 1
}

// extent returns the extent of a tensor along the axis.
func (a axis) extent(x *torch.Tensor) int { return x.Shape()[a.of(x.Shape())] }

// part returns n places of a tensor along the axis as a matrix. A place along the first of
// three axes is as many rows as the second has.
func (a axis) part(x *torch.Tensor, first, n int) blockMatrix {
	if a == features {
		return columnsOf(x, first, n)
	}
	each := rowsOf(x) / max(1, x.Shape()[0])
	return blockMatrix{{corner{x, first * each, 0}, 0, 0, n * each, colsOf(x)}}
}

// join returns the matrix of tensors one after the other along the axis.
func (a axis) join(list stack) (m blockMatrix) {
	row, col := 0, 0
	for _, x := range list {
		m = append(m, submatrix{corner{x, 0, 0}, row, col, rowsOf(x), colsOf(x)})
		if a == tokens {
			row += rowsOf(x)
		} else {
			col += colsOf(x)
		}
	}
	return m
}

// even returns the sizes of each rank's part of a tensor along an axis.
func (p *peers) even(a axis, x *torch.Tensor) ([]int, error) {
	n := a.extent(x)
	if n%p.group.Size() != 0 {
		return nil, fmt.Errorf("the %v dimension of %v, %d, does not divide by the world size of %d", a, x.Shape(), n, p.group.Size())
	}
	return slices.Repeat([]int{n / p.group.Size()}, p.group.Size()), nil
}

// splits returns the sizes of the parts that are sent and received along an axis, even if they
// are not given.
func (p *peers) splits(a axis, x *torch.Tensor, in, out []int) (send, receive []int, err error) {
	if in == nil && out == nil {
		send, err = p.even(a, x)
		return send, send, err
	}
	sum := 0
	for _, k := range in {
		sum += k
	}
	if len(in) != p.group.Size() || len(out) != p.group.Size() || slices.Min(in) < 0 || slices.Min(out) < 0 || sum != a.extent(x) {
		return nil, nil, fmt.Errorf("splits %v to send and %v to receive: give one for each of %d ranks, of which those to send add up to the %v dimension, %d", in, out, p.group.Size(), a, a.extent(x))
	}
	return in, out, nil
}

// empty returns a tensor like x of another extent along an axis.
func (p *peers) empty(x *torch.Tensor, a axis, extent int) (*torch.Tensor, error) {
	shape := x.Shape()
	shape[a.of(shape)] = extent
	return p.r.Empty(x.DType(), shape, p.on)
}

// empties returns temporaries like x of other extents along an axis.
func (p *peers) empties(x *torch.Tensor, a axis, extents []int) (list stack, err error) {
	list, err = newStack(len(extents), func(i int) (*torch.Tensor, error) { return p.empty(x, a, extents[i]) })
	p.temporaries = append(p.temporaries, list...)
	return list, err
}

// cut copies parts of a tensor along an axis to temporaries of their own.
func (p *peers) cut(a axis, x *torch.Tensor, extents []int) (stack, error) {
	list, err := p.empties(x, a, extents)
	if err != nil {
		return nil, err
	}
	return list, copyMatrix(p.r, p.who, stack{x}.blocks(), a.join(list))
}

// join puts tensors together along an axis.
func (p *peers) join(a axis, list stack) (*torch.Tensor, error) {
	extent := 0
	for _, x := range list {
		extent += a.extent(x)
	}
	y, err := p.empty(list[0], a, extent)
	if err != nil {
		return nil, err
	}
	return y, copyMatrix(p.r, p.who, a.join(list), stack{y}.blocks())
}

// addUp has a function fill the rank's addend of all rows, and adds up those of the
// tensor parallel group in y: all of it, or with scatter the rank's rows. The addend is
// then a tensor like y for each rank, one below the other.
func addUp(r *torch.Rank, g *dist.Group, y *torch.Tensor, scatter bool, fill func(addend stack) error) error {
	size := g.Size()
	if !scatter || size == 1 {
		err := fill(stack{y})
		if err == nil && size > 1 {
			err = dist.AllReduce(r, y, dist.SUM, g)
		}
		return err
	}
	addend, err := newStack(size, func(int) (*torch.Tensor, error) { return r.EmptyLike(y) })
	if err != nil {
		return err
	}
	if err = fill(addend); err == nil {
		err = dist.ReduceScatter(r, y, addend, dist.SUM, g)
	}
	return errors.Join(err, addend.free())
}

// gatheredRows returns the tensors x of all ranks of the tensor parallel group.
func gatheredRows(r *torch.Rank, g *dist.Group, x *torch.Tensor) (stack, error) {
	all, err := newStack(g.Size(), func(int) (*torch.Tensor, error) { return r.EmptyLike(x) })
	if err != nil {
		return nil, err
	}
	if err := dist.AllGather(r, all, x, g); err != nil {
		return nil, errors.Join(err, all.free())
	}
	return all, nil
}

// cuts is where a product is cut because of where its operands and its result lie, along
// each axis: both ends and what is between them, in any order.
type cuts struct{ rows, cols, k []int }

// Blocks are as large as keeps the array busy and the number of commands small.
const (
	blockRows = 128
	blockCols = 512
	blockK    = 512
	stages    = 3 // operands in TCM: in use, there, and on their way
)

// blockSize is the largest block of a result, and how much of K is read at once.
type blockSize struct{ rows, cols, k int }

// fit returns the largest blocks of elements of so many bytes for which TCM has room, as if
// there were at least so many columns. Tiles is how many of x and of w there are at a time.
func (c *cuts) fit(wide int, tiles [2]int, elem, room int) blockSize {
	s := blockSize{rows: min(blockRows, widest(c.rows)), cols: min(blockCols, max(wide, widest(c.cols))), k: min(blockK, widest(c.k))}
	for {
		operands, sums := s.k*(tiles[0]*s.rows+tiles[1]*s.cols)*elem, 5*s.rows*s.cols*4 // sums: two, each before and after, and as written
		switch {
		case operands+sums <= room || s.rows*s.cols*s.k == 1:
			return s
		case s.k > 64 || s.k > 1 && s.k >= s.rows && s.k >= s.cols:
			s.k = (s.k + 1) / 2
		case s.cols >= s.rows:
			s.cols = (s.cols + 1) / 2
		default:
			s.rows = (s.rows + 1) / 2
		}
	}
}

// kept returns the bytes that all tiles of x take in TCM, in blocks of these sizes: each takes
// whole granules of 256.
func (c *cuts) kept(s blockSize, elem int) (bytes int) {
	const granule = 256
	for _, r := range ranges(c.rows, s.rows) {
		for _, k := range ranges(c.k, s.k) {
			bytes += (r.n*k.n*elem + granule - 1) / granule * granule
		}
	}
	return bytes
}

// starts returns the first row and the first column of each piece.
func starts(list []torch.Piece) (rows, cols []int) {
	for _, p := range list {
		rows, cols = append(rows, p.Row), append(cols, p.Col)
	}
	return rows, cols
}

// shifted returns pieces in coordinates that begin at another row and column.
func shifted(list []torch.Piece, row, col int) []torch.Piece {
	for i := range list {
		list[i].Row, list[i].Col = list[i].Row-row, list[i].Col-col
	}
	return list
}

// interval is n places from one on.
type interval struct{ from, n int }

// ranges returns the intervals between cuts, each cut further into parts of equal size, up to
// the last, none of which has more than so many.
func ranges(cuts []int, most int) (list []interval) {
	sorted := slices.Compact(slices.Sorted(slices.Values(cuts)))
	for i := range len(sorted) - 1 {
		from, n := sorted[i], sorted[i+1]-sorted[i]
		parts := (n + most - 1) / most
		each := (n + parts - 1) / parts
		for at := 0; at < n; at += each {
			list = append(list, interval{from + at, min(each, n-at)})
		}
	}
	return list
}

// widest returns the largest interval between cuts.
func widest(cuts []int) (most int) {
	for _, r := range ranges(cuts, 1<<62) {
		most = max(most, r.n)
	}
	return most
}
