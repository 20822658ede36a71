package bound

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// addLatency considers the latency term: the longest latency from a rank to a rank that
// needs its data. The latency is that of the fastest path in the graph, not of the route
// that the machine would take, because ranks may forward messages for other ranks.
func (b *search) addLatency() {
	// Paths begin at all ranks if that is quick, otherwise at the first and the last.
	const quick = 1 << 18 // nodes visited: 87 ranks in the default system
	reverse, sources := b.toRoot(), b.sources()
	if n := len(sources); n*b.g.NumNodes() > quick && n > 2 {
		sources = []int{sources[0], sources[n-1]}
	}
	d := newDistances(b.g, reverse)
	for _, source := range sources {
		at, isPartner := d.latencies(b.sites[source].tcm, b.sites[source].hbm), b.partners(source)
		for rank, s := range b.sites {
			time := min(at[s.tcm], at[s.hbm])
			if time <= b.time || !isPartner(rank) {
				continue
			}
			b.raise(time, Latency, func() string {
				from, to := b.sites[source], s
				if reverse {
					from, to = to, from
				}
				return fmt.Sprintf("the way from %v to %v takes %v", from, to, time)
			})
		}
	}
}

// distances lists the links that carry data, by the node at which each link begins: the links
// of node n are hops[first[n]:first[n+1]].
type distances struct {
	hops  []hop
	first []int32
}

// hop is a link, and the node at its end.
type hop struct {
	to   topology.NodeID
	time simtime.Time
}

// newDistances returns the links of a system that carry data. If `reverse` is set, each
// link leads in the opposite direction.
func newDistances(g *topology.Graph, reverse bool) distances {
	d := distances{first: make([]int32, g.NumNodes()+1)}
	visit := func(add func(start, end topology.NodeID, time simtime.Time)) {
		for _, l := range g.Links() {
			from, to := g.Node(l.From), g.Node(l.To)
			switch {
			case !carriesData(from.Kind) || !carriesData(to.Kind):
			case reverse:
				add(l.To, l.From, l.Latency+to.Overhead)
			default:
				add(l.From, l.To, l.Latency+to.Overhead)
			}
		}
	}
	visit(func(start, _ topology.NodeID, _ simtime.Time) { d.first[start+1]++ })
	for n := range g.NumNodes() {
		d.first[n+1] += d.first[n]
	}
	d.hops = make([]hop, d.first[g.NumNodes()])
	next := slices.Clone(d.first)
	visit(func(start, end topology.NodeID, time simtime.Time) {
		d.hops[next[start]] = hop{end, time}
		next[start]++
	})
	return d
}

// latencies returns, for each node of the system, the latency from the nearest of the given
// nodes. It lowers latencies until none changes, which is quick because paths with few hops
// are usually the fastest.
func (d distances) latencies(nodes ...topology.NodeID) []simtime.Time {
	at := make([]simtime.Time, len(d.first)-1)
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
		for _, h := range d.hops[d.first[n]:d.first[n+1]] {
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
