package main

import (
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

func init() { cost.Register(thereAndBack, predict) }

// predict returns the time of the first chunk along the line and back, plus, for each later
// chunk, the larger of its time on the busiest link and its share of the slowest round trip.
func predict(p *ccl.Plan, n *cost.Network) simtime.Time {
	chunks := tl.CDiv(p.Count(0), p.Chunk)
	if chunks == 0 {
		return 0
	}
	bytes := int64(tl.CDiv(p.Count(0), chunks) * p.DType.Size())
	var first, slowest simtime.Time
	for rank := range p.Ranks - 1 {
		hop := n.Alpha(rank, rank+1, bytes) + n.Alpha(rank+1, rank, bytes)
		first += hop
		slowest = max(slowest, hop)
	}
	link := n.Busiest(func(add func(from, to int, bytes int64)) {
		for rank := range p.Ranks - 1 {
			add(rank, rank+1, bytes)
			add(rank+1, rank, bytes)
		}
	})
	return first + simtime.Time(chunks-1)*max(link, slowest/simtime.Time(chunksAhead(p)))
}
