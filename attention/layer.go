package attention

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// layer is the common part of the kernels of this package: which tokens each holder has,
// which heads a PE has, and the sizes of its tiles.
type layer struct {
	grid
	rank            *torch.Rank
	mesh            Mesh
	dtype           tl.DType
	kv              int // number of KV heads of a PE
	group           int // number of query heads per KV head
	dim             int
	scale           float64
	tokens          int // number of tokens with keys and values
	tokensPerHolder int // tokens of a holder; the last holders may have fewer
	keysPerBlock    int
	chunkTokens     int // tokens whose queries are in one tile
	tcm             int // bytes of TCM for tiles
}

// blockKeys is the largest number of keys in a block. With fewer keys the output is
// rescaled more often; more keys save little.
const blockKeys = 128

// tileRows is the approximate number of rows in a tile of queries.
const tileRows = 64

// newLayer divides the given number of tokens over the holders of mesh m, and the heads
// over its lanes. It returns an error if that is impossible.
func newLayer(r *torch.Rank, m Mesh, h Heads, tokens int, dtype tl.DType) (layer, error) {
	if err := m.check(); err != nil {
		return layer{}, err
	}
	if err := h.Check(); err != nil {
		return layer{}, fmt.Errorf("attention: %w", err)
	}
	lanes := len(m.Lanes)
	switch {
	case h.Lanes(lanes) != lanes:
		return layer{}, fmt.Errorf("attention: %d query and %d KV heads over %d lanes: take %d lanes, which share them evenly", h.Query, h.KV, lanes, h.Lanes(lanes))
	case tokens < 1:
		return layer{}, fmt.Errorf("attention: %d tokens: there has to be one", tokens)
	}
	spec := r.Topology().Spec().PE
	l := layer{grid: m.grid(), rank: r, mesh: m, dtype: dtype, dim: h.Dim, scale: h.Scale(), tokens: tokens, tcm: int(spec.TCM.Size)}
	l.kv = max(1, h.KV/lanes)
	l.group = h.Query / lanes / l.kv
	l.tokensPerHolder = tl.CDiv(tokens, m.Holders())
	l.keysPerBlock = min(blockKeys, l.tokensPerHolder)
	l.chunkTokens = max(1, tileRows/l.group)
	if spec.IPCQ.BufferKind == topology.BufferTCM {
		l.tcm -= len(ports) * spec.IPCQ.NSlots * int(spec.IPCQ.SlotSize)
	}
	return l, nil
}

// checkPlacement returns an error unless x is contiguous and has the given shape, the dtype
// of the layer and the placement that kernels expect: its columns are divided over the
// lanes. If `cut` is true, its rows are divided over the holders; otherwise each holder has
// all rows. `name` is the tensor's name in the error.
func (l *layer) checkPlacement(name string, x *torch.Tensor, rows, cols int, cut bool) error {
	if want := (torch.Shape{rows, cols}); x.Shape().String() != want.String() || x.DType() != l.dtype {
		return fmt.Errorf("attention: %s %v %v: want %v %v", name, x.DType(), x.Shape(), l.dtype, want)
	}
	if !x.IsContiguous() {
		return fmt.Errorf("attention: %s is a view that is not contiguous: give what Contiguous returns", name)
	}
	held := map[int]torch.Shard{}
	for _, s := range x.Shards() {
		held[l.rank.PE(s.SIP, s.Cube, s.PE)] = s
	}
	wide := cols / len(l.mesh.Lanes)
	for lane, pes := range l.mesh.Lanes {
		for place, pe := range pes {
			from, n, placement := 0, rows, "Copies"
			if cut {
				share := tl.CDiv(rows, l.places())
				from, placement = min(place*share, rows), "Rows"
				n = min(share, rows-from)
			}
			s, ok := held[pe]
			if !ok || n > 0 && (s.Start[0] != from || s.Start[1] != lane*wide || s.Extent[0] != n || s.Extent[1] != wide) {
				return fmt.Errorf("attention: %s: PE %d does not hold rows %d to %d and columns %d to %d of it: place it as Mesh.%s says, and several lanes on all cubes of the current device",
					name, pe, from, from+n, lane*wide, (lane+1)*wide, placement)
			}
		}
	}
	return nil
}

// checkCache returns an error unless k and v have the shape and the placement that kernels
// expect: one row per token, and columns arranged by Heads.Spread.
func (l *layer) checkCache(k, v *torch.Tensor) error {
	wide := len(l.mesh.Lanes) * l.kv * l.dim
	if err := l.checkPlacement("keys, as Heads.Spread has them for the lanes,", k, l.tokens, wide, true); err != nil {
		return err
	}
	return l.checkPlacement("values, as Heads.Spread has them for the lanes,", v, l.tokens, wide, true)
}

// store writes the attention of `n` tokens for one KV head to memory at `to`, and frees the
// softmax state r.
func (l *layer) store(to tl.Ptr, r *Running, n int) {
	x := r.Out()
	if l.dtype != tl.F32 {
		x = x.To(l.dtype)
	}
	r.t.Store(to, x.Reshape(n, l.group*l.dim))
	r.Free()
}

// queryCols returns the number of columns of the tensors with queries and results, over all
// lanes.
func (l *layer) queryCols() int { return len(l.mesh.Lanes) * l.kv * l.group * l.dim }

// shrinkTiles halves the tiles of queries or of keys until they fit into the given number
// of bytes of TCM, or until they cannot be halved. `need` returns the bytes of TCM for the
// current sizes.
func (l *layer) shrinkTiles(need func() int, bytes int) {
	for need() > bytes && (l.chunkTokens > 1 || l.keysPerBlock > 1) {
		if l.chunkTokens > 1 && l.chunkTokens*l.group >= l.keysPerBlock {
			l.chunkTokens /= 2
		} else {
			l.keysPerBlock /= 2
		}
	}
}

// tokensAt returns the number of tokens of the holder at a place of the mesh.
func (l *layer) tokensAt(place int) int {
	return max(0, min(l.tokensPerHolder, l.tokens-place*l.tokensPerHolder))
}

// stateBytes returns the number of bytes of TCM that a softmax state (Running) of the given
// rows takes.
func (l *layer) stateBytes(rows int) int { return rows*4*l.dim + 2*roundUp(4*rows) }

// stepBytes returns the number of bytes of TCM that one step takes. A step computes the
// given number of rows of queries with a block of the given number of keys. stepBytes
// counts scores, mask, masked scores, exponents, exponentials and weights; the output
// before and after the step; and tiles of one column.
func (l *layer) stepBytes(rows, keys int) int {
	return rows*(keys*(4*4+1+l.dtype.Size())+2*4*l.dim) + 12*roundUp(4*rows)
}

// roundUp rounds a number of bytes up to the granularity of TCM.
func roundUp(bytes int) int { return tl.CDiv(bytes, 256) * 256 }

// Heads describes the heads of an attention layer. The Query heads form groups of equal
// size, in order; each group shares one of the KV heads. A head has Dim elements.
type Heads struct{ Query, KV, Dim int }

// Check returns an error if one of the fields is not positive, or if Query is not a
// multiple of KV.
func (h Heads) Check() error {
	if h.Query < 1 || h.KV < 1 || h.Dim < 1 || h.Query%h.KV != 0 {
		return fmt.Errorf("%d query heads and %d KV heads of %d elements: the first has to be a multiple of the second", h.Query, h.KV, h.Dim)
	}
	return nil
}

// Scale returns 1/√Dim, the factor by which scores are multiplied.
func (h Heads) Scale() float64 { return 1 / math.Sqrt(float64(h.Dim)) }

// Lanes returns the number of lanes of a mesh whose holders have the given number of PEs.
// It is the largest number of these PEs over which the heads can be divided evenly. Each PE
// then has whole KV heads, or a part of the query heads of one KV head.
func (h Heads) Lanes(pes int) int {
	for n := pes; n > 1; n-- {
		if h.KV%n == 0 || n%h.KV == 0 && h.Query%n == 0 {
			return n
		}
	}
	return 1
}

// Spread returns the rows of K or V arranged for the given number of lanes. If several
// lanes share a KV head, each of them gets a copy of the head: a row then has max(KV,
// lanes) heads.
func (h Heads) Spread(rows []float32, lanes int) []float32 {
	copies := max(1, lanes/h.KV)
	spread := make([]float32, 0, len(rows)*copies)
	for at := 0; at < len(rows); at += h.Dim {
		for range copies {
			spread = append(spread, rows[at:at+h.Dim]...)
		}
	}
	return spread
}

// Mask says which keys of a block the rows of a tile of queries see. The zero Mask hides no
// key.
type Mask struct {
	causal        bool
	offset, group int
}

// Causal returns a mask that hides keys of later tokens. The tile has `group` rows for each
// query, one for each head that shares the keys. Row r belongs to query r/group and sees
// key j if and only if j <= r/group + offset. offset is the position of the first query
// minus the position of the first key of the block.
func Causal(offset, group int) Mask { return Mask{causal: true, offset: offset, group: group} }

// Hides reports whether the mask hides all keys of the block from a tile with the given
// number of rows. The block can then be skipped.
func (m Mask) Hides(rows int) bool { return m.causal && (rows-1)/m.group+m.offset < 0 }

// hidesSome reports whether the mask hides at least one of the keys from at least one row.
func (m Mask) hidesSome(keys int) bool { return m.causal && keys-1 > m.offset }

// apply returns the scores, with -Inf in place of the scores of hidden keys.
func (m Mask) apply(t *tl.PE, scores tl.Tile) tl.Tile {
	rows, keys := scores.Dim(0), scores.Dim(1)
	if !m.hidesSome(keys) {
		return scores
	}
	queries := tl.CDiv(rows, m.group)
	last := t.Arange(queries, tl.F32).Add(m.offset).Reshape(queries, 1) // the last key that each query sees
	if m.group > 1 {
		last = last.Broadcast(tl.Shape{queries, m.group}).Reshape(rows, 1)
	}
	seen := t.Arange(keys, tl.F32).Reshape(1, keys).Le(last)
	return t.Where(seen, scores, math.Inf(-1))
}
