package topology

import (
	"fmt"
	"slices"
)

// level is a part of the network with its own routing rule: the NoC of a cube, the cube
// mesh of a SIP (cube is -1) or the SIP fabric (both are -1). A path may go around an
// absent link within its level.
type level struct{ sip, cube int32 }

// levelOf returns the level of a link between two nodes. The second result is false for
// links of endpoints and links inside a PE: no path goes around them.
func levelOf(a, b Node) (level, bool) {
	switch {
	case a.Kind == KindRouter && b.Kind == KindRouter:
		return level{a.SIP, a.Cube}, true
	case a.Kind == KindUCIe || b.Kind == KindUCIe:
		return level{a.SIP, -1}, true
	case a.connectsSIPs() && b.connectsSIPs():
		return level{-1, -1}, true
	}
	return level{}, false
}

// connectsSIPs reports whether the node is a switch of the SIP fabric.
func (n Node) connectsSIPs() bool { return n.Kind == KindIOSwitch || n.Kind == KindSwitch }

// carries reports whether a path at the level may pass through a node. Traffic from outside
// enters the cube mesh at the IO chiplet's switch. A path in the cube mesh may therefore
// start or end at this switch, but it may not pass through it.
func (l level) carries(n Node) bool {
	switch {
	case l.sip < 0:
		return n.connectsSIPs()
	case l.cube < 0:
		return n.SIP == l.sip && (n.Kind == KindRouter || n.Kind == KindUCIe)
	}
	return n.SIP == l.sip && n.Cube == l.cube && n.Kind == KindRouter
}

func (l level) String() string {
	switch {
	case l.sip < 0:
		return "the SIP fabric"
	case l.cube < 0:
		return fmt.Sprintf("the cube mesh of sip%d", l.sip)
	}
	return fmt.Sprintf("the NoC of sip%d.cube%d", l.sip, l.cube)
}

// detour extends the path from its end to another node by a shortest way within a level,
// and reports whether there is a way. Of several shortest ways it takes the one whose links
// have the lowest ids. It is a breadth-first search; its cost is linear in the size of the
// level.
func (p *path) detour(l level, to NodeID) bool {
	if p.at == to {
		return true
	}
	g := p.g
	cameFrom := map[NodeID]NodeID{p.at: p.at}
	for queue := []NodeID{p.at}; len(queue) > 0; queue = queue[1:] {
		for _, link := range g.Out(queue[0]) {
			if _, seen := cameFrom[link.To]; seen || link.To != to && !l.carries(g.Node(link.To)) {
				continue
			}
			cameFrom[link.To] = queue[0]
			if link.To == to {
				return p.follow(cameFrom, to)
			}
			queue = append(queue, link.To)
		}
	}
	return false
}

// follow extends the path to a node along the tree of a breadth-first search that started
// at the end of the path. cameFrom has the parent of each node in the tree. follow reports
// whether all links on the way exist.
func (p *path) follow(cameFrom map[NodeID]NodeID, to NodeID) bool {
	var hops []NodeID
	for id := to; id != p.at; id = cameFrom[id] {
		hops = append(hops, id)
	}
	for _, id := range slices.Backward(hops) {
		if !p.hop(id) {
			return false
		}
	}
	return true
}

// terminals returns the nodes of a level that must reach each other so that every endpoint
// reaches every other endpoint. In the SIP fabric, these are the switches of all SIPs. In
// the cube mesh, they are the IO switch and one router of each cube; the check of the NoC
// covers the other routers. In a NoC, they are all routers with an endpoint.
func (g *Graph) terminals(l level) []NodeID {
	var ids []NodeID
	switch {
	case l.sip < 0:
		for sip := range g.spec.System.SIPs.Count {
			ids = append(ids, g.IOSwitch(sip))
		}
	case l.cube < 0:
		ids = append(ids, g.IOSwitch(int(l.sip)))
		for cube := range g.cubes {
			ids = append(ids, g.anchor(g.CubeCPU(int(l.sip), cube), 0))
		}
	default:
		for r := range g.noc.size() {
			if id := g.router(int(l.sip), int(l.cube), r); g.hasEndpoint(id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// hasEndpoint reports whether a router is connected to anything other than routers.
func (g *Graph) hasEndpoint(router NodeID) bool {
	return slices.ContainsFunc(g.Out(router), func(l Link) bool {
		return g.Node(l.To).Kind != KindRouter
	})
}

// findSevered searches for two terminals of a level such that no path within the level
// leads from the first to the second. `found` reports whether there are such terminals. The
// terminals are the nodes that the method `terminals` returns. One of them is the hub:
// findSevered searches for paths from the hub to every other terminal and back. In the cube
// mesh, cubes must reach each other without the IO chiplet, so the switch of the IO chiplet
// is not the hub.
func (g *Graph) findSevered(l level) (from, to NodeID, found bool) {
	ids := g.terminals(l)
	hub := ids[len(ids)-1]
	for _, id := range ids {
		out, back := path{g: g, at: hub}, path{g: g, at: id}
		if !out.detour(l, id) {
			return hub, id, true
		}
		if !back.detour(l, hub) {
			return id, hub, true
		}
	}
	return 0, 0, false
}
