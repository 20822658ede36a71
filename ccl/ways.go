package ccl

import (
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// ways finds the shortest ways through the links that carry data, by latency.
type ways struct {
	first []int // the hops from node n are hops[first[n]:first[n+1]]
	hops  []hop
}

type hop struct {
	to   topology.NodeID
	time sim.Time
}

func newWays(g *topology.Graph) *ways {
	w := &ways{first: make([]int, g.NumNodes()+1)}
	for _, l := range g.Links() { // in the order of From
		to := g.Node(l.To)
		if carriesData(to) {
			w.hops = append(w.hops, hop{l.To, l.Latency + to.Overhead})
		}
		w.first[l.From+1] = len(w.hops)
	}
	for n := range w.first[1:] {
		w.first[n+1] = max(w.first[n+1], w.first[n])
	}
	return w
}

// from is how far each component is from the nearest of some. Ways are mended until none
// gets shorter, which is quick where those of few hops are the short ones.
func (w *ways) from(nodes ...topology.NodeID) []sim.Time {
	at := make([]sim.Time, len(w.first)-1)
	for n := range at {
		at[n] = sim.Never
	}
	for _, n := range nodes {
		at[n] = 0
	}
	waiting := make([]bool, len(at))
	for queue := nodes; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		waiting[n] = false
		for _, h := range w.hops[w.first[n]:w.first[n+1]] {
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
