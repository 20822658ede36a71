package topology

import (
	"cmp"
	"slices"
)

// Compile lays out the system that s describes and applies its overrides, whose
// errors come all at once. A system whose graph this computer has no memory for is
// refused. Other values must be those that loading a file lets
// through: positive counts, and sites and corners on the NoC. Time and memory
// are linear in the number of links: a thousand SIPs take well under a second.
// The graph keeps s, which must not change afterwards.
func Compile(s *Spec) (*Graph, error) {
	if err := s.affordable(); err != nil {
		return nil, err
	}
	g, err := layOut(s)
	if err != nil {
		return nil, err
	}
	if err := g.override().Err(); err != nil {
		return nil, err
	}
	return g, nil
}

// layOut returns the system before its overrides.
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
	g.place()
	g.join(g.sipLinks(), g.outerLinks())
	return g, nil
}

// place creates the components of SIP 0 and those outside any SIP.
func (g *Graph) place() {
	s, overheads := g.spec, g.spec.overheads()
	at := layout{pitch: s.Cube.NoC.Pitch, gap: s.SIP.CubeMesh.Gap, noc: g.noc, mesh: g.mesh}
	g.outer = []Node{{Kind: KindHost, SIP: -1, Cube: -1}}
	if s.System.SIPs.Topology == Switch {
		g.outer = append(g.outer, Node{Kind: KindSwitch, SIP: -1, Cube: -1, Overhead: overheads[KindSwitch]})
	}
	add := func(k Kind, cube, index int, p Point) {
		g.sip = append(g.sip, Node{Kind: k, Cube: int32(cube), Index: int32(index), Pos: p, Overhead: overheads[k]})
	}
	add(KindPCIe, -1, 0, at.off(at.ioSwitch(), 0, -4))
	add(KindIOCPU, -1, 0, at.off(at.ioSwitch(), -4, 0))
	add(KindIOSwitch, -1, 0, at.ioSwitch())
	for col := range g.mesh.w {
		add(KindUCIe, -1, col, at.ioUCIe(col))
	}
	for cube := range g.mesh.size() {
		ids := cubeIDs{first: len(g.sip)}
		for r := range g.noc.size() {
			add(KindRouter, cube, r, at.router(cube, r))
		}
		add(KindCubeCPU, cube, 0, at.on(cube, g.siteRouter(s.Cube.CPU.At), KindCubeCPU))
		add(KindSRAM, cube, 0, at.on(cube, g.siteRouter(s.Cube.SRAM.At), KindSRAM))
		for pe, r := range g.sites {
			add(KindHBM, cube, pe, at.on(cube, r, KindHBM))
		}
		for pe, r := range g.sites {
			for unit := KindPECPU; unit <= KindIPCQ; unit++ {
				add(unit, cube, pe, at.on(cube, r, unit))
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

// overheads returns what components add to whatever enters them, by kind.
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

// join numbers the links: those inside SIP 0 repeated for every SIP, and those
// outside, by From and then To. Both lists come in that order.
func (g *Graph) join(inside, outside []Link) {
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

// sortLinks orders links by From and then To; parallel ones keep their order.
func sortLinks(links []Link) {
	slices.SortStableFunc(links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
}
