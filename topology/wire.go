package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// wiring collects the links inside a SIP. A link without an explicit latency has the wire
// delay of its length.
type wiring struct {
	g     *Graph
	links []Link
}

// link adds a link. If latency is nil, the link has the wire delay of the distance between
// its ends.
func (w *wiring) link(from, to NodeID, bw BytesPerSec, latency *Time) {
	if latency == nil {
		a, b := w.g.Node(from).Pos, w.g.Node(to).Pos // the wire between them follows rows and columns
		latency = new(w.g.spec.System.WireDelay.Over(max(a.X-b.X, b.X-a.X) + max(a.Y-b.Y, b.Y-a.Y)))
	}
	w.links = append(w.links, Link{From: from, To: to, Bandwidth: bw, Latency: *latency})
}

// duplex connects components a and b by a link in each direction.
func (w *wiring) duplex(a, b NodeID, bw BytesPerSec, latency *Time) {
	w.link(a, b, bw, latency)
	w.link(b, a, bw, latency)
}

// sipLinks returns the links inside SIP 0, ordered by From and then To.
func (g *Graph) sipLinks() []Link {
	w := &wiring{g: g}
	w.connectIO()
	for cube := range g.mesh.size() {
		w.connectDies(cube)
		w.connectNoC(cube)
		for pe := range g.sites {
			w.connectPE(cube, pe)
		}
	}
	sortLinks(w.links)
	return w.links
}

// connectIO connects the units of the IO chiplet to its switch, and its ports to the cubes
// of row 0.
func (w *wiring) connectIO() {
	g, io, ucie := w.g, w.g.spec.SIP.IO, w.g.spec.SIP.UCIe
	w.duplex(g.PCIe(0), g.IOSwitch(0), io.Bandwidth, nil)
	w.duplex(g.IOCPU(0), g.IOSwitch(0), io.Bandwidth, nil)
	for col := range g.mesh.w {
		w.duplex(g.IOSwitch(0), g.ioUCIe(0, col), io.Bandwidth, nil)
		w.duplex(g.ioUCIe(0, col), g.port(0, col, North), ucie.Bandwidth, ucie.Latency)
	}
}

// connectDies connects a cube to its neighbours in the east and south.
func (w *wiring) connectDies(cube int) {
	g, ucie := w.g, w.g.spec.SIP.UCIe
	for _, d := range []Direction{East, South} {
		if next, ok := g.mesh.neighbor(cube, d); ok {
			w.duplex(g.port(0, cube, d), g.port(0, next, d.opposite()), ucie.Bandwidth, ucie.Latency)
		}
	}
}

// connectNoC connects the routers of a cube to each other and to the cube's ports, CPU and
// SRAM.
func (w *wiring) connectNoC(cube int) {
	g, c := w.g, w.g.spec.Cube
	for r := range g.noc.size() {
		for _, d := range []Direction{East, South} {
			if next, ok := g.noc.neighbor(r, d); ok {
				w.duplex(g.router(0, cube, r), g.router(0, cube, next), c.NoC.Bandwidth, c.NoC.Latency)
			}
		}
	}
	for d := North; d < numDirections; d++ {
		if g.cubes[cube].port[d] >= 0 {
			w.duplex(g.portRouter(0, cube, d), g.port(0, cube, d), c.NoC.Bandwidth, nil)
		}
	}
	w.duplex(g.router(0, cube, g.siteRouter(c.CPU.At)), g.CubeCPU(0, cube), c.NoC.Bandwidth, nil)
	w.duplex(g.router(0, cube, g.siteRouter(c.SRAM.At)), g.SRAM(0, cube), c.SRAM.Bandwidth, nil)
}

// connectPE connects a PE and its HBM slice to their router, and the units of the PE to
// each other.
func (w *wiring) connectPE(cube, pe int) {
	g, s := w.g, w.g.spec
	router := g.router(0, cube, g.sites[pe])
	unit := func(k Kind) NodeID { return g.PENode(0, cube, pe, k) }
	dma, tcm, fetchStore := unit(KindDMA), unit(KindTCM), unit(KindFetchStore)

	w.duplex(router, g.HBM(0, cube, pe), s.Cube.HBM.Bandwidth, nil)
	w.duplex(router, dma, s.PE.DMA.Bandwidth, nil)
	w.duplex(router, unit(KindPECPU), s.Cube.NoC.Bandwidth, nil)
	w.link(dma, tcm, s.PE.TCM.WriteBandwidth, nil)
	w.link(tcm, dma, s.PE.TCM.ReadBandwidth, nil)
	w.duplex(tcm, fetchStore, s.PE.FetchStore.Bandwidth, nil)
	w.duplex(fetchStore, unit(KindGEMM), Unlimited, nil)
	w.duplex(fetchStore, unit(KindMath), Unlimited, nil)

	// Links for commands, which carry no data.
	w.link(unit(KindPECPU), unit(KindScheduler), Unlimited, nil)
	for _, k := range []Kind{KindDMA, KindFetchStore, KindGEMM, KindMath, KindIPCQ} {
		w.link(unit(KindScheduler), unit(k), Unlimited, nil)
	}
	w.link(unit(KindIPCQ), dma, Unlimited, nil)
}

// absence is a link that an override removes.
type absence struct {
	from, to NodeID
	ordinal  int // among parallel links
}

// applyOverrides applies the overrides of the spec in order: if two overrides change the
// same value of a link, the later one counts. The names of links refer to the system before
// any link is removed. applyOverrides returns an error for each override that names no link
// or that removes the only way between two nodes, and for each level in which the absent
// links separate endpoints.
func (g *Graph) applyOverrides() config.Errors {
	var errs config.Errors
	removed := map[LinkID]bool{}
	lastRemoval := map[level]int{} // the last override that removes a link of each level
	for i, o := range g.spec.Overrides {
		at := fmt.Sprintf("overrides[%d].link", i)
		ids, ok := g.LookupLink(o.Link)
		if !ok {
			errs = append(errs, g.spec.origin.Errorf(at, "no link %q: %s", o.Link, g.whyNoLink(o.Link)))
			continue
		}
		for _, id := range ids {
			l := &g.links[id]
			if o.Bandwidth != nil {
				l.Bandwidth = *o.Bandwidth
			}
			if o.Latency != nil {
				l.Latency = *o.Latency
			}
			if !o.Absent {
				continue
			}
			lev, ok := levelOf(g.Node(l.From), g.Node(l.To))
			if !ok {
				errs = append(errs, g.spec.origin.Errorf(at, "%s is the only way from %s to %s: it cannot be absent", g.LinkName(id), g.Name(l.From), g.Name(l.To)))
				continue
			}
			removed[id] = true
			lastRemoval[lev] = i
		}
	}
	g.removeLinks(removed)
	inOrder := func(a, b level) int { return cmp.Or(cmp.Compare(a.sip, b.sip), cmp.Compare(a.cube, b.cube)) }
	for _, lev := range slices.SortedFunc(maps.Keys(lastRemoval), inOrder) {
		if from, to, found := g.findSevered(lev); found {
			errs = append(errs, g.spec.origin.Errorf(fmt.Sprintf("overrides[%d].link", lastRemoval[lev]),
				"the absent links leave no way from %s to %s in %s: keep one", g.Name(from), g.Name(to), lev))
		}
	}
	return errs
}

// removeLinks removes links and renumbers the remaining links.
func (g *Graph) removeLinks(removed map[LinkID]bool) {
	if len(removed) == 0 {
		return
	}
	var absent []absence // collected first, because g.absent changes the result of ordinal
	for _, id := range slices.Sorted(maps.Keys(removed)) {
		k, _ := g.ordinal(id)
		absent = append(absent, absence{g.links[id].From, g.links[id].To, k})
	}
	g.absent = absent
	kept, old := g.links[:0], LinkID(0)
	for n := range g.first {
		end := g.first[n]
		for ; old < end; old++ {
			if !removed[old] {
				kept = append(kept, g.links[old])
			}
		}
		g.first[n] = LinkID(len(kept))
	}
	g.links = kept
}

// whyNoLink explains what is wrong with the name of a link.
func (g *Graph) whyNoLink(name string) string {
	from, to, _, _, ok := cutLinkName(name)
	if !ok {
		return nameRule
	}
	for _, end := range []string{from, to} {
		if _, ok := g.Lookup(end); !ok {
			near := g.nearestName(end)
			if near == "" {
				return fmt.Sprintf("there is no component %q; %s", end, nameRule)
			}
			return fmt.Sprintf("there is no component %q; did you mean %s?", end, near)
		}
	}
	id, _ := g.Lookup(from)
	var near []string
	for link := g.first[id]; link < g.first[id+1] && len(near) < 12; link++ {
		near = append(near, g.LinkName(link))
	}
	return "from there lead " + strings.Join(near, ", ")
}
