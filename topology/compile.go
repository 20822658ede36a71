package topology

import (
	"cmp"
	"slices"
)

// Compile builds the graph of the system that s describes and applies its overrides. It
// returns all errors of overrides at once, and an error if this computer has too little
// memory for the graph. The other values of s must be valid as in a loaded file: positive
// counts, and sites and corners on the NoC. Time and memory are linear in the number of
// links: a thousand SIPs take well under a second. The graph keeps s, which must not
// change later.
func Compile(s *Spec) (*Graph, error) {
	if err := s.checkGraphMemory(); err != nil {
		return nil, err
	}
	g, err := layOut(s)
	if err != nil {
		return nil, err
	}
	if err := g.applyOverrides().Err(); err != nil {
		return nil, err
	}
	return g, nil
}

// layOut returns the graph of the system that s describes, without applying the overrides
// of s.
func layOut(s *Spec) (*Graph, error) {
	fabric, err := s.sipGrid()
	if err != nil {
		return nil, err
	}
	noc := grid{w: s.Cube.NoC.W, h: s.Cube.NoC.H}
	g := &Graph{
		spec:   s,
		noc:    noc,
		mesh:   grid{w: s.SIP.CubeMesh.W, h: s.SIP.CubeMesh.H},
		fabric: fabric,
		sites:  peSites(s.Cube.PELayout, noc),
	}
	g.placeNodes()
	g.addLinks(g.sipLinks(), g.outerLinks())
	return g, nil
}

// placeNodes creates the components of SIP 0 and the components outside any SIP.
func (g *Graph) placeNodes() {
	s, overheads := g.spec, g.spec.overheads()
	at := layout{pitch: s.Cube.NoC.Pitch, gap: s.SIP.CubeMesh.Gap, noc: g.noc, mesh: g.mesh}
	g.outer = []Node{{Kind: KindHost, SIP: -1, Cube: -1}}
	if s.System.SIPs.Topology == Switch {
		g.outer = append(g.outer, Node{Kind: KindSwitch, SIP: -1, Cube: -1, Overhead: overheads[KindSwitch]})
	}
	add := func(k Kind, cube, index int, p Point) {
		g.sip = append(g.sip, Node{Kind: k, Cube: int32(cube), Index: int32(index), Pos: p, Overhead: overheads[k]})
	}
	add(KindPCIe, -1, 0, at.offset(at.ioSwitch(), 0, -4))
	add(KindIOCPU, -1, 0, at.offset(at.ioSwitch(), -4, 0))
	add(KindIOSwitch, -1, 0, at.ioSwitch())
	for col := range g.mesh.w {
		add(KindUCIe, -1, col, at.ioUCIe(col))
	}
	for cube := range g.mesh.size() {
		ids := cubeIDs{first: len(g.sip)}
		for r := range g.noc.size() {
			add(KindRouter, cube, r, at.router(cube, r))
		}
		add(KindCubeCPU, cube, 0, at.component(cube, g.siteRouter(s.Cube.CPU.At), KindCubeCPU))
		add(KindSRAM, cube, 0, at.component(cube, g.siteRouter(s.Cube.SRAM.At), KindSRAM))
		for pe, r := range g.sites {
			add(KindHBM, cube, pe, at.component(cube, r, KindHBM))
		}
		for pe, r := range g.sites {
			for unit := KindPECPU; unit <= KindIPCQ; unit++ {
				add(unit, cube, pe, at.component(cube, r, unit))
			}
		}
		for d := North; d < numDirections; d++ {
			ids.port[d] = -1
			_, facing := g.mesh.neighbor(cube, d)
			if facing || d == North && cube < g.mesh.w { // the IO chiplet is north of row 0
				ids.port[d] = len(g.sip)
				add(KindUCIe, cube, int(d), at.port(cube, d))
			}
		}
		g.cubes = append(g.cubes, ids)
	}
}

// overheads returns the delay that each kind of component adds to everything that enters
// it.
func (s *Spec) overheads() [KindIPCQ + 1]Time {
	return [...]Time{
		KindSwitch:    s.System.SIPs.Switch.Overhead,
		KindPCIe:      s.SIP.IO.PCIe.Overhead,
		KindIOCPU:     s.SIP.IO.CPU.Overhead,
		KindIOSwitch:  s.SIP.IO.Switch.Overhead,
		KindUCIe:      s.SIP.UCIe.Overhead,
		KindRouter:    s.Cube.NoC.Overhead,
		KindCubeCPU:   s.Cube.CPU.Overhead,
		KindSRAM:      s.Cube.SRAM.Overhead,
		KindHBM:       s.Cube.HBM.Overhead,
		KindPECPU:     s.PE.CPU.Overhead,
		KindScheduler: s.PE.Scheduler.Overhead,
		KindTCM:       s.PE.TCM.Overhead,
		KindIPCQ:      0,
	}
}

// siteRouter returns the index of the router at a site.
func (g *Graph) siteRouter(at Site) int { return at.Row*g.noc.w + at.Col }

// addLinks stores and numbers all links, ordered by From and then To. `inside` has the
// links inside SIP 0, which are repeated for every SIP. `outside` has the links outside of
// SIPs. Both lists must already be ordered by From and then To.
func (g *Graph) addLinks(inside, outside []Link) {
	sips := g.spec.System.SIPs.Count
	g.links = make([]Link, 0, len(outside)+sips*len(inside))
	g.first = make([]LinkID, 0, g.NumNodes()+1)
	for sip := -1; sip < sips; sip++ {
		nodes, rest := len(g.sip), inside
		if sip < 0 {
			nodes, rest = len(g.outer), nil
		}
		shift := NodeID(sip * len(g.sip))
		for range nodes {
			id, start := NodeID(len(g.first)), len(g.links)
			g.first = append(g.first, LinkID(start))
			for len(outside) > 0 && outside[0].From == id {
				g.links = append(g.links, outside[0])
				outside = outside[1:]
			}
			mixed := len(g.links) > start
			for len(rest) > 0 && rest[0].From+shift == id {
				l := rest[0]
				l.From += shift
				l.To += shift
				g.links = append(g.links, l)
				rest = rest[1:]
			}
			if mixed {
				sortLinks(g.links[start:])
			}
		}
	}
	g.first = append(g.first, LinkID(len(g.links)))
}

// sortLinks sorts links by From and then To. Parallel links keep their order.
func sortLinks(links []Link) {
	slices.SortStableFunc(links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
}
