package cost

import (
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// tree is one tree of a schedule together with the plan and the network, from which its
// cost is computed.
type tree struct {
	*Network
	*ccl.Plan
	node    func(rank int) ccl.TreeNode
	bytes   int64        // bytes of a chunk
	combine simtime.Time // time to combine two chunks
	edges   []treeEdge   // by rank: the edge to its parent
}

// treeEdge has the times of a chunk between a rank and its parent.
type treeEdge struct {
	up, down             simtime.Time // as Alpha
	trip                 simtime.Time // as roundTrip, in the slower direction
	flightUp, flightDown simtime.Time // as flight
}

// findEdges sets t.edges.
func (t *tree) findEdges() {
	t.edges = make([]treeEdge, t.Ranks)
	for rank := range t.edges {
		v := t.node(rank)
		if v.Root {
			continue
		}
		e, parent := &t.edges[rank], v.Parent.Rank
		e.up, e.flightUp = t.Alpha(rank, parent, t.bytes), t.flight(rank, parent, t.bytes)
		e.down, e.flightDown = t.Alpha(parent, rank, t.bytes), t.flight(parent, rank, t.bytes)
		e.trip = max(t.roundTrip(rank, parent, t.bytes), t.roundTrip(parent, rank, t.bytes))
	}
}

// trees computes the cost of a collective over one or more trees at once. Each tree carries
// an equal share of the data. nodes[i] returns the edges of a rank in tree i.
//
// The first chunk takes the time of a message for each hop (up, down or both), and the time
// to combine the chunk in each rank. Each further chunk takes the longest of these times:
// its messages on the busiest link; the time until a credit has returned, divided by the
// number of slots; and the work of the busiest rank. In a gather or scatter, the blocks
// follow each other.
func (n *Network) trees(p *ccl.Plan, nodes ...func(rank int) ccl.TreeNode) simtime.Time {
	count := tl.CDiv(p.Count(0), len(nodes))
	elems := p.Chunk
	gathers := p.Collective == ccl.Gather || p.Collective == ccl.Scatter
	if !gathers {
		elems = p.TreeChunk(count)
	}
	chunks := tl.CDiv(count, elems)
	elems = min(count, elems)
	if p.Collective == ccl.Barrier {
		count, chunks, elems = 1, 1, 1
	}
	bytes := int64(elems * p.DType.Size())
	each := n.handling(bytes)
	combine, _ := n.combining(elems, p.DType)
	ups, downs := p.Collective != ccl.Broadcast && p.Collective != ccl.Scatter, p.Collective != ccl.Reduce && p.Collective != ccl.Gather
	var all []tree
	var first, slot, work, flights simtime.Time
	for _, node := range nodes {
		known := lists.Make(p.Ranks, node)
		node = func(rank int) ccl.TreeNode { return known[rank] }
		t := tree{Network: n, Plan: p, node: node, bytes: bytes, combine: combine}
		root := 0
		for ; !node(root).Root; root++ {
			if root == p.Ranks-1 {
				panic("cost: a tree of the schedule has no root: set Root of one TreeNode")
			}
		}
		t.findEdges()
		all = append(all, t)
		var through simtime.Time
		if ups {
			through = t.up(root)
		}
		if downs {
			through = t.down(root, through)
		}
		first = max(first, through)
	}
	link := n.Busiest(func(add func(from, to int, bytes int64)) {
		for _, t := range all {
			for rank := range p.Ranks {
				v := t.node(rank)
				if ups && !v.Root {
					add(rank, v.Parent.Rank, t.edgeBytes(rank))
				}
				if downs && !v.Root {
					add(v.Parent.Rank, rank, t.edgeBytes(rank))
				}
			}
		}
	})
	for rank := range p.Ranks {
		var does, flown simtime.Time
		for _, t := range all {
			v := t.node(rank)
			if ups && !v.Root {
				flown += t.messages(rank) * t.edges[rank].flightUp
			}
			for _, child := range v.Children {
				e := &t.edges[child.Rank]
				slot = max(slot, e.trip)
				if downs {
					flown += t.messages(child.Rank) * e.flightDown
				}
				if gathers && !n.inbox { // one child after another
					does += max(0, t.messages(child.Rank)-simtime.Time(p.Slots/2)) * e.trip / simtime.Time(p.Slots)
				}
			}
			if ups && !gathers {
				does += simtime.Time(len(v.Children)) * max(combine, each) // each sum waits for the previous sum
			}
			if downs && !gathers {
				does += each
			}
		}
		work, flights = max(work, does), max(flights, flown)
	}
	if gathers {
		return first + max(link, simtime.Time(p.Ranks)*each, work, flights)
	}
	own := n.slowestLink(bytes)
	after := func(period simtime.Time) simtime.Time { // time of all chunks after the first
		return simtime.Time(float64(period) * float64(count-elems) / float64(max(1, elems)))
	}
	behind := after(max(link, work, flights)) + max(0, link-own, flights)
	if v := nodes[0](p.Root); !downs && len(v.Children) == p.Ranks-1 { // a star: messages of other ranks are in flight at the same time
		near := n.Alpha(v.Children[0].Rank, p.Root, bytes)
		behind = max(after(max(own, work, flights)), near+link+after(link)-first)
	}
	if n.inbox {
		slot = 0
	}
	waits := simtime.Time(max(0, chunks-p.Slots)) * (slot + max(0, link-own)) / simtime.Time(p.Slots)
	return first + max(behind, waits)
}

// up computes the time at which a rank has received the first chunk of every rank below it
// in the tree. If the collective reduces, the time includes combining these chunks.
func (t *tree) up(rank int) (at simtime.Time) {
	for _, child := range t.node(rank).Children {
		at = max(at, t.up(child.Rank)+t.edges[child.Rank].up)
		if t.Collective.Reduces() {
			at += t.combine
		}
	}
	return at
}

// down computes when a chunk has reached all ranks below the given rank in the tree, if the
// given rank has the chunk at time `at`.
func (t *tree) down(rank int, at simtime.Time) (last simtime.Time) {
	last = at
	for i, child := range t.node(rank).Children {
		last = max(last, t.down(child.Rank, at+simtime.Time(i)*t.dispatch()+t.edges[child.Rank].down))
	}
	return last
}

// edgeBytes returns the number of bytes that pass between a rank and its parent at a time:
// one chunk. For Gather and Scatter it returns the size of all blocks of the rank and of
// the ranks below it.
func (t *tree) edgeBytes(rank int) int64 {
	if t.Collective != ccl.Gather && t.Collective != ccl.Scatter {
		return t.bytes
	}
	n := int64(t.Count(rank) * t.DType.Size())
	for _, child := range t.node(rank).Children {
		n += t.edgeBytes(child.Rank)
	}
	return n
}

// messages returns the number of messages that carry edgeBytes bytes between a rank and its
// parent.
func (t *tree) messages(rank int) simtime.Time {
	return simtime.Time(t.edgeBytes(rank) / max(1, t.bytes))
}
