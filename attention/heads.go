package attention

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/tl"
)

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

// of returns the heads that a PE has: its KV heads, and query heads for each of them.
func (h Heads) of(lanes int) (kv, group int) {
	kv = max(1, h.KV/lanes)
	return kv, h.Query / lanes / kv
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
