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

// rowwise is work along the rows of a matrix that lies on many PEs, each of which works
// on its own share. What a PE takes together of its columns, such as their sum, is a
// partial result for each of its rows. It goes to a matrix of partials, which the next
// launch reads on the PEs that have other columns of these rows.
type rowwise struct {
	rank   *torch.Rank
	name   string // of the launches
	x      *torch.Tensor
	shares []share  // by rows, copies and columns
	pes    []int    // of the shares
	at     []tl.Ptr // where these begin
	most   int      // rows of the largest share
	room   int      // bytes of a tile
}

// share is what a PE holds of the matrix. The shares across are those of the same rows
// and the same copy: they have all columns together, and follow each other.
type share struct {
	box
	copy          int
	index         int // among all shares
	first, across int // which and how many are across
}

func newRowwise(self *torch.Rank, name string, x *torch.Tensor) *rowwise {
	r := &rowwise{rank: self, name: name, x: x, room: tcm(self) / tilesOfBand}
	shards := slices.DeleteFunc(x.Shards(), func(s torch.Shard) bool { return elems(s.Extent) == 0 })
	rows := func(a, b torch.Shard) int { return cmp.Or(a.Start[0]-b.Start[0], a.Copy-b.Copy) }
	slices.SortFunc(shards, func(a, b torch.Shard) int { return cmp.Or(rows(a, b), a.Start[len(a.Start)-1]-b.Start[len(b.Start)-1]) })
	for i, s := range shards {
		h := share{copy: s.Copy, index: i, first: i, box: boxOf(self, s)}
		if i > 0 && rows(s, shards[i-1]) == 0 {
			h.first = r.shares[i-1].first
		}
		r.shares, r.pes = append(r.shares, h), append(r.pes, h.pe)
		r.shares[h.first].across++
		r.most = max(r.most, h.rows)
	}
	for i := range r.shares {
		h := &r.shares[i]
		h.across = r.shares[h.first].across
	}
	r.at = r.owned(x)
	return r
}

// owned returns where each share begins in a matrix that is laid out as x is.
func (r *rowwise) owned(y *torch.Tensor) (list []tl.Ptr) {
	for _, h := range r.shares {
		list = append(list, y.Pieces(h.row, h.col, h.rows, h.cols, h.pe)[0].Ptr)
	}
	return list
}

// partials is results for the rows of each share, of one or more kinds, in f32: a row
// for each share, on its PE, with the kinds one after the other.
type partials struct {
	*torch.Tensor
	own, across []tl.Ptr // by share: its row, and that of the first share across
	most        int      // results of a kind
}

func (r *rowwise) partials(kinds int) (*partials, error) {
	shape := torch.Shape{len(r.shares), kinds * r.most}
	x, err := r.rank.Empty(torch.F32, shape, torch.On(r.pes...))
	if err != nil {
		return nil, err
	}
	p := &partials{Tensor: x, most: r.most}
	for i, h := range r.shares {
		p.own = append(p.own, x.Pieces(i, 0, 1, shape[1], h.pe)[0].Ptr)
		p.across = append(p.across, x.Pieces(h.first, 0, h.across, shape[1], h.pe)[0].Ptr)
	}
	return p, nil
}

// besides is what a launch uses besides the matrix. Vectors have an element for each of
// its columns, columns one for each of its rows; kernels themselves know where the others
// are.
type besides struct {
	vectors, columns, others []*torch.Tensor
	partials                 bool // alone: the kernel does not go over the tiles
}

// launch runs a kernel on every share, a band of its rows at a time.
func (r *rowwise) launch(step string, use besides, do func(b *band)) error {
	var walks []*walk
	for i := range r.shares {
		walks = append(walks, newWalk(&r.shares[i], r.at[i], use, r.room))
	}
	_, err := r.rank.Launch(r.name+" "+step, func(t *tl.PE) { walks[t.Rank()].run(t, do) },
		torch.PEs(r.pes...), torch.Using(r.x), torch.Using(use.vectors...), torch.Using(use.columns...), torch.Using(use.others...))
	return err
}

// GELU returns x·Φ(x) in the form with tanh, 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), of
// each element: a new tensor like x. It is computed in f32 and rounded once.
func GELU(r *torch.Rank, name string, x *torch.Tensor) (*torch.Tensor, error) {
	return mapped(r, name, func(in []tl.Tile) tl.Tile {
		v := wide(in[0])
		inner := v.Mul(v).Mul(v).Mul(0.044715).Add(v).Mul(math.Sqrt(2 / math.Pi))
		return v.Mul(0.5).Mul(inner.Tanh().Add(1))
	}, x)
}

// SwiGLU returns gate·sigmoid(gate)·up of each element of x, which a layer with Gated has made: a
// new tensor of half as many columns. It is computed in f32 and rounded once.
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
	return out, elementwise(r, name, out, func(in []tl.Tile) tl.Tile {
		g := wide(in[0])
		return g.Mul(g.Sigmoid()).Mul(wide(in[1]))
	}, func(b box) []operand { // its gates lie before what they gate, in the same part of x
		return []operand{{x: x, shift: b.col}, {x: x, shift: b.col + b.cols}}
	})
}

// gated returns the order of a rank's columns with Gated: for each part of the result first its
// gates, and then what they gate, each of half columns from one on.
func gated(r *torch.Rank, weight torch.DPPolicy, first, half, out int) (columns []int) {
	for _, b := range across(r, weight, half) {
		columns = append(columns, lists.Count(first+b.col, b.cols)...)
		columns = append(columns, lists.Count(out/2+first+b.col, b.cols)...)
	}
	return columns
}

// Add returns the sum of each element: a new tensor like x.
func Add(r *torch.Rank, name string, x, y *torch.Tensor) (*torch.Tensor, error) {
	return mapped(r, name, plus, x, y)
}

// plus adds two tiles.
func plus(in []tl.Tile) tl.Tile { return in[0].Add(in[1]) }

// wide returns a tile in f32.
func wide(x tl.Tile) tl.Tile { return as(x, torch.F32) }

// mapped returns a new tensor like the first of some of one shape.
func mapped(r *torch.Rank, name string, f func([]tl.Tile) tl.Tile, in ...*torch.Tensor) (*torch.Tensor, error) {
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
	return out, elementwise(r, name, out, f, func(box) []operand { return operands })
}
