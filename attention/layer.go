package attention

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// layer is what the kernels of this package have in common: whose keys are where, which
// heads a PE has, and in what blocks it works.
type layer struct {
	grid
	rank   *torch.Rank
	mesh   Mesh
	dtype  tl.DType
	kv     int // KV heads of a PE
	group  int // query heads for each of them
	dim    int
	scale  float64
	tokens int // whose keys and values are cut over the holders
	share  int // of them at a holder, fewer at the last ones
	keys   int // in a block
	chunk  int // tokens whose queries are one tile
	tcm    int // bytes for tiles
}

// blockKeys is the keys in a block where there is room: the scores of fewer have their
// output rescaled more often, and more do not make much of a difference.
const blockKeys = 128

// tileRows is how many rows of queries a tile has, roughly.
const tileRows = 64

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
	l.share = tl.CDiv(tokens, m.Holders())
	l.keys = min(blockKeys, l.share)
	l.chunk = max(1, tileRows/l.group)
	if spec.IPCQ.BufferKind == topology.BufferTCM {
		l.tcm -= len(ports) * spec.IPCQ.NSlots * int(spec.IPCQ.SlotSize)
	}
	return l, nil
}

// laid checks that a matrix of so many rows and columns lies on the mesh as kernels expect
// it: rows cut over the holders, or all with each, and columns over the lanes.
func (l *layer) laid(name string, x *torch.Tensor, rows, cols int, cut bool) error {
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

// cache checks keys and values: rows of tokens, columns as Heads.Spread has them.
func (l *layer) cache(k, v *torch.Tensor) error {
	wide := len(l.mesh.Lanes) * l.kv * l.dim
	if err := l.laid("keys, as Heads.Spread has them for the lanes,", k, l.tokens, wide, true); err != nil {
		return err
	}
	return l.laid("values, as Heads.Spread has them for the lanes,", v, l.tokens, wide, true)
}

// store writes the attention of n tokens of a KV head, and frees its state.
func (l *layer) store(to tl.Ptr, r *Running, n int) {
	x := r.Out()
	if l.dtype != tl.F32 {
		x = x.To(l.dtype)
	}
	r.t.Store(to, x.Reshape(n, l.group*l.dim))
	r.Free()
}

// queryCols returns the columns of queries and results.
func (l *layer) queryCols() int { return len(l.mesh.Lanes) * l.kv * l.group * l.dim }

// fit makes tiles smaller, of queries or of keys, until what depends on their sizes is no
// more than so many bytes, if it can.
func (l *layer) fit(need func() int, bytes int) {
	for need() > bytes && (l.chunk > 1 || l.keys > 1) {
		if l.chunk > 1 && l.chunk*l.group >= l.keys {
			l.chunk /= 2
		} else {
			l.keys /= 2
		}
	}
}

// held returns how many tokens a holder has.
func (l *layer) held(place int) int { return max(0, min(l.share, l.tokens-place*l.share)) }

// stateBytes returns the room that Running takes for so many rows.
func (l *layer) stateBytes(rows int) int { return rows*4*l.dim + 2*roundUp(4*rows) }

// stepBytes returns the room that a step takes in TCM, of so many rows and keys: scores, which of
// them are seen and these, exponents, exponentials, weights; the output before and after;
// and columns.
func (l *layer) stepBytes(rows, keys int) int {
	return rows*(keys*(4*4+1+l.dtype.Size())+2*4*l.dim) + 12*roundUp(4*rows)
}

// roundUp returns the bytes that TCM takes for so many.
func roundUp(bytes int) int { return tl.CDiv(bytes, 256) * 256 }

// Heads is the heads of an attention layer: Query of them, in groups of equal size that
// share one of the KV heads, in order. Each has Dim elements.
type Heads struct{ Query, KV, Dim int }

// Check returns why there can be no such heads.
func (h Heads) Check() error {
	if h.Query < 1 || h.KV < 1 || h.Dim < 1 || h.Query%h.KV != 0 {
		return fmt.Errorf("%d query heads and %d KV heads of %d elements: the first has to be a multiple of the second", h.Query, h.KV, h.Dim)
	}
	return nil
}

// Scale returns what scores are multiplied by: 1/√Dim.
func (h Heads) Scale() float64 { return 1 / math.Sqrt(float64(h.Dim)) }

// Lanes returns how many of a holder's PEs can share the heads evenly: as many as possible, so
// that each has whole KV heads, or a part of the query heads of one.
func (h Heads) Lanes(pes int) int {
	for n := pes; n > 1; n-- {
		if h.KV%n == 0 || n%h.KV == 0 && h.Query%n == 0 {
			return n
		}
	}
	return 1
}

// Spread returns the rows of K or V as so many lanes hold them, with a copy of a head for each
// lane that has a part of its query heads: columns of max(KV, lanes) heads.
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

// Mask says which keys of a block the rows of a tile of queries see. The zero Mask hides
// none.
type Mask struct {
	causal        bool
	offset, group int
}

// Causal returns the mask of queries that see no key of their future. Rows are query by query,
// with group rows for each: its heads that share the keys. Row r, which is of query
// r/group, sees key j iff j <= r/group + offset, so that offset is how much later the
// first query is than the first key of the block.
func Causal(offset, group int) Mask { return Mask{causal: true, offset: offset, group: group} }

// Hides reports whether none of so many rows sees any key, so that the block need not be
// computed with.
func (m Mask) Hides(rows int) bool { return m.causal && (rows-1)/m.group+m.offset < 0 }

// cuts reports whether some row sees fewer than all of so many keys.
func (m Mask) cuts(keys int) bool { return m.causal && keys-1 > m.offset }

// apply returns scores with -Inf for the keys that a row does not see.
func (m Mask) apply(t *tl.PE, scores tl.Tile) tl.Tile {
	rows, keys := scores.Dim(0), scores.Dim(1)
	if !m.cuts(keys) {
		return scores
	}
	queries := tl.CDiv(rows, m.group)
	last := t.Arange(queries, tl.F32).Add(m.offset).Reshape(queries, 1) // that each query sees
	if m.group > 1 {
		last = last.Broadcast(tl.Shape{queries, m.group}).Reshape(rows, 1)
	}
	seen := t.Arange(keys, tl.F32).Reshape(1, keys).Le(last)
	return t.Where(seen, scores, math.Inf(-1))
}
