package tp

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/attention"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// chooseAttentionBlock returns two block sizes: the number of tokens whose queries a PE
// computes together, and the number of keys that it reads at a time. Each token has one row
// of queries for each query head that shares the KV head. A block has at most 256 such rows
// and 128 keys. If the tiles of a block do not fit into TCM, chooseAttentionBlock halves
// the sizes until they fit or both sizes are 1. elem is the size of an element in bytes.
func chooseAttentionBlock(r *torch.Rank, h attention.Heads, tokens, elem int) (queries, keys int) {
	group := h.Query / h.KV
	queries, keys = max(1, min(tokens, 256/group)), 128
	for {
		rows := queries * group
		step := rows * (keys*(20+elem) + 8*h.Dim) // scores, exponents and weights; the output before and after the step
		need := rows*h.Dim*(elem+4) + 4*2*keys*h.Dim*elem + 3*step + 64*256
		switch {
		case need <= tcmBytes(r) || queries*keys == 1:
			return queries, keys
		case keys >= rows && keys > 1 || queries == 1:
			keys /= 2
		default:
			queries /= 2
		}
	}
}

// DotProductAttention computes the causal attention of the rank's own heads. qkv has a row
// for each token: the token's queries, head by head, then its keys and its values, as one
// projection computes them. The result is a new tensor of tokens × Query·Dim, of which each
// PE holds whole rows.
//
// First, keys and values are copied to every cube, and queries are divided over the PEs by
// tokens. A unit of work is the queries of a few tokens for one KV head. Units are assigned
// to the PEs in turn.
func DotProductAttention(r *torch.Rank, name string, qkv *torch.Tensor, h attention.Heads) (*torch.Tensor, error) {
	if err := h.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if shape := qkv.Shape(); len(shape) != 2 || shape[1] != (h.Query+2*h.KV)*h.Dim {
		return nil, fmt.Errorf("%s: input %v: want [tokens %d] of %d query heads, %d key heads and as many of values, of %d elements", name, shape, (h.Query+2*h.KV)*h.Dim, h.Query, h.KV, h.Dim)
	}
	rows := qkv.Shape()[0]
	byToken, everyCube := torch.DPPolicy{Cube: torch.RowWise, PE: torch.RowWise}, torch.DPPolicy{PE: torch.RowWise}
	local, err := newStack(4, func(i int) (*torch.Tensor, error) { // queries, keys, values and the result
		heads, on := h.Query, byToken
		if i == 1 || i == 2 {
			heads, on = h.KV, everyCube
		}
		return r.Empty(qkv.DType(), torch.Shape{rows, heads * h.Dim}, on)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	err = copyMatrix(r, name+" queries, keys, values", stack{qkv}.blocks(), features.join(local[:3]))
	if err == nil {
		err = attend(r, name, h, local[0], local[1], local[2], local[3])
	}
	return wrapResult(name, local[3], errors.Join(err, local[:3].free()))
}

// unit is a unit of work of a PE: the attention of the queries of a few tokens to one KV
// head.
type unit struct {
	first, tokens int
	q, out        tl.Ptr
	k, v          []torch.Piece // all keys and values that the queries see
}

// attend launches the kernel that computes the attention of the queries q to the keys k and
// values v. The kernel stores the result in out. Each PE holds whole heads of these
// tensors.
func attend(self *torch.Rank, name string, h attention.Heads, q, k, v, out *torch.Tensor) error {
	spec := self.Topology().Spec()
	n := spec.CubesPerSIP() * spec.PEsPerCube()
	units := make([][]unit, n)
	pes := lists.Count(self.PE(q.Shards()[0].SIP, 0, 0), n)
	group, next := h.Query/h.KV, 0
	most, keyBlock := chooseAttentionBlock(self, h, max(1, tl.CDiv(q.Shape()[0]*h.KV, n)), q.DType().Size())
	for head := range h.KV {
		for _, r := range splitRanges([]int{0, q.Shape()[0]}, most) {
			pe := pes[next%n]
			keys := r.from + r.n
			units[next%n] = append(units[next%n], unit{
				first: r.from, tokens: r.n,
				q:   q.Pieces(r.from, head*group*h.Dim, r.n, group*h.Dim, pe)[0].Ptr,
				out: out.Copies(r.from, head*group*h.Dim, r.n, group*h.Dim)[0].Ptr,
				k:   k.Pieces(0, head*h.Dim, keys, h.Dim, pe), v: v.Pieces(0, head*h.Dim, keys, h.Dim, pe),
			})
			next++
		}
	}
	_, err := self.Launch(name, func(t *tl.PE) {
		for _, u := range units[t.Rank()] {
			u.run(t, h, keyBlock, q.DType())
		}
	}, torch.PEs(pes...), torch.Using(q, k, v, out))
	return err
}

// run computes the attention of the unit on a PE, keyBlock keys at a time.
func (u *unit) run(t *tl.PE, h attention.Heads, keyBlock int, dtype torch.DType) {
	group := h.Query / h.KV
	q := t.Load(u.q, tl.Shape{u.tokens, group * h.Dim}, dtype).Pin()
	rows := q.Reshape(u.tokens*group, h.Dim)
	running := attention.New(t, u.tokens*group, h.Dim)
	var steps attention.Pipeline
	for i, keys := range u.k {
		for from := 0; from < keys.Rows; from += keyBlock {
			shape := tl.Shape{min(keyBlock, keys.Rows-from), h.Dim}
			k, v := t.Load(keys.Ptr.At(from, 0), shape, dtype), t.Load(u.v[i].Ptr.At(from, 0), shape, dtype)
			steps.Add(running, rows, k, v, h.Scale(), attention.Causal(u.first-keys.Row-from, group))
		}
	}
	steps.Flush()
	t.Store(u.out, running.Out().To(dtype).Reshape(u.tokens, group*h.Dim))
	running.Free()
	q.Free()
}
