package topology

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/host"
)

// The limits of a system's size. They make a mistyped number an error before the computer
// runs out of memory.
const (
	maxPEs      = 1 << 24
	maxRouters  = 1 << 25
	maxSIPLinks = 1 << 24
)

// check finds mistakes that concern several values, and fills in values that follow from
// others. It adds its errors to errs, the errors of decoding. It skips rules about values
// that could not be decoded. If errs already has config.MaxErrors errors, check returns
// them without further checks.
func (s *Spec) check(errs config.Errors) error {
	if len(errs) >= config.MaxErrors { // there may be more values that could not be decoded
		return errs.Err()
	}
	c := checker{Spec: s, errs: errs}
	for _, e := range errs {
		if !e.Kept {
			c.bad = append(c.bad, e.Path)
		}
	}
	c.checkSIPs()
	c.checkCorners()
	c.checkScale()
	shaped := c.found == 0
	c.checkSites()
	c.checkSizes()
	c.checkIPCQ()
	c.checkOverrides()
	if shaped {
		c.checkLinks()
	}
	return c.errs.Err()
}

// checker collects the errors of a spec.
type checker struct {
	*Spec
	errs  config.Errors
	bad   []string // paths of values that could not be decoded
	found int      // number of mistakes apart from errors of decoding
}

// ok reports whether the values at all given paths could be decoded.
func (c *checker) ok(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool {
		return slices.ContainsFunc(c.bad, func(b string) bool {
			return b == "" || strings.HasPrefix(p+".", b+".") || strings.HasPrefix(b, p+".") || strings.HasPrefix(b, p+"[")
		})
	})
}

// fail adds an error about the value at the given path. If there are already
// config.MaxErrors errors, it only counts the error.
func (c *checker) fail(path, format string, args ...any) {
	c.found++
	if len(c.errs) < config.MaxErrors {
		c.errs = append(c.errs, c.origin.Errorf(path, format, args...))
	}
}

// checkSIPs checks the SIP grid and fills in its sides.
func (c *checker) checkSIPs() {
	const count, w, h = "system.sips.count", "system.sips.w", "system.sips.h"
	if !c.ok("system.sips.topology", count, w, h) {
		return
	}
	g := &c.System.SIPs
	changed := c.origin.Latest(count, "system.sips.topology", w, h)
	cols, rows := MostSquare(g.Count)
	switch {
	case !g.Topology.Grid() && g.W != 0:
		c.fail(w, "a %s has no grid: delete w and h, or use topology: %s or %s", g.Topology, Torus2D, Mesh2DNoWrap)
	case !g.Topology.Grid() && g.H != 0:
		c.fail(h, "a %s has no grid: delete h, or use topology: %s or %s", g.Topology, Torus2D, Mesh2DNoWrap)
	case !g.Topology.Grid():
	case g.W == 0 && g.H == 0 && cols == rows:
		g.W, g.H = cols, rows
	case g.W == 0 && g.H == 0:
		c.fail(changed, "%d SIPs are not a square: set w and h with w·h = %d, such as w: %d, h: %d", g.Count, g.Count, cols, rows)
	case g.H == 0:
		c.fail(w, "w without h: set both, with w·h = %d", g.Count)
	case g.W == 0:
		c.fail(h, "h without w: set both, with w·h = %d", g.Count)
	case g.W*g.H != g.Count:
		c.fail(changed, "%d SIPs do not fill a grid of w·h = %d·%d = %d: set count: %d, or for %d SIPs w: %d, h: %d",
			g.Count, g.W, g.H, g.W*g.H, g.W*g.H, g.Count, cols, rows)
	}
}

// checkCorners checks that the NoC is large enough for each corner to have its own routers.
func (c *checker) checkCorners() {
	const corners = "cube.pe_layout.corners"
	if !c.ok(corners, "cube.noc.w", "cube.noc.h") {
		return
	}
	n := c.Cube.NoC
	wide, high := c.origin.Latest(corners, "cube.noc.w"), c.origin.Latest(corners, "cube.noc.h")
	switch k := c.Cube.PELayout.Corners; {
	case k >= 2 && n.W < 2:
		c.fail(wide, "%d corners need a NoC of at least 2 columns, and w is %d", k, n.W)
	case k == 4 && n.H < 2:
		c.fail(high, "4 corners need a NoC of at least 2 rows, and h is %d", n.H)
	}
}

// checkSites checks that the routers of the CPU and the SRAM are on the NoC.
func (c *checker) checkSites() {
	if !c.ok("cube.noc.w", "cube.noc.h") {
		return
	}
	n := c.Cube.NoC
	for _, site := range []struct {
		path string
		at   Site
	}{{"cube.cpu.at", c.Cube.CPU.At}, {"cube.sram.at", c.Cube.SRAM.At}} {
		if c.ok(site.path) && !n.has(site.at) {
			c.fail(c.origin.Latest(site.path, "cube.noc.w", "cube.noc.h"), "%s is at %s, outside the NoC of %d×%d, whose last router is %s",
				strings.TrimSuffix(site.path, ".at"), site.at, n.W, n.H, Site{n.H - 1, n.W - 1})
		}
	}
}

// has reports whether a site is on the NoC.
func (n NoC) has(at Site) bool { return at.Row < n.H && at.Col < n.W }

// checkSizes checks the sizes of flits and bursts.
func (c *checker) checkSizes() {
	for _, u := range []struct {
		path string
		size Bytes
	}{{"system.flit", c.System.Flit}, {"cube.hbm.burst", c.Cube.HBM.Burst}} {
		if c.ok(u.path) && (bits.OnesCount64(uint64(u.size)) != 1 || u.size < 16 || u.size > 64*KiB) {
			c.fail(u.path, "%s: expected a power of two from 16 B to 64 KiB", size.format(int64(u.size)))
		}
	}
}

// LeastTiles is the number of tiles, each as large as a slot, for which queues in TCM must
// leave space. Kernels of collectives need up to five tiles for their messages.
const LeastTiles = 8

// checkIPCQ checks that the rings of queue slots fit into their memory together with the
// other contents of that memory: tiles in TCM, tensors in HBM.
func (c *checker) checkIPCQ() {
	q := c.PE.IPCQ
	if !c.ok("pe.ipcq.max_ports", "pe.ipcq.n_slots", "pe.ipcq.slot_size", "pe.ipcq.buffer_kind") {
		return
	}
	slot := size.format(int64(q.SlotSize))
	rings := fmt.Sprintf("%d ports × %d slots × %s", q.MaxPorts, q.NSlots, slot)
	memory, path, sharers, reserved := c.PE.TCM.Size, "pe.tcm.size", 1, LeastTiles*q.SlotSize
	switch q.BufferKind {
	case BufferTCM:
		rings += fmt.Sprintf(", and %d tiles of %s", LeastTiles, slot)
	case BufferSRAM:
		memory, path, sharers, reserved = c.Cube.SRAM.Size, "cube.sram.size", c.PEsPerCube(), 0
		if sharers > 1 {
			rings = fmt.Sprintf("%d PEs × %s", sharers, rings)
		}
	case BufferHBM:
		memory, path, reserved = c.Cube.HBM.SliceSize, "cube.hbm.slice_size", 1
		rings += ", and tensors"
	}
	if !c.ok(path) || sharers > 1 && !c.ok("cube.pe_layout") {
		return
	}
	if need := host.Product(sharers, q.MaxPorts, q.NSlots, int(q.SlotSize)); need > uint64(max(0, memory-reserved)) {
		changed := c.origin.Latest("pe.ipcq.slot_size", "pe.ipcq.n_slots", "pe.ipcq.max_ports", "pe.ipcq.buffer_kind", path)
		c.fail(changed, "the queue rings do not fit in %s, %s: %s; use fewer or smaller slots, or another memory, pe.ipcq.buffer_kind",
			path, size.format(int64(memory)), rings)
	}
}

// checkScale checks that the system does not exceed the limits of size.
func (c *checker) checkScale() {
	const count = "system.sips.count"
	if !c.ok(count, "sip.cube_mesh.w", "sip.cube_mesh.h", "cube.pe_layout.corners", "cube.pe_layout.pe_per_corner",
		"cube.noc.w", "cube.noc.h") {
		return
	}
	sips, cubes := c.System.SIPs.Count, c.CubesPerSIP()
	changed := c.origin.Latest(count, "sip.cube_mesh.w", "sip.cube_mesh.h", "cube.pe_layout.pe_per_corner", "cube.noc.w", "cube.noc.h")
	if n := host.Product(sips, cubes, c.PEsPerCube()); n > maxPEs {
		c.fail(changed, "%d SIPs × %d cubes × %d PEs are more than %d PEs", sips, cubes, c.PEsPerCube(), maxPEs)
	} else if n := host.Product(sips, cubes, c.Cube.NoC.W, c.Cube.NoC.H); n > maxRouters {
		c.fail(changed, "%d SIPs × %d cubes × %d routers are more than %d routers", sips, cubes, c.Cube.NoC.W*c.Cube.NoC.H, maxRouters)
	}
	if !c.ok("system.sips.topology", "system.sips.link.links") || c.System.SIPs.Topology != FullyConnected {
		return
	}
	if n := host.Product(sips, sips-1, c.System.SIPs.Link.Links); n > maxSIPLinks {
		c.fail(count, "%d SIPs, all joined to each other, need more than %d links: use another topology", sips, maxSIPLinks)
	}
}

// checkOverrides checks that each override names a link, changes something, and is the only
// override of its link.
func (c *checker) checkOverrides() {
	first := map[string]int{}
	for i, o := range c.Overrides {
		path := fmt.Sprintf("overrides[%d]", i)
		if !c.ok(path) {
			continue
		}
		// An unknown key, for example, may be a misspelling of the key that is missing.
		slipped := func(e *config.Error) bool { return strings.HasPrefix(e.Path, path+".") }
		link := strings.ReplaceAll(o.Link, " ", "")
		before, again := first[link]
		switch {
		case link == "":
			c.fail(path+".link", "names no link: write one such as sip0.io.switch<->sip1.io.switch")
			c.bad = append(c.bad, path+".link")
		case again:
			c.fail(path+".link", "overrides[%d] is about the same link: say everything in one", before)
		case o.Absent && (o.Bandwidth != nil || o.Latency != nil):
			c.fail(path+".absent", "an absent link has no bandwidth or latency: delete either")
		case !o.Absent && o.Bandwidth == nil && o.Latency == nil && !slices.ContainsFunc(c.errs, slipped):
			c.fail(path, "changes nothing: give a bandwidth, a latency, or absent: true")
		}
		if !again {
			first[link] = i
		}
	}
}

// checkLinks checks that every link that an override names exists, and that endpoints still
// reach each other without the absent links. It lays out the system for this check, so the
// shape of the system must be valid; other values may be wrong. The check takes as long as
// Compile, so checkLinks skips it for a system without overrides.
func (c *checker) checkLinks() {
	if len(c.Overrides) == 0 || !c.ok("system.sips.count", "system.sips.topology", "system.sips.w", "system.sips.h",
		"system.sips.link.links", "sip.cube_mesh.w", "sip.cube_mesh.h", "cube.noc.w", "cube.noc.h",
		"cube.pe_layout.corners", "cube.pe_layout.pe_per_corner") {
		return
	}
	s := *c.Spec
	for _, at := range []*Site{&s.Cube.CPU.At, &s.Cube.SRAM.At} {
		if !s.Cube.NoC.has(*at) { // reported by checkSites; it changes no name
			*at = Site{}
		}
	}
	g, err := layOut(&s)
	if err != nil { // reported by checkSIPs
		return
	}
	for _, e := range g.applyOverrides() {
		if c.ok(e.Path) && len(c.errs) < config.MaxErrors {
			c.errs = append(c.errs, e)
		}
	}
}
