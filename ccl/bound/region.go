package bound

import (
	"fmt"

	"github.com/kernbench/kernbench/topology"
)

// partition is a set of regions of one kind, which do not overlap.
type partition struct {
	noun     string                         // name of the kind of region
	line     int                            // number of regions in a row; runs within a row are regions, too
	label    func(region int) (int, string) // number of a region, and what contains it, such as " of SIP 1"
	regionOf func(topology.Node) int        // region of a node, or none
	regions  []region
}

// none is the number that regionOf returns for a node that is in no region.
const none = -1

// region is a part of the system, or a run of neighbouring parts. It has the share of the
// collective's data that belongs to the region, and the capacity of the links at its edge.
type region struct {
	share
	out, in capacity
	inner   []edge // edges to earlier regions of the same line
}

// edge is a connection between two regions in the same row of regions: a link with its
// rate, or the units that a rank in one region sends to a rank in the other. The edge is
// stored at the later region. The direction does not matter.
type edge struct {
	other int // the earlier of the two regions
	rate  capacity
	units uint64
}

// partitions returns the ways in which the system divides into regions: SIPs, cube columns,
// cube rows, cubes, PEs, and for a grid of SIPs its columns and rows.
func (b *search) partitions() []*partition {
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
	inSystem := func(region int) (int, string) { return region, "" }
	inSIP := func(count int) func(int) (int, string) {
		return func(r int) (int, string) { return r % count, fmt.Sprintf(" of SIP %d", r/count) }
	}
	part := func(noun string, count, line int, label func(int) (int, string), regionOf func(topology.Node) int) *partition {
		return &partition{noun, line, label, regionOf, make([]region, count)}
	}
	parts := []*partition{
		part("SIP", sips, 1, inSystem, func(n topology.Node) int { return int(n.SIP) }),
		part("cube column", sips*w, w, inSIP(w), inCube(func(sip, cube int) int { return sip*w + cube%w })),
		part("cube row", sips*h, h, inSIP(h), inCube(func(sip, cube int) int { return sip*h + cube/w })),
		part("cube", sips*cubes, 1, inSIP(cubes), inCube(func(sip, cube int) int { return sip*cubes + cube })),
		part("PE", sips*cubes*pes, 1, func(r int) (int, string) {
			return r % pes, fmt.Sprintf(" of cube %d of SIP %d", r/pes%cubes, r/pes/cubes)
		}, func(n topology.Node) int {
			if n.Kind < topology.KindHBM {
				return none
			}
			return (int(n.SIP)*cubes+int(n.Cube))*pes + int(n.Index)
		}),
	}
	switch shape := s.System.SIPs.Topology; {
	case shape == topology.Ring1D || shape == topology.Line:
		parts[0].line = sips
	case shape.Grid():
		w, h := b.g.SIPGrid()
		parts = append(parts,
			part("SIP column", w, w, inSystem, func(n topology.Node) int { col, _ := b.g.SIPAt(int(n.SIP)); return col }),
			part("SIP row", h, h, inSystem, func(n topology.Node) int { _, row := b.g.SIPAt(int(n.SIP)); return row }))
	}
	b.fill(parts)
	return parts
}

// fill completes the regions of the partitions. It records in each region the ranks in the
// region, the units that these ranks send and receive, and the capacity of the links at the
// edge.
func (b *search) fill(parts []*partition) {
	for _, p := range parts {
		at := make([]int, len(b.sites)) // region of each rank
		for rank, s := range b.sites {
			at[rank] = p.regionOf(b.g.Node(s.tcm))
			p.regions[at[rank]].add(share{ranks: 1, weight: b.weight(rank), root: rank == b.root})
		}
		for _, f := range b.pairs {
			if from, to := at[f.from], at[f.to]; from != to {
				p.regions[from].sent += f.units
				p.regions[to].received += f.units
				p.connect(edge{units: f.units}, from, to)
			}
		}
	}
	flit := b.g.Spec().System.Flit
	for _, l := range b.g.Links() {
		from, to := b.g.Node(l.From), b.g.Node(l.To)
		if !carriesData(from.Kind) || !carriesData(to.Kind) {
			continue
		}
		rate := newCapacity(l.Bandwidth, flit)
		for _, p := range parts {
			a, b := p.regionOf(from), p.regionOf(to)
			if a == b {
				continue
			}
			if a != none {
				p.regions[a].out.add(rate)
			}
			if b != none {
				p.regions[b].in.add(rate)
			}
			if a != none && b != none {
				p.connect(edge{rate: rate}, a, b)
			}
		}
	}
}

// carriesData reports whether nodes of kind k store data or pass data on.
func carriesData(k topology.Kind) bool {
	switch k {
	case topology.KindSwitch, topology.KindIOSwitch, topology.KindUCIe, topology.KindRouter,
		topology.KindSRAM, topology.KindHBM, topology.KindDMA, topology.KindTCM:
		return true
	}
	return false
}

// connect records edge e between the regions a and b. If the regions are in different rows
// of regions, connect does nothing, because no run contains both.
func (p *partition) connect(e edge, a, b int) {
	if a/p.line != b/p.line {
		return
	}
	e.other = min(a, b)
	r := &p.regions[max(a, b)]
	r.inner = append(r.inner, e)
}

// extend adds the region `last` to `run`, which contains the regions from `first` to
// `last`-1. Links between these regions and the region `last` no longer cross the edge of
// the run.
func (p *partition) extend(run *region, first, last int) {
	r := &p.regions[last]
	run.add(r.share)
	run.out.add(r.out)
	run.in.add(r.in)
	for _, e := range r.inner {
		if e.other >= first {
			run.out.sub(e.rate)
			run.in.sub(e.rate)
			run.sent -= e.units
			run.received -= e.units
		}
	}
}

// name returns the name of the run of regions from `first` to `last`, such as "SIPs 2 to
// 4".
func (p *partition) name(first, last int) string {
	from, of := p.label(first)
	if first == last {
		return fmt.Sprintf("%s %d%s", p.noun, from, of)
	}
	to, _ := p.label(last)
	return fmt.Sprintf("%ss %d to %d%s", p.noun, from, to, of)
}
