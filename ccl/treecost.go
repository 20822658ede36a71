package ccl

import "github.com/kernbench/kernbench/tl"

// climbed is the cost of a collective over one or more trees at once, each with as much
// data as the plan says.
//
// The first chunk takes a message for each hop, up, down or both, and what each rank adds
// on its way. From then on a chunk takes what is most: its messages on the busiest link;
// a chunk for each slot in the time until a credit is back; or what the busiest rank has
// to do for it. In a gather or scatter it is blocks that follow each other.
func (n *Network) climbed(p *Plan, trees ...func(rank int) branch) Time {
	chunks := tl.CDiv(p.Count(0), p.Chunk)
	if p.Collective == AllReduce || p.Collective == Reduce || p.Collective == Broadcast {
		chunks = p.parts(p.Count(0))
	}
	elems := tl.CDiv(p.Count(0), max(1, chunks))
	if p.Collective == Barrier {
		elems = 1
	}
	bytes := int64(elems * p.DType.Size())
	t := climbing{Network: n, Plan: p, bytes: bytes, each: n.handling(bytes)}
	t.alone, _ = n.combining(elems, p.DType)
	var first, slot, work Time
	ups, downs := p.Collective != Broadcast && p.Collective != Scatter, p.Collective != Reduce && p.Collective != Gather
	for _, tree := range trees {
		root := 0
		for rank := range p.Ranks {
			if tree(rank).root {
				root = rank
			}
		}
		t.tree = tree
		var through Time
		if ups {
			through = t.up(root)
		}
		if downs {
			through = t.down(root, through)
		}
		first = max(first, through)
	}
	link := n.Busiest(func(add func(from, to int, bytes int64)) {
		for _, tree := range trees {
			for rank := range p.Ranks {
				if b := tree(rank); !b.root && ups {
					add(rank, b.parent.Rank, t.carried(tree, rank))
				}
				if b := tree(rank); !b.root && downs {
					add(b.parent.Rank, rank, t.carried(tree, rank))
				}
			}
		}
	})
	var flights Time
	gathers := p.Collective == Gather || p.Collective == Scatter
	for rank := range p.Ranks {
		var does, flown Time
		for _, tree := range trees {
			b := tree(rank)
			if ups && !b.root {
				flown += Time(t.carried(tree, rank)/max(1, bytes)) * n.flight(rank, b.parent.Rank, bytes)
			}
			for _, child := range b.children {
				trip := max(n.trip(rank, child.Rank, bytes), n.trip(child.Rank, rank, bytes))
				slot = max(slot, trip)
				if downs {
					flown += Time(t.carried(tree, child.Rank)/max(1, bytes)) * n.flight(rank, child.Rank, bytes)
				}
				if gathers && !n.inbox { // one child after the other
					messages := int(t.carried(tree, child.Rank) / max(1, bytes))
					does += Time(max(0, messages-p.Slots/2)) * trip / Time(p.Slots)
				}
			}
			if ups && !gathers {
				does += Time(len(b.children)) * max(t.alone, t.each) // each sum waits for the one before
			}
			if downs && !gathers {
				does += t.each
			}
		}
		work, flights = max(work, does), max(flights, flown)
	}
	if gathers {
		return first + max(link, Time(p.Ranks)*t.each, work, flights)
	}
	own, last := n.own(bytes), Time(max(0, chunks-1))
	behind := last*max(link, work, flights) + max(0, link-own, flights)
	if b := trees[0](p.Root); !downs && len(b.children) == p.Ranks-1 { // a star: others are under way meanwhile
		near := n.Alpha(b.children[0].Rank, p.Root, bytes)
		behind = max(last*max(own, work, flights), near+Time(chunks)*link-first)
	}
	if n.inbox {
		slot = 0
	}
	waits := Time(max(0, chunks-p.Slots)) * (slot + max(0, link-own)) / Time(p.Slots)
	return first + max(behind, waits)
}

// climbing is a tree on a network.
type climbing struct {
	*Network
	*Plan
	tree  func(rank int) branch
	bytes int64
	alone Time // of combining two chunks
	each  Time // of a chunk
}

// up is when a rank has what all below it have.
func (t *climbing) up(rank int) (at Time) {
	for _, child := range t.tree(rank).children {
		at = max(at, t.up(child.Rank)+t.Alpha(child.Rank, rank, t.bytes))
		if t.Collective.Reduces() {
			at += t.alone
		}
	}
	return at
}

// down is when all below a rank have what it has at some time.
func (t *climbing) down(rank int, at Time) (last Time) {
	last = at
	for i, child := range t.tree(rank).children {
		last = max(last, t.down(child.Rank, at+Time(i)*t.dispatch()+t.Alpha(rank, child.Rank, t.bytes)))
	}
	return last
}

// carried is the bytes on the edge above a rank: a chunk, or the blocks of all below it.
func (t *climbing) carried(tree func(rank int) branch, rank int) int64 {
	if t.Collective != Gather && t.Collective != Scatter {
		return t.bytes
	}
	n := int64(t.Count(rank) * t.DType.Size())
	for _, child := range tree(rank).children {
		n += t.carried(tree, child.Rank)
	}
	return n
}
