package bound

import (
	"fmt"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Limit is a lower bound on the time of a collective, and the reason for the bound.
type Limit struct {
	Time simtime.Time
	Kind Kind
	Why  string // a sentence; the same for all sizes that are limited by the same links
}

// Kind is the kind of term that determines a Limit.
type Kind uint8

// The kinds of limits.
const (
	None    Kind = iota // no data has to move, or moving it takes no time
	Cut                 // the links at the edge of a region
	Volume              // the links into all regions of a kind
	Latency             // the path from one rank to another
)

var kindNames = [...]string{"none", "cut", "volume", "latency"}

// String returns the name of the kind, such as "cut".
func (k Kind) String() string { return kindNames[k] }

// Compute returns a lower bound on the time of the collective of p: no algorithm can be
// faster. Rank i runs on PE pes[i]. PEs are numbered over the whole system, cube by cube
// and SIP by SIP. The data of a rank is in the TCM or the HBM slice of the rank's PE. Of p,
// only the collective, root, dtype, counts and messages matter. The bound is the largest of
// these terms:
//
//   - Cuts. The data that a region with some of the ranks must send and receive passes the
//     links at the edge of the region. Regions are PEs with their HBM slices, cubes, SIPs,
//     and contiguous rows and columns of cubes or SIPs.
//   - Volume. Take all regions of one kind, which do not overlap. The data that they must
//     receive together passes the links into the regions. (Regions may send less than they
//     receive: several regions can read data that one region has left in memory outside.)
//   - Latency. The data of a rank must reach the ranks that need the data.
//
// Links without serialization time limit nothing. Links for commands carry no data, and
// data never passes through the host.
func Compute(g *topology.Graph, pes []int, p *ccl.Plan) Limit {
	b := search{g: g, demand: newDemand(p, len(pes)), why: func() string { return "nothing that has to move takes time" }}
	if len(pes) < 2 || b.unit == 0 && p.Collective != ccl.Barrier {
		return Limit{Why: "nothing has to move"}
	}
	s := g.Spec()
	perCube, cubes := s.PEsPerCube(), s.CubesPerSIP()
	for _, pe := range pes {
		sip, cube, pe := pe/perCube/cubes, pe/perCube%cubes, pe%perCube
		b.sites = append(b.sites, site{sip, cube, pe, g.PENode(sip, cube, pe, topology.KindTCM), g.HBM(sip, cube, pe)})
	}
	if p.Collective != ccl.Barrier { // a barrier moves no data
		for _, p := range b.partitions() {
			b.addCuts(p)
		}
	}
	b.addLatency()
	return Limit{b.time, b.kind, b.why()}
}

// search is the state of a search for the largest term of the bound.
type search struct {
	*demand
	g     *topology.Graph
	sites []site       // by rank
	time  simtime.Time // the largest term so far
	kind  Kind
	why   func() string
}

// site is a rank's PE and its memories.
type site struct {
	sip, cube, pe int
	tcm, hbm      topology.NodeID
}

func (s site) String() string { return fmt.Sprintf("sip%d.cube%d.pe%d", s.sip, s.cube, s.pe) }

// raise adds a term to the search: a time with its kind and its reason. It records the term
// if the time is larger than the times of all previous terms.
func (b *search) raise(time simtime.Time, kind Kind, why func() string) {
	if time > b.time {
		b.time, b.kind, b.why = time, kind, why
	}
}

// addCuts considers the terms of one partition of the system: the cut around every run of
// neighbouring regions, and the volume of all regions that hold ranks.
func (b *search) addCuts(p *partition) {
	var all capacity // of the links into regions with ranks
	regions := 0
	for first := range p.regions {
		var run region
		for last := first; last < (first/p.line+1)*p.line; last++ {
			p.extend(&run, first, last)
			if run.ranks == b.ranks {
				break // no rank is outside
			}
			if run.ranks > 0 {
				out, in := b.crossing(run.share)
				b.addCut(p, first, last, out, run.out, "send")
				b.addCut(p, first, last, in, run.in, "receive")
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
	units := b.volume(regions)
	b.raise(all.serialize(host.Product(b.unit, units)), Volume, func() string {
		return fmt.Sprintf("%d %ss receive %s over their links, %v together", regions, p.noun, b.amount(units), all)
	})
}

// addCut considers one cut around the regions from `first` to `last`. The given number of
// units of data cross the edge of these regions in one direction, over links of capacity c.
// verb is "send" or "receive".
func (b *search) addCut(p *partition, first, last int, units uint64, c capacity, verb string) {
	time := c.serialize(host.Product(b.unit, units))
	if time <= b.time {
		return // most cuts: do not allocate the function below
	}
	b.raise(time, Cut, func() string {
		whose := "their"
		if first == last {
			verb, whose = verb+"s", "its"
		}
		return fmt.Sprintf("%s %s %s over %s links, %v", p.name(first, last), verb, b.amount(units), whose, c)
	})
}
