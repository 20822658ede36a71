package figure

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/topology"
)

// labelledSIPs is up to how many SIPs the links between them carry labels.
const labelledSIPs = 8

// system draws the SIPs in the arrangement of their fabric, and the host.
func (p *plan) system() *Diagram {
	s := p.Spec()
	sips := s.System.SIPs
	d := &Diagram{name: "system"}
	d.title = "System: " + count(sips.Count, "SIP") + ", " + string(sips.Topology)
	if sips.Topology.Grid() {
		w, h := p.SIPGrid()
		d.title += fmt.Sprintf(" %d×%d", w, h)
	}
	w, h := area()
	const hostH, top = 52, 104
	inset := 24
	inner := rect{inset, top + 32, w - 2*inset, h - top - 48}
	boxes, links := p.arrange(&inner)
	if (block{rect: boxes[0], lines: []string{"sip0"}}).labels() == nil { // its name goes beside it
		inset = 84
		inner = rect{inset, top + 32, w - 2*inset, h - top - 48}
		boxes, links = p.arrange(&inner)
	}
	d.w, d.h = inner.w+2*inset, inner.y+inner.h+16

	around := d.frame(frame{rect: rect{0, top, d.w, d.h - top}, name: "fabric", text: "SIP fabric", in: -1})
	host := d.block(block{rect: rect{d.w/2 - 110, 0, 220, hostH}, name: "host", lines: []string{"host"}, look: outside, in: -1})
	pes := s.CubesPerSIP() * s.PEsPerCube()
	hbm := s.Cube.HBM.SliceSize * topology.Bytes(pes)
	var blocks []int
	for i, r := range boxes {
		name := fmt.Sprintf("sip%d", i)
		blocks = append(blocks, d.block(block{rect: r, name: name, look: compute, in: around,
			lines: []string{name, count(s.CubesPerSIP(), "cube"), count(pes, "PE"), "HBM " + quantity(hbm), "GEMM " + gemmRate(s.PE.GEMM, pes)}}))
	}
	d.nameEnds(blocks[0], blocks[len(blocks)-1])
	p.hostLinks(d, host, blocks, top, hostH)
	if sips.Topology == topology.Switch {
		blocks = append(blocks, d.block(block{rect: p.switchBar(inner, boxes), name: "switch", look: fabric, in: around,
			lines: []string{"switch", quantity(sips.Switch.Overhead)}}))
	}
	p.fabricLinks(d, boxes, blocks, links)
	p.explainSystem(d)
	return d
}

// hostLinks draws one line for the PCIe links of all SIPs: theirs are alike.
func (p *plan) hostLinks(d *Diagram, host int, sips []int, top, hostH int) {
	pcie := p.Spec().Host.PCIe
	x := d.blocks[host].centre().x
	all := wire{from: -1, path: []point{{x, hostH}, {x, top}}, look: outside, name: "PCIe", label: &label{
		at: point{x + 16, (hostH + top) / 2}, left: true, size: sizeText, colour: ink,
		text: "PCIe to every SIP: " + each(pcie.Bandwidth, pcie.Latency),
	}}
	d.wires = append(d.wires, all) // the first of all
	for sip, b := range sips {
		p.join(d, wire{from: host, to: b, look: outside}, ends{p.Host(), p.PCIe(sip)})
		if d.wires[len(d.wires)-1].state != asKind {
			d.wires[0].state = changed
		}
	}
}

// fabricLinks draws the links between SIPs, or to the switch.
func (p *plan) fabricLinks(d *Diagram, boxes []rect, blocks []int, routes routes) {
	sips := p.Spec().System.SIPs
	thick := 0.0
	if boxes[0].h < 40 {
		thick = 1.5
	}
	if sips.Topology == topology.FullyConnected {
		thick = max(0.3, 16/float64(sips.Count)) // all chords together stay light
	}
	text := quantity(sips.Link.Bandwidth)
	if sips.Link.Links > 1 {
		text = fmt.Sprintf("%d × %s", sips.Link.Links, text)
	}
	add := func(a, b int, from, to topology.NodeID) {
		w := wire{from: blocks[a], to: blocks[b], look: fabric, thick: min(thick, 3), path: routes(a, b)}
		w.rounded = sips.Topology != topology.FullyConnected
		if sips.Count <= labelledSIPs && sips.Topology != topology.FullyConnected { // chords cross
			w.label = wireLabel(w.path, text)
		}
		p.join(d, w, ends{from, to})
	}
	if sips.Topology == topology.Switch {
		central, _ := p.named("switch")
		for i := range sips.Count {
			add(i, sips.Count, p.IOSwitch(i), central)
		}
		return
	}
	if routes == nil {
		d.notes = append(d.notes, label{at: point{d.w / 2, d.blocks[blocks[0]].y - 24}, size: sizeHead, colour: ink,
			text: fmt.Sprintf("every SIP is joined to every other: %d pairs", sips.Count*(sips.Count-1)/2)})
		return
	}
	for i := range sips.Count {
		for _, j := range p.SIPNeighbors(i) {
			if i < j {
				add(i, j, p.IOSwitch(i), p.IOSwitch(j))
			}
		}
	}
}

// wireLabel is the text at a wire: at a straight one, or at a wrap link. That of a
// row has it below its long way, in the first gap between columns; that of a
// column above its first box.
func wireLabel(path []point, text string) *label {
	switch {
	case len(path) != 6:
		return linkLabel(path, text)
	case path[1].x == path[0].x: // of a column
		return linkLabel(path[1:3], text)
	}
	l := linkLabel(path[2:4], text)
	if l != nil {
		l.at = point{path[2].x + (path[3].x-path[2].x)/4, l.at.y + 28}
	}
	return l
}

// linkLabel is the text at a straight wire: above a horizontal one, right of
// a vertical one; nil when it is neither or has no room.
func linkLabel(path []point, text string) *label {
	if len(path) != 2 {
		return nil
	}
	a, b := path[0], path[1]
	l := &label{text: text, size: sizeText, colour: ink, at: point{(a.x + b.x) / 2, (a.y + b.y) / 2}}
	if a.y == b.y {
		l.at.y -= 14
		if width(text, l.size, false) > max(a.x-b.x, b.x-a.x) {
			return nil
		}
		return l
	}
	l.left = true
	l.at.x += 10
	if a.x != b.x || max(a.y-b.y, b.y-a.y) < 2*sizeText {
		return nil
	}
	return l
}

func (p *plan) explainSystem(d *Diagram) {
	s := p.Spec()
	sips, link := s.System.SIPs, s.System.SIPs.Link
	d.explain(compute, "SIP", count(s.CubesPerSIP(), "cube")+" × "+count(s.PEsPerCube(), "PE"),
		fmt.Sprintf("fabric switch %s", quantity(s.SIP.IO.Switch.Overhead)))
	if sips.Count > 1 {
		per := "neighbour pair"
		if sips.Topology == topology.Switch {
			per = "SIP"
		}
		d.explainWire(fabric, "SIP link", bandwidth(link.Bandwidth), quantity(link.Latency), fmt.Sprintf("%s per %s", count(link.Links, "link"), per))
	}
	if sips.Topology == topology.Switch {
		d.explain(fabric, "switch", quantity(sips.Switch.Overhead))
	}
	d.explain(outside, "host", "launch packets of "+quantity(s.Host.LaunchBytes))
	d.explainWire(outside, "PCIe, one per SIP", bandwidth(s.Host.PCIe.Bandwidth), quantity(s.Host.PCIe.Latency))
}

// isqrt is the square root, rounded up.
func isqrt(x float64) int { return int(math.Ceil(math.Sqrt(x))) }
