package builtin

import (
	"fmt"

	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

// The signals of barriers, in addition to ready.
const (
	dispatched = 1 + iota
	combined
)

// epDispatchCombine sends the rows of this rank's tokens to their experts: it puts each row
// into recv at the ranks of the experts. Then it stores in y, for each token, the weighted
// sum of the rows that the experts return.
func epDispatchCombine(t *tl.PE, x, w, recv, y tl.Ptr, tokens, topk, dim, experts, seed int) {
	routes := route(t.NumRanks(), tokens, topk, experts, seed)[t.Rank()]
	t.Barrier(ready) // all ranks have read the rows of the previous round
	for token, visits := range routes {
		forBlocks(dim, func(at, elems int) {
			row := t.Load(x.At(token, at), tl.Shape{elems}, tl.BF16)
			for _, v := range visits {
				if v.rank == t.Rank() {
					t.Store(recv.At(v.row, at), row)
				} else {
					t.Put(v.rank, recv.At(v.row, at), row)
				}
			}
		})
	}
	t.Barrier(dispatched)
	for token, visits := range routes {
		epCombine(t, visits, w.At(token), recv, y.At(token), dim)
	}
	t.Barrier(combined)
}

// epCombine stores in y the weighted sum of the rows that the experts of one token return.
// visits are the places of these rows, and w has their weights.
func epCombine(t *tl.PE, visits []visit, w, recv, y tl.Ptr, dim int) {
	forBlocks(dim, func(at, elems int) {
		total := t.Zeros(tl.Shape{elems}, tl.F32)
		for k, v := range visits {
			weight := t.Load(w.At(0, k), tl.Shape{1}, tl.F32)
			total = total.Add(fetch(t, v.rank, recv.At(v.row, at), elems).To(tl.F32).Mul(weight))
		}
		t.Store(y.At(0, at), total.To(tl.BF16))
	})
}

// epReceived computes the golden values of the buffer recv: the rows that the experts of a
// rank receive, followed by zeros. It returns an error if the buffer has too few rows.
func epReceived(e scenario.Env, out []float64) error {
	dim := e.Int("dim")
	routes, err := epRoutes(e)
	if err != nil {
		return err
	}
	for source, tokens := range routes {
		for token, visits := range tokens {
			for _, v := range visits {
				if v.rank != e.Rank {
					continue
				}
				if v.row >= e.Shape[0] {
					return fmt.Errorf("rank %d gets more than the %d rows it has room for: raise the first extent of the buffer, or take another seed", v.rank, e.Shape[0])
				}
				for d := range dim {
					out[v.row*dim+d] = epElement(e, source, token, d)
				}
			}
		}
	}
	return nil
}

// epCombined computes the golden values of y: the row of each token times the sum of the
// token's weights. An expert returns its rows unchanged.
func epCombined(e scenario.Env, out []float64) error {
	dim, topk := e.Int("dim"), e.Int("topk")
	if _, err := epRoutes(e); err != nil {
		return err
	}
	for at := range out {
		token := at / dim
		weight := 0.0
		for k := range topk {
			weight += 0.01*float64(e.Rank+1) + 0.1*float64(token) + 0.001*float64(k)
		}
		out[at] = weight * epElement(e, e.Rank, token, at%dim)
	}
	return nil
}

// epElement returns the initial value of element d in the row of a token of a rank.
func epElement(e scenario.Env, rank, token, d int) float64 {
	return float64(100*rank + 10*token + d + 10*e.Round)
}
