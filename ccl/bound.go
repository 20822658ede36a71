package ccl

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// Bound is a time that no all-reduce of so many bytes per rank can beat, whatever its
// algorithm, and what sets it. The ranks are PEs of the system, numbered cube by cube,
// SIP by SIP, with their data in their own TCM or HBM slice. It is the largest of these:
//
//   - Cuts. A region with some of the ranks has to send bytes once and to receive them
//     once, over the links at its edge. Regions are PEs with their HBM slice, cubes,
//     SIPs, and runs of rows and columns of either.
//   - Volume. k regions of a kind, which do not overlap, have to receive 2(k-1)·bytes
//     together: it takes 2(k-1) messages until each of k knows what all know. (They
//     may send fewer: what one leaves in memory elsewhere can be read by several.)
//   - Latency. What one rank has must reach the others.
//
// Links that take no time bound nothing. Links of commands carry no data, and data
// never passes through the host. ok is false for other collectives.
func Bound(g *topology.Graph, pes []int, c Collective, bytes int64) (time sim.Time, why string, ok bool) {
	if c != AllReduce {
		return 0, "", false
	}
	b := bound{g: g, bytes: uint64(bytes), why: func() string { return "nothing that has to move takes time" }}
	b.place(pes)
	if len(b.ranks) < 2 || bytes <= 0 {
		return 0, "nothing has to move", true
	}
	for _, p := range b.partitions() {
		b.cuts(p)
	}
	b.latency()
	return b.time, b.why(), true
}

// bound is the search for the largest term.
type bound struct {
	g     *topology.Graph
	bytes uint64
	ranks []home
	time  sim.Time
	why   func() string
}

// home is a rank's PE and its memories.
type home struct {
	sip, cube, pe int
	tcm, hbm      topology.NodeID
}

func (h home) String() string { return fmt.Sprintf("sip%d.cube%d.pe%d", h.sip, h.cube, h.pe) }

// place finds the ranks, each once.
func (b *bound) place(pes []int) {
	s := b.g.Spec()
	perCube, cubes := s.PEsPerCube(), s.CubesPerSIP()
	seen := map[int]bool{}
	for _, pe := range pes {
		if seen[pe] {
			continue
		}
		seen[pe] = true
		sip, cube, pe := pe/perCube/cubes, pe/perCube%cubes, pe%perCube
		b.ranks = append(b.ranks, home{sip, cube, pe, b.g.PENode(sip, cube, pe, topology.KindTCM), b.g.HBM(sip, cube, pe)})
	}
}

// atLeast notes a term.
func (b *bound) atLeast(time sim.Time, why func() string) {
	if time > b.time {
		b.time, b.why = time, why
	}
}

// cuts is the terms of a partition: of every run of its regions, and of all regions
// with ranks together.
func (b *bound) cuts(p *partition) {
	var all capacity // into regions with ranks
	regions := 0
	for first := range p.ranks {
		var in, out capacity
		inside := 0
		for last := first; last < (first/p.line+1)*p.line; last++ {
			p.extend(first, last, &in, &out)
			inside += p.ranks[last]
			if inside == len(b.ranks) {
				break
			}
			if inside > 0 {
				b.cut(p, first, last, out, "send")
				b.cut(p, first, last, in, "receive")
			}
			if last == first && inside > 0 {
				regions++
				all.add(in)
			}
		}
	}
	if regions < 2 {
		return
	}
	times := 2 * uint64(regions-1)
	b.atLeast(all.carry(b.bytes, times), func() string {
		return fmt.Sprintf("%d %ss receive %d times the data over their links, %v together", regions, p.noun, times, all)
	})
}

func (b *bound) cut(p *partition, first, last int, c capacity, verb string) {
	b.atLeast(c.carry(b.bytes, 1), func() string {
		whose := "their"
		if first == last {
			verb, whose = verb+"s", "its"
		}
		return fmt.Sprintf("%s %s everything over %s links, %v", p.name(first, last), verb, whose, c)
	})
}

// latency is the term of the longest way between two ranks. Messages may be relayed by
// others, so the ways are the shortest of the graph, not the routes of the machine.
func (b *bound) latency() {
	// All pairs if that is quick, else those of the first rank and of the last.
	const quick = 1 << 18 // components looked at: 87 ranks in the default system
	sources := b.ranks
	if len(sources)*b.g.NumNodes() > quick {
		sources = []home{b.ranks[0], b.ranks[len(b.ranks)-1]}
	}
	w := newWays(b.g)
	for _, from := range sources {
		at := w.from(from.tcm, from.hbm)
		for _, to := range b.ranks {
			time := min(at[to.tcm], at[to.hbm])
			b.atLeast(time, func() string {
				return fmt.Sprintf("the way from %s to %s takes %v", from, to, time)
			})
		}
	}
}

// partition is regions of one kind, and the links at their edges.
type partition struct {
	noun   string
	count  int
	line   int                     // so many follow each other, and runs of them are regions too
	region func(topology.Node) int // of a component
	label  func(region int) (number int, of string)
	ranks  []int     // in each region
	joints [][]joint // of each region
}

// joint is a link between a region and another, or what is in none.
type joint struct {
	other int
	out   bool
	rate  capacity
}

// none is the region of components that are in none.
const none = -1

// partitions is all regions, the outermost first.
func (b *bound) partitions() []*partition {
	s := b.g.Spec()
	sips, cubes, pes := s.System.SIPs.Count, s.CubesPerSIP(), s.PEsPerCube()
	w, h := s.SIP.CubeMesh.W, s.SIP.CubeMesh.H
	inCube := func(region func(sip, cube int) int) func(topology.Node) int {
		return func(n topology.Node) int {
			if n.Cube < 0 {
				return none
			}
			return region(int(n.SIP), int(n.Cube))
		}
	}
	inSIP := func(count int) func(int) (int, string) {
		return func(r int) (int, string) { return r % count, fmt.Sprintf(" of SIP %d", r/count) }
	}
	parts := []*partition{
		{noun: "SIP", count: sips, line: 1, label: inSystem, region: func(n topology.Node) int { return int(n.SIP) }},
		{noun: "cube column", count: sips * w, line: w, label: inSIP(w), region: inCube(func(sip, cube int) int { return sip*w + cube%w })},
		{noun: "cube row", count: sips * h, line: h, label: inSIP(h), region: inCube(func(sip, cube int) int { return sip*h + cube/w })},
		{noun: "cube", count: sips * cubes, line: 1, label: inSIP(cubes), region: inCube(func(sip, cube int) int { return sip*cubes + cube })},
		{noun: "PE", count: sips * cubes * pes, line: 1, region: func(n topology.Node) int {
			if n.Kind < topology.KindHBM {
				return none
			}
			return (int(n.SIP)*cubes+int(n.Cube))*pes + int(n.Index)
		}, label: func(r int) (int, string) {
			return r % pes, fmt.Sprintf(" of cube %d of SIP %d", r/pes%cubes, r/pes/cubes)
		}},
	}
	switch shape := s.System.SIPs.Topology; {
	case shape == topology.Ring1D || shape == topology.Line:
		parts[0].line = sips
	case shape.Grid():
		parts = append(parts, b.sipGrid()...)
	}
	for _, p := range parts {
		p.ranks, p.joints = make([]int, p.count), make([][]joint, p.count)
		for _, r := range b.ranks {
			p.ranks[p.region(b.g.Node(r.tcm))]++
		}
	}
	for _, l := range b.g.Links() {
		from, to := b.g.Node(l.From), b.g.Node(l.To)
		if !carriesData(from) || !carriesData(to) {
			continue
		}
		rate := newCapacity(l.Bandwidth, s.System.Flit)
		for _, p := range parts {
			p.join(p.region(from), p.region(to), rate)
		}
	}
	return parts
}

// sipGrid is the columns and the rows of SIPs.
func (b *bound) sipGrid() []*partition {
	w, h := b.g.SIPGrid()
	along := func(axis func(col, row int) int) func(topology.Node) int {
		return func(n topology.Node) int { return axis(b.g.SIPAt(int(n.SIP))) } // all data is in SIPs
	}
	return []*partition{
		{noun: "SIP column", count: w, line: w, label: inSystem, region: along(func(col, _ int) int { return col })},
		{noun: "SIP row", count: h, line: h, label: inSystem, region: along(func(_, row int) int { return row })},
	}
}

// carriesData reports whether data is kept in a component or passes through it.
func carriesData(n topology.Node) bool {
	switch n.Kind {
	case topology.KindSwitch, topology.KindIOSwitch, topology.KindUCIe, topology.KindRouter,
		topology.KindSRAM, topology.KindHBM, topology.KindDMA, topology.KindTCM:
		return true
	}
	return false
}

// join notes a link.
func (p *partition) join(from, to int, rate capacity) {
	if from == to {
		return
	}
	if from != none {
		p.joints[from] = append(p.joints[from], joint{to, true, rate})
	}
	if to != none {
		p.joints[to] = append(p.joints[to], joint{from, false, rate})
	}
}

// extend makes what goes into the regions from first to last-1, and out of them, that
// of first to last.
func (p *partition) extend(first, last int, in, out *capacity) {
	for _, j := range p.joints[last] {
		within := first <= j.other && j.other < last
		switch {
		case j.out && within:
			in.sub(j.rate)
		case j.out:
			out.add(j.rate)
		case within:
			out.sub(j.rate)
		default:
			in.add(j.rate)
		}
	}
}

func inSystem(region int) (int, string) { return region, "" }

// name is the name of a run of regions.
func (p *partition) name(first, last int) string {
	from, of := p.label(first)
	if first == last {
		return fmt.Sprintf("%s %d%s", p.noun, from, of)
	}
	to, _ := p.label(last)
	return fmt.Sprintf("%ss %d to %d%s", p.noun, from, to, of)
}
