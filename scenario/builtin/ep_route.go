package builtin

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/scenario"
)

// visit is a destination of a token: a row of recv in the window of a rank.
type visit struct{ rank, row int }

// epRoutes returns the result of route for the parameters and the round in e. It returns an
// error if the parameters are invalid.
func epRoutes(e scenario.Env) ([][][]visit, error) {
	topk, experts := e.Int("topk"), e.Int("experts")
	if experts < 1 || experts > maxExperts {
		return nil, fmt.Errorf("%d experts per rank: write 1 to %d", experts, maxExperts)
	}
	if all := experts * e.Ranks; topk < 1 || topk > all {
		return nil, fmt.Errorf("topk is %d, and there are %d experts: write 1 to %d", topk, all, all)
	}
	return route(e.Ranks, e.Int("tokens"), topk, experts, e.Int("seed")+e.Round), nil
}

// maxExperts is the largest number of experts of a rank.
const maxExperts = 1 << 12

// route draws topk different experts for each token of each rank. It returns the visits,
// indexed by rank, token and choice (0 to topk-1). The row of a visit is a row of the
// buffer recv at the rank of the expert. The rows of recv are sorted by expert, then by the
// rank and the token that they come from.
func route(ranks, tokens, topk, experts, seed int) [][][]visit {
	draw := uint64(seed)
	chosen := make([][][]int, ranks)   // the experts of each token, by rank
	rows := make([]int, ranks*experts) // the number of rows of each expert
	for r := range chosen {
		chosen[r] = make([][]int, tokens)
		for token := range chosen[r] {
			for len(chosen[r][token]) < topk {
				draw++
				if e := int(mix(draw) % uint64(ranks*experts)); !slices.Contains(chosen[r][token], e) {
					chosen[r][token] = append(chosen[r][token], e)
					rows[e]++
				}
			}
		}
	}
	next := make([]int, ranks*experts) // the next free row of each expert
	for e := range next {
		if e%experts > 0 {
			next[e] = next[e-1] + rows[e-1]
		}
	}
	routes := make([][][]visit, ranks)
	for r := range routes {
		routes[r] = make([][]visit, tokens)
		for token, list := range chosen[r] {
			for _, e := range list {
				routes[r][token] = append(routes[r][token], visit{e / experts, next[e]})
				next[e]++
			}
		}
	}
	return routes
}

// mix returns a hash of x, so that consecutive numbers give unrelated results.
func mix(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}
