package tp

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// rowwise runs kernels along the rows of a matrix that is divided over many PEs. The part
// of the matrix that a PE holds is the PE's share. A kernel reduces the columns of a share,
// for example to their sum, and stores this partial result for each row in a matrix of
// partials. In the next launch, the PEs with other columns of these rows read the partials.
type rowwise struct {
	rank      *torch.Rank
	name      string // prefix of the names of launches
	x         *torch.Tensor
	shares    []share  // sorted by rows, copies and columns
	pes       []int    // PE of each share
	xStarts   []tl.Ptr // address of each share in x
	maxRows   int      // rows of the share with the most rows
	tileBytes int      // largest size of a tile in f32
}

// share is the part of the matrix that a PE holds. The shares with the same rows and the
// same copy have consecutive indices and together hold all columns.
type share struct {
	box
	copy                int
	index               int // index among all shares
	rowFirst, rowShares int // index of the first share with the same rows and copy, and the number of these shares
}

// newRowwise determines the shares of matrix x, which are the boxes that the PEs hold, and
// returns a rowwise for x. The names of its launches begin with the given name.
func newRowwise(self *torch.Rank, name string, x *torch.Tensor) *rowwise {
	r := &rowwise{rank: self, name: name, x: x, tileBytes: tcmBytes(self) / bandTilesInTCM}
	shards := slices.DeleteFunc(x.Shards(), func(s torch.Shard) bool { return elems(s.Extent) == 0 })
	rows := func(a, b torch.Shard) int { return cmp.Or(a.Start[0]-b.Start[0], a.Copy-b.Copy) }
	slices.SortFunc(shards, func(a, b torch.Shard) int { return cmp.Or(rows(a, b), a.Start[len(a.Start)-1]-b.Start[len(b.Start)-1]) })
	for i, s := range shards {
		h := share{copy: s.Copy, index: i, rowFirst: i, box: boxOf(self, s)}
		if i > 0 && rows(s, shards[i-1]) == 0 {
			h.rowFirst = r.shares[i-1].rowFirst
		}
		r.shares, r.pes = append(r.shares, h), append(r.pes, h.pe)
		r.shares[h.rowFirst].rowShares++
		r.maxRows = max(r.maxRows, h.rows)
	}
	for i := range r.shares {
		h := &r.shares[i]
		h.rowShares = r.shares[h.rowFirst].rowShares
	}
	r.xStarts = r.shareStarts(x)
	return r
}

// shareStarts returns the address of each share in y, which has the placement of r's
// matrix.
func (r *rowwise) shareStarts(y *torch.Tensor) (list []tl.Ptr) {
	for _, h := range r.shares {
		list = append(list, y.Pieces(h.row, h.col, h.rows, h.cols, h.pe)[0].Ptr)
	}
	return list
}

// partials is a matrix of partial results in f32, of one or more kinds, such as sums and
// squares. It has a row for each share, on the PE of the share. That row has a result for
// each matrix row of the share: first all results of kind 0, then all results of kind 1,
// and so on.
type partials struct {
	*torch.Tensor
	own, rowFirst []tl.Ptr // by share: address of its row, and of the row of share.rowFirst
	maxRows       int      // number of results of a kind
}

// newPartials creates a matrix for partial results. For each row of each share, the matrix
// has space for `kinds` results.
func (r *rowwise) newPartials(kinds int) (*partials, error) {
	shape := torch.Shape{len(r.shares), kinds * r.maxRows}
	x, err := r.rank.Empty(torch.F32, shape, torch.On(r.pes...))
	if err != nil {
		return nil, err
	}
	p := &partials{Tensor: x, maxRows: r.maxRows}
	for i, h := range r.shares {
		p.own = append(p.own, x.Pieces(i, 0, 1, shape[1], h.pe)[0].Ptr)
		p.rowFirst = append(p.rowFirst, x.Pieces(h.rowFirst, 0, h.rowShares, shape[1], h.pe)[0].Ptr)
	}
	return p, nil
}

// launchOperands lists the tensors that a launch uses in addition to the matrix. Each
// tensor of `vectors` has an element for each column of the matrix, and each tensor of
// `columns` an element for each row. Kernels compute the addresses in the tensors of
// `others` themselves.
type launchOperands struct {
	vectors, columns, others []*torch.Tensor
	partialsOnly             bool // the kernel uses only partials and does not iterate over tiles
}

// launch runs the kernel `do` on every share. It calls `do` once for each band of rows of
// the share. The name of the launch ends with `step`.
func (r *rowwise) launch(step string, use launchOperands, do func(b *band)) error {
	var walks []*walk
	for i := range r.shares {
		walks = append(walks, newWalk(&r.shares[i], r.xStarts[i], use, r.tileBytes))
	}
	_, err := r.rank.Launch(r.name+" "+step, func(t *tl.PE) { walks[t.Rank()].run(t, do) },
		torch.PEs(r.pes...), torch.Using(r.x), torch.Using(use.vectors...), torch.Using(use.columns...), torch.Using(use.others...))
	return err
}

// GELU returns a new tensor with x·Φ(x) for each element x, approximated with tanh:
// 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))). It is computed in f32 and rounded once. The
// result has the shape, dtype and placement of x.
func GELU(r *torch.Rank, name string, x *torch.Tensor) (*torch.Tensor, error) {
	return mapElements(r, name, func(in []tl.Tile) tl.Tile {
		v := toF32(in[0])
		inner := v.Mul(v).Mul(v).Mul(0.044715).Add(v).Mul(math.Sqrt(2 / math.Pi))
		return v.Mul(0.5).Mul(inner.Tanh().Add(1))
	}, x)
}

// SwiGLU returns gate·sigmoid(gate)·up for each pair of elements of x. `gate` is an element
// in a column of gates, and `up` is the element that it gates. x is the result of layer,
// which has the option Gated. The result is a new tensor with half as many columns as x. It
// is computed in f32 and rounded once.
func SwiGLU(name string, layer *ColumnParallelLinear, x *torch.Tensor) (*torch.Tensor, error) {
	r, weight := layer.rank, layer.o.weight()
	shape := x.Shape()
	if !layer.o.Gated || len(shape) < 2 || colsOf(x) != layer.OutFeaturesPerPartition() {
		return nil, fmt.Errorf("%s: input %v of %s, Gated %t: want what a layer with Gated has made of some tokens, [tokens %d]", name, shape, layer.Name, layer.o.Gated, layer.OutFeaturesPerPartition())
	}
	shape[len(shape)-1] /= 2
	out, err := r.Empty(x.DType(), shape, Activations(weight))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, applyElementwise(r, name, out, func(in []tl.Tile) tl.Tile {
		g := toF32(in[0])
		return g.Mul(g.Sigmoid()).Mul(toF32(in[1]))
	}, func(b box) []operand { // gates are before the columns that they gate, in the same part of x
		return []operand{{x: x, shift: b.col}, {x: x, shift: b.col + b.cols}}
	})
}

// gatedColumns returns the columns of a rank in a layer with the option Gated, in the order
// of the rank's result. For each PE's box of the result it lists first the gates and then
// the columns that they gate. A rank has `half` gates and the same number of gated columns.
// Of the `out` columns of the whole layer, the first half are gates. The rank's gates begin
// at column `first`, and its gated columns at column out/2 + `first`.
func gatedColumns(r *torch.Rank, weight torch.DPPolicy, first, half, out int) (columns []int) {
	for _, b := range firstRowBoxes(r, weight, half) {
		columns = append(columns, lists.Count(first+b.col, b.cols)...)
		columns = append(columns, lists.Count(out/2+first+b.col, b.cols)...)
	}
	return columns
}

// Add returns the elementwise sum of x and y, which have the same shape and dtype. The
// result is a new tensor with the shape, dtype and placement of x.
func Add(r *torch.Rank, name string, x, y *torch.Tensor) (*torch.Tensor, error) {
	return mapElements(r, name, addTiles, x, y)
}

// addTiles returns the sum of the two tiles in `in`.
func addTiles(in []tl.Tile) tl.Tile { return in[0].Add(in[1]) }

// toF32 converts a tile to f32.
func toF32(x tl.Tile) tl.Tile { return convert(x, torch.F32) }

// mapElements applies f to the elements of the tensors `in`, which have the same shape and
// dtype. It returns a new tensor with the shape, dtype and placement of the first of these
// tensors.
func mapElements(r *torch.Rank, name string, f func([]tl.Tile) tl.Tile, in ...*torch.Tensor) (*torch.Tensor, error) {
	var operands []operand
	for _, x := range in {
		if x.Shape().String() != in[0].Shape().String() || x.DType() != in[0].DType() {
			return nil, fmt.Errorf("%s: %v %v and %v %v: want tensors alike", name, in[0].DType(), in[0].Shape(), x.DType(), x.Shape())
		}
		operands = append(operands, operand{x: x})
	}
	out, err := r.EmptyLike(in[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, applyElementwise(r, name, out, f, func(box) []operand { return operands })
}
