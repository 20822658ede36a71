package cost

import (
	"github.com/kernbench/kernbench/ccl"
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
		t := tree{n, p, node, bytes, combine}
		all = append(all, t)
		root := 0
		for ; !node(root).Root; root++ {
			if root == p.Ranks-1 {
				panic("cost: a tree of the schedule has no root: set Root of one TreeNode")
			}
		}
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
				flown += t.messages(rank) * n.flight(rank, v.Parent.Rank, bytes)
			}
			for _, child := range v.Children {
				trip := max(n.roundTrip(rank, child.Rank, bytes), n.roundTrip(child.Rank, rank, bytes))
				slot = max(slot, trip)
				if downs {
					flown += t.messages(child.Rank) * n.flight(rank, child.Rank, bytes)
				}
				if gathers && !n.inbox { // one child after another
					does += max(0, t.messages(child.Rank)-simtime.Time(p.Slots/2)) * trip / simtime.Time(p.Slots)
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
		at = max(at, t.up(child.Rank)+t.Alpha(child.Rank, rank, t.bytes))
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
		last = max(last, t.down(child.Rank, at+simtime.Time(i)*t.dispatch()+t.Alpha(rank, child.Rank, t.bytes)))
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
