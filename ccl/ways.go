package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// ways is the hops over the links that carry data, by the node that they begin at.
type ways [][]hop

type hop struct {
	to   topology.NodeID
	time sim.Time
}

// newWays returns the ways of a system, or, back, those against the direction of links.
func newWays(g *topology.Graph, back bool) ways {
	w := make(ways, g.NumNodes())
	for _, l := range g.Links() {
		from, to := g.Node(l.From), g.Node(l.To)
		if !carriesData(from.Kind) || !carriesData(to.Kind) {
			continue
		}
		time := l.Latency + to.Overhead
		if back {
			l.From, l.To = l.To, l.From
		}
		w[l.From] = append(w[l.From], hop{l.To, time})
	}
	return w
}

// from returns how far each component is from the nearest of some. Ways are mended until
// none gets shorter, which is quick where those of few hops are the short ones.
func (w ways) from(nodes ...topology.NodeID) []sim.Time {
	at := slices.Repeat([]sim.Time{sim.Never}, len(w))
	for _, n := range nodes {
		at[n] = 0
	}
	waiting := make([]bool, len(at))
	for queue := nodes; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		waiting[n] = false
		for _, h := range w[n] {
			if time := at[n] + h.time; time < at[h.to] {
				at[h.to] = time
				if !waiting[h.to] {
					waiting[h.to] = true
					queue = append(queue, h.to)
				}
			}
		}
	}
	return at
}
