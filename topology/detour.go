package topology

import (
	"fmt"
	"slices"
)

// level is a part of the network with its own routing rule, within which a
// path may go around an absent link: the NoC of a cube, the cube mesh of a SIP
// (cube is -1) or the SIP fabric (both are -1).
type level struct{ sip, cube int32 }

// levelOf is the level of a link between two nodes. Links of endpoints and
// those inside a PE have none: there is no way around them.
func levelOf(a, b Node) (level, bool) {
	switch {
	case a.Kind == KindRouter && b.Kind == KindRouter:
		return level{a.SIP, a.Cube}, true
	case a.Kind == KindUCIe || b.Kind == KindUCIe:
		return level{a.SIP, -1}, true
	case a.joinsSIPs() && b.joinsSIPs():
		return level{-1, -1}, true
	}
	return level{}, false
}

func (n Node) joinsSIPs() bool { return n.Kind == KindIOSwitch || n.Kind == KindSwitch }

// carries reports whether a path at the level may pass through a node. In the
// cube mesh it keeps off the IO chiplet's switch, where traffic from outside
// enters, though it may start or end there.
func (l level) carries(n Node) bool {
	switch {
	case l.sip < 0:
		return n.joinsSIPs()
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

// detour goes to a node by a path of fewest links within a level, of several
// the one whose links come first in order of id. It is a breadth-first search
// from p.at, and costs as much as the level is large.
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

// follow goes to a node along the tree of a search that started at p.at.
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

// terminals is the nodes that must reach each other within a level for every
// endpoint to reach every other: all SIPs, one router for each cube (its NoC
// answers for the rest), all routers that anything hangs on.
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

// hasEndpoint reports whether anything but routers hangs on a router.
func (g *Graph) hasEndpoint(router NodeID) bool {
	return slices.ContainsFunc(g.Out(router), func(l Link) bool {
		return g.Node(l.To).Kind != KindRouter
	})
}

// severed is a pair of terminals of a level without a path from the first to
// the second, if there is one. In the cube mesh the cubes must reach each other
// without the IO chiplet, so its switch is not the hub of the search.
func (g *Graph) severed(l level) (from, to NodeID, found bool) {
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
