package attention

import (
	"fmt"
	"math"
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
