package draw

import (
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/topology"
)

// Layout of a SIP, from the top, in pixels.
const (
	sipTop   = 68.0 // top of the SIP, below the host and the other SIPs
	ioTop    = sipTop + 32
	ioH      = 136.0
	ioUnitH  = 50.0
	portW    = 18.0 // size of a UCIe port along the edge of its die
	portH    = 10.0 // size of a UCIe port across the edge
	minDie   = 28.0
	sipInset = 16.0
	endInset = 84.0 // space for a name next to the dies
)

// layoutSIP lays out the cube mesh of a SIP and its IO chiplet.
func (p *builder) layoutSIP() *Diagram {
	s := p.Spec()
	mesh := s.SIP.CubeMesh
	cols, rows := float64(mesh.W), float64(mesh.H)
	name := fmt.Sprintf("sip%d", p.at.SIP)
	d := &Diagram{name: "sip", prefix: name + "."}
	d.title = fmt.Sprintf("SIP: %s, %s, %s", name, printable.Count(s.CubesPerSIP(), "cube"), printable.Count(s.CubesPerSIP()*s.PEsPerCube(), "PE"))
	inset := sipInset
	if cols*minDie > areaW/2 {
		inset = endInset
	}
	d.w = max(areaW, cols*minDie+2*inset)
	dies := rect{inset, ioTop + ioH + 8, d.w - 2*inset, areaH - ioTop - ioH - 16}
	dies.h = max(dies.h, rows*minDie)
	d.h = dies.bottom() + 8

	sip := d.addFrame(frame{rect: rect{0, sipTop, d.w, d.h - sipTop}, name: name, text: name, in: -1})
	cw, ch := pitch(dies, mesh.W, mesh.H)
	size := rect{w: min(210, cw-max(cw/4, 2*portH)), h: min(110, ch-max(ch/4, 2*portH))}
	port := rect{w: portW, h: portH}
	if min(size.w, size.h) < 2*portW { // too small for ports: links run from die to die
		size, port = rect{w: cw * 0.75, h: ch * 0.75}, rect{}
	}
	ports := make([][4]int, s.CubesPerSIP())
	first, last := len(d.blocks), 0
	for cube := range ports {
		col, row := float64(cube%mesh.W), float64(cube/mesh.W)
		r := rect{dies.x + col*cw + math.Floor((cw-size.w)/2), dies.y + row*ch + math.Floor((ch-size.h)/2), size.w, size.h}
		last = len(d.blocks)
		ports[cube] = p.addDie(d, sip, cube, r, port)
	}
	p.joinDies(d, ports)
	p.addIOChiplet(d, sip, ports)
	d.endBlocks = []int{first, last}
	p.explainSIP(d, port.w > 0)
	return d
}

// addDie adds a cube at r and its ports. It returns the indices of the blocks of the ports,
// by direction, with -1 for a direction without a port. `size` is the size of a port: its
// width is along the edge of the die, and its height is outwards.
func (p *builder) addDie(d *Diagram, in, cube int, r, size rect) [4]int {
	s := p.Spec()
	name := fmt.Sprintf("sip%d.cube%d", p.at.SIP, cube)
	d.addBlock(block{rect: r, name: name, role: compute, in: in, lines: []string{
		fmt.Sprintf("cube%d", cube), printable.Count(s.PEsPerCube(), "PE"),
		"HBM " + topology.Format(s.Cube.HBM.SliceSize*topology.Bytes(s.PEsPerCube())), "SRAM " + topology.Format(s.Cube.SRAM.Size),
	}})
	c := r.centre()
	places := [4]rect{
		topology.North: {c.x - size.w/2, r.y - size.h, size.w, size.h},
		topology.East:  {r.right(), c.y - size.w/2, size.h, size.w},
		topology.South: {c.x - size.w/2, r.bottom(), size.w, size.h},
		topology.West:  {r.x - size.h, c.y - size.w/2, size.h, size.w},
	}
	var blocks [4]int
	for side, at := range places {
		blocks[side] = -1
		if id, ok := p.lookupPort(cube, side); ok {
			blocks[side] = d.addBlock(block{rect: at, name: p.Name(id), role: die, in: in})
		}
	}
	return blocks
}

// lookupPort returns the UCIe port at a side of a cube, and whether there is one.
func (p *builder) lookupPort(cube, side int) (topology.NodeID, bool) {
	return p.Lookup(fmt.Sprintf("sip%d.cube%d.ucie_%c", p.at.SIP, cube, "nesw"[side]))
}

// joinDies adds wires between the facing ports of neighbouring cubes.
func (p *builder) joinDies(d *Diagram, ports [][4]int) {
	w := p.Spec().SIP.CubeMesh.W
	bw := p.Spec().SIP.UCIe.Bandwidth
	for cube, own := range ports {
		if east := own[topology.East]; east >= 0 {
			p.joinStraight(d, east, ports[cube+1][topology.West], die, bw)
		}
		if south := own[topology.South]; south >= 0 {
			p.joinStraight(d, south, ports[cube+w][topology.North], die, bw)
		}
	}
}

// joinStraight adds a straight wire between blocks a and b, with role l. The wire stands
// for the links between the components that have the names of the two blocks. bw is the
// bandwidth in the label of the wire.
func (p *builder) joinStraight(d *Diagram, a, b int, l role, bw topology.BytesPerSec) {
	p.joinNamed(d, wire{from: a, to: b, role: l, path: straightPath(d.blocks[a].rect, d.blocks[b].rect), text: bandwidthLabel(bw)})
}

// addIOChiplet adds the IO chiplet above the cubes, and the parts of the system that it is
// connected to.
func (p *builder) addIOChiplet(d *Diagram, in int, ports [][4]int) {
	s, name := p.Spec(), fmt.Sprintf("sip%d.io", p.at.SIP)
	box := rect{sipInset, ioTop, d.w - 2*sipInset, ioH}
	io := d.addFrame(frame{rect: box, name: name, text: "IO chiplet", in: in})
	unit := func(x, w float64, own string, l role, overhead topology.Time) int {
		return d.addBlock(block{rect: rect{x - w/2, ioTop + 18, w, ioUnitH}, name: name + "." + own, in: io,
			role: l, lines: []string{own, topology.Format(overhead)}})
	}
	x := box.centre().x
	pcie := unit(x-260, 130, "pcie", outside, s.SIP.IO.PCIe.Overhead)
	hub := unit(x, 180, "switch", onDie, s.SIP.IO.Switch.Overhead)
	cpu := unit(x+260, 130, "cpu", control, s.SIP.IO.CPU.Overhead)
	for _, u := range []int{pcie, cpu} {
		p.joinStraight(d, hub, u, onDie, s.SIP.IO.Bandwidth)
	}
	for col := range s.SIP.CubeMesh.W {
		north := ports[col][topology.North]
		below := d.blocks[north]
		port := d.addBlock(block{rect: rect{below.centre().x - below.w/2, box.bottom() - below.h, below.w, below.h}, name: fmt.Sprintf("%s.ucie%d", name, col), role: die, in: io})
		p.joinStraight(d, port, north, die, s.SIP.UCIe.Bandwidth)
		p.joinNamed(d, wire{from: hub, to: port, role: onDie, path: combPath(d.blocks[hub].rect, d.blocks[port].rect, col, s.SIP.CubeMesh.W)})
	}
	p.addOutside(d, pcie, hub)
}

// combPath returns the path from the underside of a block down to the i-th of n blocks in a
// row below it.
func combPath(from, to rect, i, n int) []point {
	x := from.x + from.w*float64(i+1)/float64(n+1)
	// The paths to the outer blocks turn first, so that no paths cross.
	level := min(i, n-1-i)
	mid := from.bottom() + (to.y-from.bottom())*float64(level+1)/float64(n/2+2)
	if x == to.centre().x {
		return []point{{x, from.bottom()}, {x, to.y}}
	}
	return []point{{x, from.bottom()}, {x, mid}, {to.centre().x, mid}, {to.centre().x, to.y}}
}

// addOutside adds the host and the other SIPs, to which the IO chiplet is connected.
func (p *builder) addOutside(d *Diagram, pcie, hub int) {
	s := p.Spec()
	above := func(b int, name, text string) int {
		r := d.blocks[b].rect
		return d.addBlock(block{rect: rect{r.centre().x - 110, 0, 220, 44}, name: name, role: outside, in: -1, lines: []string{text}})
	}
	p.joinStraight(d, pcie, above(pcie, "host", "host"), outside, s.Host.PCIe.Bandwidth)
	var links []endpoints
	for _, l := range p.Out(p.IOSwitch(p.at.SIP)) {
		if int(p.Node(l.To).SIP) != p.at.SIP {
			links = append(links, endpoints{l.From, l.To})
		}
	}
	if links = slices.Compact(links); len(links) == 0 {
		return
	}
	others := above(hub, "fabric", "SIP fabric: "+printable.Count(len(links), "neighbour"))
	p.join(d, wire{from: hub, to: others, role: fabric, path: straightPath(d.blocks[hub].rect, d.blocks[others].rect),
		text: bandwidthLabel(s.System.SIPs.Link.Bandwidth)}, links...)
}

// explainSIP adds the legend of the view of a SIP. `ports` is false if the dies are too
// small to show ports.
func (p *builder) explainSIP(d *Diagram, ports bool) {
	s := p.Spec()
	link, ucie, pcie := s.System.SIPs.Link, s.SIP.UCIe, s.Host.PCIe
	d.explain(compute, "cube", fmt.Sprintf("%d×%d routers, %s", s.Cube.NoC.W, s.Cube.NoC.H, printable.Count(s.PEsPerCube(), "PE")))
	crossing := []string{bandwidthText(ucie.Bandwidth), p.latencyText(ucie.Latency) + ", gap " + topology.Format(s.SIP.CubeMesh.Gap)}
	if ports {
		d.explain(die, "UCIe port", topology.Format(ucie.Overhead)+" to enter")
	} else {
		crossing = append(crossing, "a port: "+topology.Format(ucie.Overhead)+" to enter")
	}
	d.explainWire(die, "UCIe link", crossing...)
	d.explainWire(onDie, "inside the IO chiplet", bandwidthText(s.SIP.IO.Bandwidth))
	if s.System.SIPs.Count > 1 {
		d.explainWire(fabric, "SIP link", bandwidthText(link.Bandwidth), topology.Format(link.Latency))
	}
	d.explainWire(outside, "PCIe to the host", bandwidthText(pcie.Bandwidth), topology.Format(pcie.Latency))
	d.explain(control, "command processor", topology.Format(s.SIP.IO.CPU.Overhead)+" to enter")
}
