package topology

import (
	"fmt"
	"slices"
)

// Route appends the links from one endpoint to another to buf, which may be nil.
// Endpoints are the host; the PCIe endpoint, CPU and switch of an IO chiplet; the
// routers, CPU, SRAM and HBM slices of a cube; and the CPU, DMA and TCM of a PE. The path
// depends only on its two ends:
//
//   - The path reaches an endpoint in a cube through its router (a TCM through its DMA),
//     an endpoint in an IO chiplet through the switch, and the host through the PCIe
//     endpoint of the other end's SIP.
//   - In a NoC and in the cube mesh, routing is XY: along the row, then along the column.
//     The path crosses the cubes on the way from UCIe port to UCIe port.
//   - Between a cube and its IO chiplet, the path follows the cube's column; the IO chiplet
//     is connected to row 0.
//   - On the SIP fabric, routing is in dimension order: along the row, then along the
//     column. On rings and tori the path takes the shorter way round, and the positive
//     direction at a tie.
//   - Of k parallel links, the path takes the link with number (s + d) mod k. Here s is the
//     index of the source PE in its SIP, counted cube by cube, and d is the number of the
//     destination SIP. So the PEs of a SIP that send to the same other SIP share the links
//     evenly.
//   - If a link on this path is absent, the path crosses that NoC, cube mesh or fabric by
//     a shortest path instead; see detour.
//
// Route allocates nothing if buf has enough capacity and no link on the way is absent. A
// route from a node to itself is an error.
func (g *Graph) Route(buf []LinkID, from, to NodeID) ([]LinkID, error) {
	if from == to || !g.kind(from).endsRoutes() || !g.kind(to).endsRoutes() {
		return buf, g.endsError(from, to)
	}
	p := path{g: g, links: buf, at: from, lane: g.lane(from, to)}
	if !p.extendTo(to) {
		return buf, g.noPathError(from, to)
	}
	return p.links, nil
}

// endsError returns the error for a route between nodes that have none.
func (g *Graph) endsError(from, to NodeID) error {
	if from == to {
		return fmt.Errorf("route from %s to itself: data that stays in place takes no path", g.Name(from))
	}
	end := to
	if !g.Node(from).isEndpoint() {
		end = from
	}
	return fmt.Errorf("route from %s to %s: %s is not an endpoint of the network", g.Name(from), g.Name(to), g.Name(end))
}

// noPathError returns the error for a route over absent links.
func (g *Graph) noPathError(from, to NodeID) error {
	return fmt.Errorf("no path from %s to %s", g.Name(from), g.Name(to))
}

// isEndpoint reports whether a route may start or end at the node; see Route.
func (n Node) isEndpoint() bool { return n.Kind.endsRoutes() }

// endsRoutes reports whether a route may start or end at a node of kind k.
func (k Kind) endsRoutes() bool {
	switch k {
	case KindSwitch, KindUCIe, KindScheduler, KindFetchStore, KindGEMM, KindMath, KindIPCQ:
		return false
	}
	return true
}

// isJunction reports whether a node is a router or the switch of an IO chiplet. Every
// endpoint is connected to the rest of the network through such a node; see anchor.
func (g *Graph) isJunction(id NodeID) bool {
	k := g.kind(id)
	return k == KindRouter || k == KindIOSwitch
}

// lane returns the number by which a route from one node to another selects a parallel
// link: of k parallel links, the route takes link number lane mod k. The lane is the index
// of the source PE in its SIP plus the number of the destination SIP; see Route. An HBM
// slice counts as its PE, and other nodes of a cube count as the first PE of the cube. The
// index is 0 for a source outside all cubes, and the number is 0 for a destination outside
// all SIPs.
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

// anchor returns the next node on the way from node `id`, an end of a route, to its
// junction (see isJunction). For the host, which is connected to the PCIe endpoint of every
// SIP, anchor returns the PCIe endpoint of SIP otherSIP.
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

// path is a route under construction.
type path struct {
	g     *Graph
	links []LinkID // the links so far
	at    NodeID   // the node where the links so far end
	lane  int      // selects among parallel links
}

// hop extends the path by the link to a node, and reports whether there is such a link. The
// following methods extend the path by several links, and report whether they found a way.
func (p *path) hop(to NodeID) bool {
	first, n := p.g.between(p.at, to)
	if n == 0 {
		return false
	}
	p.links = append(p.links, first+LinkID(p.lane%n))
	p.at = to
	return true
}

// extendTo extends the path, which ends at an endpoint, to the endpoint `to`. The path goes
// up to the junction of its present end, across to the junction of `to`, and down to `to`.
// If the way up already reaches a node of the way down, the path goes down from that node.
// extendTo reports whether all links of the path exist.
func (p *path) extendTo(to NodeID) bool {
	g := p.g
	fromSIP, toSIP := g.sipOf(p.at), g.sipOf(to)

	var down [4]NodeID // from `to` to its junction, such as (TCM, DMA, router) or (host, PCIe, switch)
	down[0] = to
	n := 1
	for down[n-1] != p.at && !g.isJunction(down[n-1]) {
		down[n] = g.anchor(down[n-1], fromSIP)
		n++
	}
	downIndex := func() int { return slices.Index(down[:n], p.at) }
	for downIndex() < 0 && !g.isJunction(p.at) {
		if !p.hop(g.anchor(p.at, toSIP)) {
			return false
		}
	}
	if downIndex() < 0 && !p.crossTo(down[n-1]) {
		return false
	}
	for i := downIndex() - 1; i >= 0; i-- {
		if !p.hop(down[i]) {
			return false
		}
	}
	return true
}

// crossTo extends the path from its end, a junction, to another junction, which may be in
// another SIP.
func (p *path) crossTo(to NodeID) bool {
	a, b := p.g.Node(p.at), p.g.Node(to)
	if a.SIP == b.SIP {
		return p.crossMesh(to)
	}
	return p.crossMesh(p.g.IOSwitch(int(a.SIP))) && p.crossFabric(int(a.SIP), int(b.SIP)) && p.crossMesh(to)
}

// crossFabric extends the path from the IO switch of one SIP to the IO switch of another.
func (p *path) crossFabric(from, to int) bool {
	start := *p
	if p.followDimensionOrder(from, to) {
		return true
	}
	*p = start
	return p.detour(level{sip: -1, cube: -1}, p.g.IOSwitch(to))
}

// followDimensionOrder extends the path from the IO switch of one SIP to that of another by
// dimension-order routing. In a fabric with a central switch the path goes through that
// switch. In a fully connected fabric it is one link.
func (p *path) followDimensionOrder(sip, to int) bool {
	g := p.g
	switch g.spec.System.SIPs.Topology {
	case Switch:
		return p.hop(g.centralSwitch()) && p.hop(g.IOSwitch(to))
	case FullyConnected:
		return p.hop(g.IOSwitch(to))
	}
	for sip != to {
		sip, _ = g.fabric.neighbor(sip, g.fabric.nextSide(sip, to))
		if !p.hop(g.IOSwitch(sip)) {
			return false
		}
	}
	return true
}

// crossMesh extends the path from its end, a junction, to another junction of the same SIP.
func (p *path) crossMesh(to NodeID) bool {
	if p.at == to {
		return true
	}
	a, b := p.g.Node(p.at), p.g.Node(to)
	if a.Cube == b.Cube {
		return p.crossNoC(to)
	}
	start := *p
	if p.crossCubes(a, b, to) {
		return true
	}
	*p = start
	return p.detour(level{sip: a.SIP, cube: -1}, to)
}

// crossCubes extends the path over UCIe links from junction a to junction b. `to` is the id
// of b. The IO chiplet, whose nodes have Cube -1, is north of row 0.
func (p *path) crossCubes(a, b Node, to NodeID) bool {
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
		out := g.mesh.nextSide(cube, goal)
		next, _ := g.mesh.neighbor(cube, out)
		in := out.opposite()
		if !(p.crossNoC(g.portRouter(sip, cube, out)) && p.hop(g.port(sip, cube, out)) &&
			p.hop(g.port(sip, next, in)) && p.hop(g.portRouter(sip, next, in))) {
			return false
		}
		cube = next
	}
	if b.Cube < 0 {
		return p.crossNoC(g.portRouter(sip, cube, North)) && p.hop(g.port(sip, cube, North)) &&
			p.hop(g.ioUCIe(sip, cube)) && p.hop(to)
	}
	return p.crossNoC(to)
}

// portRouter returns the router of a cube that the port of a side is connected to.
func (g *Graph) portRouter(sip, cube int, d Direction) NodeID {
	return g.router(sip, cube, portRouter(g.noc, d))
}

// crossNoC extends the path from its end, a router, to another router of the same cube.
func (p *path) crossNoC(to NodeID) bool {
	g, start := p.g, *p
	a, b := g.Node(p.at), g.Node(to)
	for r := int(a.Index); r != int(b.Index); {
		r, _ = g.noc.neighbor(r, g.noc.nextSide(r, int(b.Index)))
		if !p.hop(g.router(int(a.SIP), int(a.Cube), r)) {
			*p = start
			return p.detour(level{sip: a.SIP, cube: a.Cube}, to)
		}
	}
	return true
}
