package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// wiring collects the links inside a SIP. A link without a latency of its own
// has the wire delay of its length.
type wiring struct {
	g     *Graph
	links []Link
}

func (w *wiring) link(from, to NodeID, bw BytesPerSec, latency *Time) {
	if latency == nil {
		a, b := w.g.Node(from).Pos, w.g.Node(to).Pos // between which wires run along rows and columns
		latency = new(w.g.spec.System.WireDelay.Over(max(a.X-b.X, b.X-a.X) + max(a.Y-b.Y, b.Y-a.Y)))
	}
	w.links = append(w.links, Link{From: from, To: to, Bandwidth: bw, Latency: *latency})
}

// duplex joins two components, each direction its own link.
func (w *wiring) duplex(a, b NodeID, bw BytesPerSec, latency *Time) {
	w.link(a, b, bw, latency)
	w.link(b, a, bw, latency)
}

// sipLinks is the links inside SIP 0, by From and then To.
func (g *Graph) sipLinks() []Link {
	w := &wiring{g: g}
	w.io()
	for cube := range g.mesh.size() {
		w.dieToDie(cube)
		w.noc(cube)
		for pe := range g.sites {
			w.pe(cube, pe)
		}
	}
	sortLinks(w.links)
	return w.links
}

// io joins the units of the IO chiplet by its switch, and its ports to the
// cubes of row 0.
func (w *wiring) io() {
	g, io, ucie := w.g, w.g.spec.SIP.IO, w.g.spec.SIP.UCIe
	w.duplex(g.PCIe(0), g.IOSwitch(0), io.Bandwidth, nil)
	w.duplex(g.IOCPU(0), g.IOSwitch(0), io.Bandwidth, nil)
	for col := range g.mesh.w {
		w.duplex(g.IOSwitch(0), g.ioUCIe(0, col), io.Bandwidth, nil)
		w.duplex(g.ioUCIe(0, col), g.port(0, col, North), ucie.Bandwidth, ucie.Latency)
	}
}

// dieToDie joins a cube to its neighbours in the east and south.
func (w *wiring) dieToDie(cube int) {
	g, ucie := w.g, w.g.spec.SIP.UCIe
	for _, d := range []Direction{East, South} {
		if next, ok := g.mesh.neighbor(cube, d); ok {
			w.duplex(g.port(0, cube, d), g.port(0, next, d.opposite()), ucie.Bandwidth, ucie.Latency)
		}
	}
}

// noc joins the routers of a cube, and to them its ports, CPU and SRAM.
func (w *wiring) noc(cube int) {
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

// pe joins a PE and its HBM slice to their router, and the PE's units to each
// other.
func (w *wiring) pe(cube, pe int) {
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

	// Commands, which carry no data.
	w.link(unit(KindPECPU), unit(KindScheduler), Unlimited, nil)
	for _, k := range []Kind{KindDMA, KindFetchStore, KindGEMM, KindMath, KindIPCQ} {
		w.link(unit(KindScheduler), unit(k), Unlimited, nil)
	}
	w.link(unit(KindIPCQ), dma, Unlimited, nil)
}

// absence is a link that an override takes away.
type absence struct {
	from, to NodeID
	ordinal  int // among parallel links
}

// override applies the overrides of the spec in order, so that of two about
// one link the later has the last word. All names are those of the system
// before any link is taken away.
func (g *Graph) override() config.Errors {
	var errs config.Errors
	gone := map[LinkID]bool{}
	cut := map[level]int{} // last override that takes a link from a level
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
			gone[id] = true
			cut[lev] = i
		}
	}
	g.remove(gone)
	inOrder := func(a, b level) int { return cmp.Or(cmp.Compare(a.sip, b.sip), cmp.Compare(a.cube, b.cube)) }
	for _, lev := range slices.SortedFunc(maps.Keys(cut), inOrder) {
		if from, to, found := g.severed(lev); found {
			errs = append(errs, g.spec.origin.Errorf(fmt.Sprintf("overrides[%d].link", cut[lev]),
				"the absent links leave no way from %s to %s in %s: keep one", g.Name(from), g.Name(to), lev))
		}
	}
	return errs
}

// remove takes links away and numbers the others anew.
func (g *Graph) remove(gone map[LinkID]bool) {
	if len(gone) == 0 {
		return
	}
	var absent []absence // g.absent changes what ordinal returns
	for _, id := range slices.Sorted(maps.Keys(gone)) {
		k, _ := g.ordinal(id)
		absent = append(absent, absence{g.links[id].From, g.links[id].To, k})
	}
	g.absent = absent
	kept, old := g.links[:0], LinkID(0)
	for n := range g.first {
		end := g.first[n]
		for ; old < end; old++ {
			if !gone[old] {
				kept = append(kept, g.links[old])
			}
		}
		g.first[n] = LinkID(len(kept))
	}
	g.links = kept
}

// whyNoLink tells what is wrong with the name of a link.
func (g *Graph) whyNoLink(name string) string {
	from, to, _, _, ok := cutLinkName(name)
	if !ok {
		return nameRule
	}
	for _, end := range []string{from, to} {
		if _, ok := g.Lookup(end); !ok {
			near := g.nearest(end)
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
