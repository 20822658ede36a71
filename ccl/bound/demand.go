package bound

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/host"
)

// demand is the data that a collective must move between ranks, whatever the algorithm.
// Data is counted in units: a unit is the whole tensor, or a block if all blocks have the
// same size, or otherwise an element.
type demand struct {
	collective ccl.Collective
	ranks      int
	root       int
	unit       uint64                // bytes of a unit
	noun       string                // name of a unit; "" for a whole tensor
	weight     func(rank int) uint64 // units of a rank's block
	total      uint64                // units of all blocks
	pairs      []pair                // units between pairs of ranks, for SendRecv and for an AllToAll with blocks of different sizes; otherwise nil
}

// pair is a sending rank, a receiving rank, and the number of units between them.
type pair struct {
	from, to int
	units    uint64
}

// newDemand computes which data the collective of p must move between ranks, and chooses
// the unit in which the data is counted.
func newDemand(p *ccl.Plan, ranks int) *demand {
	d := &demand{collective: p.Collective, ranks: ranks, root: p.Root, unit: 1, noun: "block", total: uint64(ranks)}
	d.weight = func(int) uint64 { return 1 }
	size := uint64(p.DType.Size())
	switch {
	case p.Collective == ccl.Barrier:
		return d
	case p.Collective != ccl.SendRecv && len(p.Counts) <= 1:
		d.unit = host.Product(uint64(p.Count(0)), size)
		if d.isWhole() {
			d.noun = ""
		}
		return d
	}
	d.unit, d.noun = size, "element"
	switch p.Collective {
	case ccl.SendRecv:
		for _, m := range p.Messages {
			d.pairs = append(d.pairs, pair{m.From, m.To, uint64(m.Count)})
		}
		d.countMessages()
	case ccl.AllToAll:
		for i := range ranks * ranks {
			d.pairs = append(d.pairs, pair{i / ranks, i % ranks, uint64(p.Between(i/ranks, i%ranks))})
		}
	default:
		d.weight = func(rank int) uint64 { return uint64(p.Count(rank)) }
		d.total = 0
		for rank := range ranks {
			d.total += d.weight(rank)
		}
	}
	return d
}

// countMessages changes the unit from an element to a message if all messages have the same
// size. Without messages the unit becomes 0 bytes.
func (d *demand) countMessages() {
	if len(d.pairs) == 0 {
		d.unit = 0
		return
	}
	size := d.pairs[0].units
	if slices.ContainsFunc(d.pairs, func(p pair) bool { return p.units != size }) {
		return
	}
	for i := range d.pairs {
		d.pairs[i].units = 1
	}
	d.unit, d.noun = host.Product(d.unit, size), "message"
}

// isWhole reports whether the data of a rank is one tensor, not divided into blocks.
func (d *demand) isWhole() bool {
	return d.collective == ccl.AllReduce || d.collective == ccl.Reduce || d.collective == ccl.Broadcast
}

// share is the part of a collective's ranks and data that belongs to one region.
type share struct {
	ranks          int
	weight         uint64 // units of the blocks of these ranks
	root           bool   // the root is one of these ranks
	sent, received uint64 // units of pairs that cross the edge
}

// add adds the ranks and data of o, the share of another region, to s.
func (s *share) add(o share) {
	s.ranks += o.ranks
	s.weight += o.weight
	s.root = s.root || o.root
	s.sent += o.sent
	s.received += o.received
}

// crossing returns the number of units that must leave and enter a region with share s.
// There must be ranks inside and outside the region.
func (d *demand) crossing(s share) (out, in uint64) {
	inside, outside := s.weight, d.total-s.weight
	switch d.collective {
	case ccl.AllReduce: // the sum of each side must reach the other side
		return 1, 1
	case ccl.AllGather: // every block crosses once, to the side that does not have it
		return inside, outside
	case ccl.ReduceScatter: // the sum of a block crosses to the side where the block belongs
		return outside, inside
	case ccl.Reduce, ccl.Broadcast, ccl.Gather, ccl.Scatter:
		// Data crosses between the root and the side without it: one sum or one copy for
		// all ranks of that side, or the block of each.
		units := inside
		if s.root {
			units = outside
		}
		if d.isWhole() {
			units = 1
		}
		if d.toRoot() == s.root {
			return 0, units
		}
		return units, 0
	case ccl.AllToAll:
		if d.pairs == nil { // each rank inside has a block for each rank outside
			both := host.Product(uint64(s.ranks), uint64(d.ranks-s.ranks))
			return both, both
		}
	}
	return s.sent, s.received // messages are pairs; a barrier has none
}

// toRoot reports whether the collective moves data to the root: Reduce and Gather do.
func (d *demand) toRoot() bool { return d.collective == ccl.Reduce || d.collective == ccl.Gather }

// volume returns the number of units that k regions must receive together, if the regions
// hold all ranks. For a collective with sums, this is more than the cuts around single
// regions show, because only ranks add, and all ranks are in the regions. volume returns 0
// for collectives without sums, because their volume gives no larger bound than the worst
// cut.
func (d *demand) volume(k int) uint64 {
	others := uint64(k - 1)
	switch d.collective {
	case ccl.AllReduce: // it takes 2(k-1) messages until each of k regions has the sum
		return 2 * others
	case ccl.Reduce: // the data of all regions but one is received, by itself or in a sum
		return others
	case ccl.ReduceScatter: // the same for every block
		return host.Product(others, d.total)
	}
	return 0
}

// sources returns the ranks from which addLatency searches paths: the root in a rooted
// collective, and otherwise all ranks that send data. For Reduce and Gather, the data moves
// to the root, not from it.
func (d *demand) sources() (ranks []int) {
	if d.collective.Rooted() {
		return []int{d.root}
	}
	sends := make([]bool, d.ranks)
	for _, p := range d.pairs {
		sends[p.from] = sends[p.from] || p.units > 0 && p.from != p.to
	}
	for rank := range d.ranks {
		if d.pairs == nil || sends[rank] {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// partners returns a function that reports whether a rank needs data of the source. For
// Reduce and Gather, the source is the root, and the function reports whether the rank has
// data that the root needs.
func (d *demand) partners(source int) func(rank int) bool {
	if d.pairs != nil {
		named := make([]bool, d.ranks)
		for _, p := range d.pairs {
			if p.from == source && p.units > 0 {
				named[p.to] = true
			}
		}
		return func(rank int) bool { return named[rank] }
	}
	switch d.collective {
	case ccl.AllGather:
		return func(int) bool { return d.weight(source) > 0 }
	case ccl.ReduceScatter, ccl.Gather, ccl.Scatter:
		return func(rank int) bool { return d.weight(rank) > 0 }
	}
	return func(int) bool { return true }
}

// amount describes a number of units in words, such as "3 blocks".
func (d *demand) amount(units uint64) string {
	switch {
	case d.noun == "" && units == 1:
		return "everything"
	case d.noun == "":
		return fmt.Sprintf("%d times the data", units)
	case units == 1:
		return "1 " + d.noun
	}
	return fmt.Sprintf("%d %ss", units, d.noun)
}
