package ccl

import (
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// ways finds the shortest ways through the links that carry data, by latency.
type ways struct {
	first []int32 // the hops from node n are hops[first[n]:first[n+1]]
	hops  []hop
}

type hop struct {
	to   topology.NodeID
	time simtime.Time
}

// newWays is the ways of a system, or, back, those against the direction of links.
func newWays(g *topology.Graph, back bool) *ways {
	ends := func(l topology.Link) (from, to topology.NodeID) {
		if back {
			return l.To, l.From
		}
		return l.From, l.To
	}
	data, overhead := make([]bool, g.NumNodes()), make([]simtime.Time, g.NumNodes())
	for n := range data {
		node := g.Node(topology.NodeID(n))
		data[n], overhead[n] = carriesData(node.Kind), node.Overhead
	}
	w := &ways{first: make([]int32, g.NumNodes()+2)}
	for _, l := range g.Links() {
		if from, to := ends(l); data[from] && data[to] {
			w.first[from+2]++
		}
	}
	for n := range w.first[1:] {
		w.first[n+1] += w.first[n]
	}
	w.hops = make([]hop, w.first[len(w.first)-1])
	for _, l := range g.Links() {
		if from, to := ends(l); data[from] && data[to] {
			w.hops[w.first[from+1]] = hop{to, l.Latency + overhead[l.To]}
			w.first[from+1]++ // and is where the hops of the next begin in the end
		}
	}
	return w
}

// from is how far each component is from the nearest of some. Ways are mended until none
// gets shorter, which is quick where those of few hops are the short ones.
func (w *ways) from(nodes ...topology.NodeID) []simtime.Time {
	at := make([]simtime.Time, len(w.first)-2)
	for n := range at {
		at[n] = simtime.Never
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

// dim is a rank's place in one dimension of a grid: on a ring of ranks, in which each
// sends to the next.
type dim struct {
	cycle    []int // coordinates, in the order of the ring
	place    int   // of the rank, in that order
	stride   int   // from a rank to the one with the next coordinate
	next     tl.Port
	previous tl.Port
}

func (d *dim) size() int { return len(d.cycle) }

// reversed is the same ring in the other direction.
func (d dim) reversed() dim {
	n := d.size()
	cycle := make([]int, n)
	for i, at := range d.cycle {
		cycle[n-1-i] = at
	}
	d.cycle, d.place = cycle, n-1-d.place
	d.next, d.previous = d.previous, d.next
	return d
}

// path is how a share of the data is reduced and gathered: along the first dimension,
// then what came out of that along the next, and back. The share is that from lo to hi
// of shareUnits.
type path struct {
	dims   []dim
	lo, hi int
	back   bool // it is the path before, the other way round
}

// shareUnits is what a share is counted in. Shares are seldom more than a hundredth off.
const shareUnits = 5040

// share is the elements of a path's share of n.
func (p *path) share(n int) (from, count int) {
	from = n * p.lo / shareUnits
	return from, n*p.hi/shareUnits - from
}
