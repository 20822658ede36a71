package ccl

import (
	"fmt"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Limit is a time that nothing beats, and what sets it.
type Limit struct {
	Time simtime.Time
	Kind LimitKind
	Why  string // a sentence, the same for all sizes that the same links bound
}

// LimitKind is what sets a limit.
type LimitKind uint8

// The kinds of limits.
const (
	NoLimit      LimitKind = iota // nothing that has to move takes time
	CutLimit                      // the links at the edge of a region
	VolumeLimit                   // the links into all regions of a kind
	LatencyLimit                  // the way from a rank to another
)

var limitNames = [...]string{"none", "cut", "volume", "latency"}

// String is the name: "cut".
func (k LimitKind) String() string { return limitNames[k] }

// Bound is a time that no way to do what a plan asks for can beat, whatever its
// algorithm. Rank i is PE pes[i] of the system, counted cube by cube, SIP by SIP, with
// its data in its own TCM or HBM slice. Of the plan the collective, root, dtype,
// counts and messages matter. The bound is the largest of these:
//
//   - Cuts. What a region with some of the ranks has to send and to receive passes the
//     links at its edge. Regions are PEs with their HBM slice, cubes, SIPs, and runs of
//     rows and columns of either.
//   - Volume. What all regions of a kind, which do not overlap, have to receive together
//     passes the links into them. (They may send less: what one leaves in memory
//     elsewhere can be read by several.)
//   - Latency. What a rank has must reach those that need it.
//
// What has to cross is in need.go, regions are in region.go. Links that take no time
// bound nothing. Links of commands carry no data, and data never passes through the host.
func Bound(g *topology.Graph, pes []int, p *Plan) Limit {
	b := search{g: g, need: newNeed(p, len(pes)), why: func() string { return "nothing that has to move takes time" }}
	if len(pes) < 2 || b.unit == 0 && p.Collective != Barrier {
		return Limit{Why: "nothing has to move"}
	}
	b.place(pes)
	if p.Collective != Barrier { // which moves no data
		for _, p := range b.partitions() {
			b.cuts(p)
		}
	}
	b.latency()
	return Limit{b.time, b.kind, b.why()}
}

// search is the search for the largest term.
type search struct {
	*need
	g     *topology.Graph
	homes []home // by rank
	time  simtime.Time
	kind  LimitKind
	why   func() string
}

// home is a rank's PE and its memories.
type home struct {
	sip, cube, pe int
	tcm, hbm      topology.NodeID
}

func (h home) String() string { return fmt.Sprintf("sip%d.cube%d.pe%d", h.sip, h.cube, h.pe) }

func (b *search) place(pes []int) {
	s := b.g.Spec()
	perCube, cubes := s.PEsPerCube(), s.CubesPerSIP()
	for _, pe := range pes {
		sip, cube, pe := pe/perCube/cubes, pe/perCube%cubes, pe%perCube
		b.homes = append(b.homes, home{sip, cube, pe, b.g.PENode(sip, cube, pe, topology.KindTCM), b.g.HBM(sip, cube, pe)})
	}
}

// atLeast notes a term.
func (b *search) atLeast(time simtime.Time, kind LimitKind, why func() string) {
	if time > b.time {
		b.time, b.kind, b.why = time, kind, why
	}
}

// cuts is the terms of a partition: of every run of its regions, and of all regions
// with ranks together.
func (b *search) cuts(p *partition) {
	var all capacity // into regions with ranks
	regions := 0
	for first := range p.regions {
		var run region
		for last := first; last < (first/p.line+1)*p.line; last++ {
			p.extend(&run, first, last)
			if run.ranks == b.ranks {
				break // nobody is outside
			}
			if run.ranks > 0 {
				out, in := b.crossing(run.held)
				b.cut(p, first, last, out, run.out, "send")
				b.cut(p, first, last, in, run.in, "receive")
			}
			if last == first && run.ranks > 0 {
				regions++
				all.add(run.in)
			}
		}
	}
	if regions < 2 {
		return
	}
	units := b.together(regions)
	b.atLeast(all.carry(times(b.unit, units)), VolumeLimit, func() string {
		return fmt.Sprintf("%d %ss receive %s over their links, %v together", regions, p.noun, b.amount(units), all)
	})
}

func (b *search) cut(p *partition, first, last int, units uint64, c capacity, verb string) {
	time := c.carry(times(b.unit, units))
	if time <= b.time {
		return
	}
	b.atLeast(time, CutLimit, func() string {
		whose := "their"
		if first == last {
			verb, whose = verb+"s", "its"
		}
		return fmt.Sprintf("%s %s %s over %s links, %v", p.name(first, last), verb, b.amount(units), whose, c)
	})
}

// latency is the term of the longest way between two ranks, one of which has what the
// other needs. Messages may be relayed by others, so the ways are the shortest of the
// graph, not the routes of the machine.
func (b *search) latency() {
	// From all ranks if that is quick, else from the first and the last.
	const quick = 1 << 18 // components looked at: 87 ranks in the default system
	back := b.toRoot()
	sources := b.sources()
	if n := len(sources); n*b.g.NumNodes() > quick && n > 2 {
		sources = []int{sources[0], sources[n-1]}
	}
	w := newWays(b.g, back)
	for _, source := range sources {
		at, isPartner := w.from(b.homes[source].tcm, b.homes[source].hbm), b.partners(source)
		for rank, h := range b.homes {
			time := min(at[h.tcm], at[h.hbm])
			if time <= b.time || !isPartner(rank) {
				continue
			}
			b.atLeast(time, LatencyLimit, func() string {
				from, to := b.homes[source], h
				if back {
					from, to = to, from
				}
				return fmt.Sprintf("the way from %v to %v takes %v", from, to, time)
			})
		}
	}
}
