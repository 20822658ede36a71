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

// index returns the index of the axis in a shape.
func (a axis) index(shape torch.Shape) int {
	if a == tokens {
		return 0
	}
	return len(shape) - 1
}

// extent returns the extent of a tensor along the axis.
func (a axis) extent(x *torch.Tensor) int { return x.Shape()[a.index(x.Shape())] }

// part returns the part of tensor x from index first to first+n-1 along the axis, as a
// matrix. In a tensor with three axes, an index along the first axis stands for as many
// rows as the extent of the second axis.
func (a axis) part(x *torch.Tensor, first, n int) blockMatrix {
	if a == features {
		return columnsOf(x, first, n)
	}
	each := rowsOf(x) / max(1, x.Shape()[0])
	return blockMatrix{{corner{x, first * each, 0}, 0, 0, n * each, colsOf(x)}}
}

// join returns a matrix in which the tensors of list follow each other along the axis.
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

// evenParts divides the extent of x along axis a into equal parts, and returns the size of
// the part of each rank. It returns an error if the extent is not a multiple of the group
// size.
func (p *exchange) evenParts(a axis, x *torch.Tensor) ([]int, error) {
	n := a.extent(x)
	if n%p.group.Size() != 0 {
		return nil, fmt.Errorf("the %v dimension of %v, %d, does not divide by the world size of %d", a, x.Shape(), n, p.group.Size())
	}
	return slices.Repeat([]int{n / p.group.Size()}, p.group.Size()), nil
}

// partSizes returns the sizes, along axis a, of the parts of x that are sent to each rank,
// and of the parts that are received from each rank. These are `in` and `out`, or equal
// sizes if both are nil. It returns an error if the sizes do not fit x and the group.
func (p *exchange) partSizes(a axis, x *torch.Tensor, in, out []int) (send, receive []int, err error) {
	if in == nil && out == nil {
		send, err = p.evenParts(a, x)
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

// newTensor creates a tensor with the dtype and the shape of x, except that axis a has the
// given extent.
func (p *exchange) newTensor(x *torch.Tensor, a axis, extent int) (*torch.Tensor, error) {
	shape := x.Shape()
	shape[a.index(shape)] = extent
	return p.r.Empty(x.DType(), shape, p.on)
}

// newTemporaries creates one tensor for each number in extents. The tensor is like x, but
// has that extent along axis a. The tensors are added to p.temporaries, which run frees.
func (p *exchange) newTemporaries(x *torch.Tensor, a axis, extents []int) (list stack, err error) {
	list, err = newStack(len(extents), func(i int) (*torch.Tensor, error) { return p.newTensor(x, a, extents[i]) })
	p.temporaries = append(p.temporaries, list...)
	return list, err
}

// copyParts divides x along axis a into parts of the given extents, and copies each part to
// a new temporary.
func (p *exchange) copyParts(a axis, x *torch.Tensor, extents []int) (stack, error) {
	list, err := p.newTemporaries(x, a, extents)
	if err != nil {
		return nil, err
	}
	return list, copyMatrix(p.r, p.who, stack{x}.blocks(), a.join(list))
}

// joinParts creates a tensor in which the tensors of list follow each other along axis a,
// and copies them there.
func (p *exchange) joinParts(a axis, list stack) (*torch.Tensor, error) {
	extent := 0
	for _, x := range list {
		extent += a.extent(x)
	}
	y, err := p.newTensor(list[0], a, extent)
	if err != nil {
		return nil, err
	}
	return y, copyMatrix(p.r, p.who, a.join(list), stack{y}.blocks())
}

// fillAndReduce calls `fill` to compute the rank's addend, and sums the addends of the
// ranks of group g into y. If `scatter` is false, y gets the whole sum. If `scatter` is
// true, y gets the rank's rows of the sum, and the addend is a stack of tensors like y, one
// for each rank.
func fillAndReduce(r *torch.Rank, g *dist.Group, y *torch.Tensor, scatter bool, fill func(addend stack) error) error {
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

// allGather gathers the tensor x of every rank of the tensor parallel group g, and returns
// the tensors by rank.
func allGather(r *torch.Rank, g *dist.Group, x *torch.Tensor) (stack, error) {
	all, err := newStack(g.Size(), func(int) (*torch.Tensor, error) { return r.EmptyLike(x) })
	if err != nil {
		return nil, err
	}
	if err := dist.AllGather(r, all, x, g); err != nil {
		return nil, errors.Join(err, all.free())
	}
	return all, nil
}

// cuts lists the positions along each axis at which a product is divided, because a shard
// of an operand or of the result begins there. It includes both ends of the axis. The order
// does not matter.
type cuts struct{ rows, cols, k []int }

// The largest sizes of blocks. They keep the GEMM array busy and the number of commands
// small.
const (
	blockRows = 128
	blockCols = 512
	blockK    = 512
	stages    = 3 // operands in TCM: in use, loaded, and in flight
)

// blockSize is the size of the largest block of a result, and the largest number of terms
// (columns of x) that are read at once.
type blockSize struct{ rows, cols, k int }

// fit returns the largest block size for which all tiles fit in `tcm` bytes of TCM. It
// assumes that a block has at least minCols columns. `tiles` holds the number of tiles of x
// and of w that are in TCM at a time, and `elem` is the size of an element in bytes.
func (c *cuts) fit(minCols int, tiles [2]int, elem, tcm int) blockSize {
	s := blockSize{rows: min(blockRows, widestRange(c.rows)), cols: min(blockCols, max(minCols, widestRange(c.cols))), k: min(blockK, widestRange(c.k))}
	for {
		// Space for two sums, each before and after an addition, and the converted result.
		operands, sums := s.k*(tiles[0]*s.rows+tiles[1]*s.cols)*elem, 5*s.rows*s.cols*4
		switch {
		case operands+sums <= tcm || s.rows*s.cols*s.k == 1:
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

// keptBytes returns how many bytes of TCM all tiles of x occupy together, if blocks have
// size s and each element has `elem` bytes. Each tile occupies a multiple of 256 bytes.
func (c *cuts) keptBytes(s blockSize, elem int) (bytes int) {
	const granule = 256
	for _, r := range splitRanges(c.rows, s.rows) {
		for _, k := range splitRanges(c.k, s.k) {
			bytes += (r.n*k.n*elem + granule - 1) / granule * granule
		}
	}
	return bytes
}

// starts returns the first row and the first column of each piece in list.
func starts(list []torch.Piece) (rows, cols []int) {
	for _, p := range list {
		rows, cols = append(rows, p.Row), append(cols, p.Col)
	}
	return rows, cols
}

// shift returns the pieces in coordinates that count from the given row and column.
func shift(list []torch.Piece, row, col int) []torch.Piece {
	for i := range list {
		list[i].Row, list[i].Col = list[i].Row-row, list[i].Col-col
	}
	return list
}

// interval is a range of n positions that begins at from.
type interval struct{ from, n int }

// splitRanges returns the intervals between consecutive cuts, divided further so that none
// is longer than `most`. The parts of an interval have equal sizes, except that the last
// part may be shorter.
func splitRanges(cuts []int, most int) (list []interval) {
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

// widestRange returns the length of the longest interval between consecutive cuts.
func widestRange(cuts []int) (most int) {
	for _, r := range splitRanges(cuts, 1<<62) {
		most = max(most, r.n)
	}
	return most
}
