package attention

import (
	"math"

	"github.com/kernbench/kernbench/tl"
)

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
