package ccl

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// need is what a collective has to move between ranks, in units: whole tensors or
// blocks, if all are of one size, else elements.
type need struct {
	collective Collective
	ranks      int
	root       int
	unit       uint64 // bytes
	noun       string
	weight     func(rank int) uint64 // units of a rank's block
	total      uint64                // units of all blocks
	pairs      []pairNeed            // where pairs have units for each other, and not all the same
}

// pairNeed is units that one rank has for another.
type pairNeed struct {
	from, to int
	units    uint64
}

func newNeed(p *Plan, ranks int) *need {
	n := &need{collective: p.Collective, ranks: ranks, root: p.Root, unit: 1, noun: "block", total: uint64(ranks)}
	n.weight = func(int) uint64 { return 1 }
	size := uint64(p.DType.Size())
	elements := func() { n.unit, n.noun = size, "element" }
	switch {
	case p.Collective == Barrier:
	case p.Collective == SendRecv:
		elements()
		for _, m := range p.Messages {
			n.pairs = append(n.pairs, pairNeed{m.From, m.To, uint64(m.Count)})
		}
		n.alike()
	case len(p.Counts) <= 1:
		n.unit = times(uint64(p.Count(0)), size)
		if n.whole() {
			n.noun = ""
		}
	case p.Collective == AllToAll:
		elements()
		for from := range ranks {
			for to := range ranks {
				n.pairs = append(n.pairs, pairNeed{from, to, uint64(p.Between(from, to))})
			}
		}
	default:
		elements()
		n.weight = func(rank int) uint64 { return uint64(p.Count(rank)) }
		n.total = uint64(p.total())
	}
	return n
}

// alike makes messages the units, if all are of one size.
func (n *need) alike() {
	if len(n.pairs) == 0 {
		n.unit = 0
		return
	}
	size := n.pairs[0].units
	if slices.ContainsFunc(n.pairs, func(p pairNeed) bool { return p.units != size }) {
		return
	}
	for i := range n.pairs {
		n.pairs[i].units = 1
	}
	n.unit, n.noun = times(n.unit, size), "message"
}

// whole reports whether what ranks have is not made of blocks.
func (n *need) whole() bool {
	return n.collective == AllReduce || n.collective == Reduce || n.collective == Broadcast
}

// held is what of a collective is in a region.
type held struct {
	ranks          int
	weight         uint64 // of their blocks
	root           bool
	sent, received uint64 // of pairs, across the edge
}

// crossing is the units that a region has to send and to receive, if ranks are inside and
// outside.
func (n *need) crossing(h held) (out, in uint64) {
	inside, outside := h.weight, n.total-h.weight
	switch n.collective {
	case AllReduce: // the sum of those inside is news outside, and the reverse
		return 1, 1
	case AllGather: // every block goes to the side that does not have it, once
		return inside, outside
	case ReduceScatter: // of every block the sum of a side goes to where the block belongs
		return outside, inside
	case Reduce, Broadcast, Gather, Scatter:
		// Between the root and the side without it: one sum or one copy for all of
		// them, or the block of each.
		units := inside
		if h.root {
			units = outside
		}
		if n.whole() {
			units = 1
		}
		if n.toRoot() == h.root {
			return 0, units
		}
		return units, 0
	case AllToAll:
		if n.pairs == nil { // each inside has a block for each outside
			both := times(uint64(h.ranks), uint64(n.ranks-h.ranks))
			return both, both
		}
	}
	return h.sent, h.received // messages have their pairs, a barrier has none
}

// toRoot reports whether data goes to the root.
func (n *need) toRoot() bool { return n.collective == Reduce || n.collective == Gather }

// together is the units that k regions, which hold all ranks, have to receive together,
// where that is more than the sum of what each has to: where sums are formed on the way.
// Only ranks add, and all are in the regions. (The sum over all bounds no more than the
// worst of the cuts.)
func (n *need) together(k int) uint64 {
	others := uint64(k - 1)
	switch n.collective {
	case AllReduce: // it takes 2(k-1) messages until each of k knows what all know
		return 2 * others
	case Reduce: // all but one have to be heard, directly or in a sum that another region receives
		return others
	case ReduceScatter: // the same for every block
		return times(others, n.total)
	}
	return 0
}

// sources is ranks from which the ways of data begin, or, of Reduce and Gather, to
// which they lead.
func (n *need) sources() (ranks []int) {
	switch {
	case n.collective.Rooted():
		return []int{n.root}
	case n.pairs == nil:
		for rank := range n.ranks {
			ranks = append(ranks, rank)
		}
		return ranks
	}
	seen := make([]bool, n.ranks)
	for _, p := range n.pairs {
		if p.units > 0 && p.from != p.to && !seen[p.from] {
			seen[p.from] = true
			ranks = append(ranks, p.from)
		}
	}
	return ranks
}

// partners reports of a source which ranks need what it has, or, of Reduce and Gather,
// have what it needs.
func (n *need) partners(source int) func(rank int) bool {
	if n.pairs != nil {
		named := make([]bool, n.ranks)
		for _, p := range n.pairs {
			if p.from == source && p.units > 0 {
				named[p.to] = true
			}
		}
		return func(rank int) bool { return named[rank] }
	}
	switch n.collective {
	case AllGather:
		return func(int) bool { return n.weight(source) > 0 }
	case ReduceScatter, Gather, Scatter:
		return func(rank int) bool { return n.weight(rank) > 0 }
	}
	return func(int) bool { return true }
}

// amount is units in words.
func (n *need) amount(units uint64) string {
	switch {
	case n.noun == "" && units == 1:
		return "everything"
	case n.noun == "":
		return fmt.Sprintf("%d times the data", units)
	case units == 1:
		return "1 " + n.noun
	}
	return fmt.Sprintf("%d %ss", units, n.noun)
}

// times is a product, or the most that there is.
func times(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high > 0 {
		return math.MaxUint64
	}
	return low
}
