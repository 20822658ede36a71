package tp

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// rowwise is work along the rows of a matrix that lies on many PEs, each of which works
// on its own share. What a PE takes together of its columns, such as their sum, is a
// partial result for each of its rows. It goes to a matrix of partials, which the next
// launch reads on the PEs that have other columns of these rows.
type rowwise struct {
	ctx    *torch.Context
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

func newRowwise(ctx *torch.Context, name string, x *torch.Tensor) *rowwise {
	r := &rowwise{ctx: ctx, name: name, x: x, room: tcm(ctx) / tilesOfBand}
	shards := slices.DeleteFunc(x.Shards(), func(s torch.Shard) bool { return elems(s.Extent) == 0 })
	rows := func(a, b torch.Shard) int { return cmp.Or(a.Start[0]-b.Start[0], a.Copy-b.Copy) }
	slices.SortFunc(shards, func(a, b torch.Shard) int { return cmp.Or(rows(a, b), a.Start[len(a.Start)-1]-b.Start[len(b.Start)-1]) })
	for i, s := range shards {
		h := share{copy: s.Copy, index: i, first: i, box: boxOf(ctx, s)}
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
	x, err := r.ctx.Empty(torch.F32, shape, torch.On(r.pes...))
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
	_, err := r.ctx.Launch(r.name+" "+step, func(t *tl.PE) { walks[t.Rank()].run(t, do) },
		torch.PEs(r.pes...), torch.Using(r.x), torch.Using(use.vectors...), torch.Using(use.columns...), torch.Using(use.others...))
	return err
}
