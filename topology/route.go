package topology

import (
	"fmt"
	"slices"
)

// Route appends the links from one endpoint to another to buf, which may be
// nil. Endpoints are the host, the PCIe endpoint, CPU and switch of an IO
// chiplet, and in a cube its routers, CPU, SRAM and HBM slices and the CPU, DMA
// and TCM of its PEs. The path is a function of the two ends alone:
//
//   - An endpoint is reached by its router (a TCM by its DMA), those of the IO
//     chiplet by its switch, the host by the PCIe endpoint of the other end's SIP.
//   - In a NoC and in the cube mesh XY: along the row, then along the column.
//     The cubes on the way are crossed from UCIe port to UCIe port.
//   - Between a cube and its IO chiplet along the cube's column, over row 0.
//   - On the SIP fabric by dimension order, columns first, the shorter way
//     round, at a tie the positive one. Of k parallel links it takes number
//     (cube·PEs + PE of the source + SIP of the destination) mod k, so that the
//     PEs of a SIP that talk to one other SIP share the links evenly.
//   - Where the rule meets an absent link, that NoC, cube mesh or fabric is
//     crossed by a shortest path instead: see detour.
//
// Route allocates nothing when buf has room and no link on the way is absent.
// No path is free: a route from a node to itself is an error.
func (g *Graph) Route(buf []LinkID, from, to NodeID) ([]LinkID, error) {
	if from == to {
		return buf, fmt.Errorf("route from %s to itself: data that stays in place takes no path", g.Name(from))
	}
	for _, end := range [...]NodeID{from, to} {
		if !g.Node(end).endpoint() {
			return buf, fmt.Errorf("route from %s to %s: %s is not an endpoint of the network", g.Name(from), g.Name(to), g.Name(end))
		}
	}
	p := path{g: g, links: buf, at: from, lane: g.lane(from, to)}
	if !p.run(to) {
		return buf, fmt.Errorf("no path from %s to %s", g.Name(from), g.Name(to))
	}
	return p.links, nil
}

func (n Node) endpoint() bool {
	switch n.Kind {
	case KindSwitch, KindUCIe, KindScheduler, KindFetchStore, KindGEMM, KindMath, KindIPCQ:
		return false
	}
	return true
}

// junction reports whether a node is where endpoints hang: a router or the
// switch of an IO chiplet.
func (n Node) junction() bool { return n.Kind == KindRouter || n.Kind == KindIOSwitch }

// lane picks among parallel links.
func (g *Graph) lane(from, to NodeID) int {
	src, dst := g.Node(from), g.Node(to)
	lane := int(max(dst.SIP, 0))
	if src.Cube >= 0 {
		lane += int(src.Cube) * len(g.sites)
	}
	if src.Kind >= KindHBM {
		lane += int(src.Index)
	}
	return lane
}

// anchor is the next node from an endpoint inwards to its junction. The host
// has one PCIe endpoint for every SIP, so it needs the other end's.
func (g *Graph) anchor(id NodeID, otherSIP int) NodeID {
	n := g.Node(id)
	sip, cube := int(n.SIP), int(n.Cube)
	switch n.Kind {
	case KindHost:
		return g.PCIe(otherSIP)
	case KindPCIe, KindIOCPU:
		return g.IOSwitch(sip)
	case KindCubeCPU:
		return g.router(sip, cube, g.siteRouter(g.spec.Cube.CPU.At))
	case KindSRAM:
		return g.router(sip, cube, g.siteRouter(g.spec.Cube.SRAM.At))
	case KindTCM:
		return g.PENode(sip, cube, int(n.Index), KindDMA)
	}
	return g.router(sip, cube, g.sites[n.Index])
}

// path is a route in the making: the links so far and the node they lead to.
type path struct {
	g     *Graph
	links []LinkID
	at    NodeID
	lane  int
}

// hop goes over the link to a node, and reports whether there is one.
func (p *path) hop(to NodeID) bool {
	first, n := p.g.between(p.at, to)
	if n == 0 {
		return false
	}
	p.links = append(p.links, first+LinkID(p.lane%n))
	p.at = to
	return true
}

// run goes from an endpoint to another: inwards to the first node that leads
// to the destination, from junction to junction, and outwards.
func (p *path) run(to NodeID) bool {
	g := p.g
	fromSIP, toSIP := int(g.Node(p.at).SIP), int(g.Node(to).SIP)

	var down [4]NodeID // the destination's way inwards: TCM, DMA, router or host, PCIe, switch
	down[0] = to
	n := 1
	for down[n-1] != p.at && !g.Node(down[n-1]).junction() {
		down[n] = g.anchor(down[n-1], fromSIP)
		n++
	}
	met := func() int { return slices.Index(down[:n], p.at) }
	for met() < 0 && !g.Node(p.at).junction() {
		if !p.hop(g.anchor(p.at, toSIP)) {
			return false
		}
	}
	if met() < 0 && !p.cross(down[n-1]) {
		return false
	}
	for i := met() - 1; i >= 0; i-- {
		if !p.hop(down[i]) {
			return false
		}
	}
	return true
}

// cross goes from a junction to another.
func (p *path) cross(to NodeID) bool {
	a, b := p.g.Node(p.at), p.g.Node(to)
	if a.SIP == b.SIP {
		return p.mesh(to)
	}
	return p.mesh(p.g.IOSwitch(int(a.SIP))) && p.fabric(int(a.SIP), int(b.SIP)) && p.mesh(to)
}

// fabric goes from the switch of a SIP to that of another.
func (p *path) fabric(from, to int) bool {
	start := *p
	if p.dimensionOrder(from, to) {
		return true
	}
	*p = start
	return p.detour(level{sip: -1, cube: -1}, p.g.IOSwitch(to))
}

func (p *path) dimensionOrder(sip, to int) bool {
	g := p.g
	switch g.spec.System.SIPs.Topology {
	case Switch:
		return p.hop(g.centralSwitch()) && p.hop(g.IOSwitch(to))
	case FullyConnected:
		return p.hop(g.IOSwitch(to))
	}
	for sip != to {
		sip, _ = g.fabric.neighbor(sip, g.fabric.toward(sip, to))
		if !p.hop(g.IOSwitch(sip)) {
			return false
		}
	}
	return true
}

// mesh goes from a junction of a SIP to another of the same.
func (p *path) mesh(to NodeID) bool {
	if p.at == to {
		return true
	}
	a, b := p.g.Node(p.at), p.g.Node(to)
	if a.Cube == b.Cube {
		return p.noc(to)
	}
	start := *p
	if p.cubeToCube(a, b, to) {
		return true
	}
	*p = start
	return p.detour(level{sip: a.SIP, cube: -1}, to)
}

// cubeToCube goes over UCIe links from a junction a to b, which is node to.
// The IO chiplet, where Cube is -1, lies north of row 0.
func (p *path) cubeToCube(a, b Node, to NodeID) bool {
	g, sip := p.g, int(a.SIP)
	cube, goal := int(a.Cube), int(b.Cube)
	if cube < 0 {
		cube = goal % g.mesh.w
		if !(p.hop(g.ioUCIe(sip, cube)) && p.hop(g.port(sip, cube, North)) && p.hop(g.portRouter(sip, cube, North))) {
			return false
		}
	}
	if goal < 0 {
		goal = cube % g.mesh.w
	}
	for cube != goal {
		out := g.mesh.toward(cube, goal)
		next, _ := g.mesh.neighbor(cube, out)
		in := out.opposite()
		if !(p.noc(g.portRouter(sip, cube, out)) && p.hop(g.port(sip, cube, out)) &&
			p.hop(g.port(sip, next, in)) && p.hop(g.portRouter(sip, next, in))) {
			return false
		}
		cube = next
	}
	if b.Cube < 0 {
		return p.noc(g.portRouter(sip, cube, North)) && p.hop(g.port(sip, cube, North)) &&
			p.hop(g.ioUCIe(sip, cube)) && p.hop(to)
	}
	return p.noc(to)
}

// portRouter is the router of a cube that the port of a side hangs on.
func (g *Graph) portRouter(sip, cube int, d Direction) NodeID {
	return g.router(sip, cube, portRouter(g.noc, d))
}

// noc goes from a router of a cube to another of the same.
func (p *path) noc(to NodeID) bool {
	g, start := p.g, *p
	a, b := g.Node(p.at), g.Node(to)
	for r := int(a.Index); r != int(b.Index); {
		r, _ = g.noc.neighbor(r, g.noc.toward(r, int(b.Index)))
		if !p.hop(g.router(int(a.SIP), int(a.Cube), r)) {
			*p = start
			return p.detour(level{sip: a.SIP, cube: a.Cube}, to)
		}
	}
	return true
}
