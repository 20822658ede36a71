package draw

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/topology"
)

// layoutSystem lays out the SIPs in the arrangement of their network, and the host.
func (p *builder) layoutSystem() *Diagram {
	sips := p.Spec().System.SIPs
	d := &Diagram{name: "system", title: "System: " + printable.Count(sips.Count, "SIP") + ", " + string(sips.Topology)}
	if sips.Topology.Grid() {
		w, h := p.SIPGrid()
		d.title += fmt.Sprintf(" %d×%d", w, h)
	}
	const hostH, top = 52, 104
	in := rect{24, top + 32, areaW - 48, areaH - top - 48}
	boxes, _ := p.arrange(&rect{w: in.w, h: in.h})
	if lines, _ := (block{rect: boxes[0], lines: []string{fmt.Sprintf("sip%d", sips.Count-1)}}).fit(); lines == 0 {
		in = in.inset(60, 0, 60, 0) // leave space for names next to the boxes
	}
	edge := in.x
	host := d.addBlock(block{name: "host", lines: []string{"host"}, role: outside, in: -1})
	around := d.addFrame(frame{name: "fabric", text: "SIP fabric", in: -1})
	blocks := p.addNetwork(d, &in, around)
	d.w, d.h = in.w+2*edge, in.bottom()+16
	d.frames[around].rect = rect{0, top, d.w, d.h - top}
	d.blocks[host].rect = rect{d.w/2 - 110, 0, 220, hostH}
	d.endBlocks = []int{blocks[0], blocks[len(blocks)-1]}
	p.addHostLinks(d, host, blocks, top, hostH)
	p.explainSystem(d)
	return d
}

// addNetwork adds the SIPs and the links between them in an area, which it enlarges if
// necessary. It returns the indices of the SIPs' blocks. The parameter `around` is the
// index of the enclosing frame.
func (p *builder) addNetwork(d *Diagram, in *rect, around int) []int {
	s := p.Spec()
	boxes, route := p.arrange(in)
	pes := s.CubesPerSIP() * s.PEsPerCube()
	hbm := s.Cube.HBM.SliceSize * topology.Bytes(pes)
	var blocks []int
	for i, r := range boxes {
		name := fmt.Sprintf("sip%d", i)
		blocks = append(blocks, d.addBlock(block{rect: r, name: name, role: compute, in: around,
			lines: []string{name, printable.Count(s.CubesPerSIP(), "cube"), printable.Count(pes, "PE"), "HBM " + topology.Format(hbm), "GEMM " + gemmRate(s.PE.GEMM, pes)}}))
	}
	switch sips := s.System.SIPs; {
	case route == nil:
		d.notes = append(d.notes, textLine{style{size: sizeHead, anchor: atMiddle}, point{in.centre().x, boxes[0].y - 24},
			fmt.Sprintf("every SIP is joined to every other: %d pairs", sips.Count*(sips.Count-1)/2)})
	case sips.Topology == topology.Switch:
		central := d.addBlock(block{rect: p.switchBar(*in, boxes), name: "switch", role: fabric, in: around,
			lines: []string{"switch", topology.Format(sips.Switch.Overhead)}})
		p.addFabricLinks(d, append(slices.Clone(blocks), central), route)
	default:
		p.addFabricLinks(d, blocks, route)
	}
	return blocks
}

// addHostLinks draws one line for the PCIe links of all SIPs, because all have the same
// bandwidth and latency. In addition, it adds each link as a wire that is not drawn.
func (p *builder) addHostLinks(d *Diagram, host int, sips []int, top, hostH float64) {
	pcie := p.Spec().Host.PCIe
	x, state := d.blocks[host].centre().x, unchanged
	for sip, b := range sips {
		p.join(d, wire{from: host, to: b, role: outside}, endpoints{p.Host(), p.PCIe(sip)})
		state = max(state, min(d.wires[len(d.wires)-1].state, changed))
	}
	d.wires = append(d.wires, &wire{from: -1, path: []point{{x, hostH}, {x, top}}, role: outside, name: "PCIe", state: state})
	d.notes = append(d.notes, textLine{style{size: sizeText}, point{x + 16, (hostH + top) / 2}, "PCIe to every SIP: " + bandwidthText(pcie.Bandwidth) + ", " + topology.Format(pcie.Latency)})
}

// addFabricLinks adds the links between SIPs, or between SIPs and the central switch. If
// there is a switch, it is the last element of `blocks`.
func (p *builder) addFabricLinks(d *Diagram, blocks []int, route routeFunc) {
	sips := p.Spec().System.SIPs
	text := bandwidthLabel(sips.Link.Bandwidth)
	if sips.Link.Links > 1 && text != "" {
		text = fmt.Sprintf("%d × %s", sips.Link.Links, text)
	}
	thick := 3.0
	switch {
	case sips.Topology == topology.FullyConnected:
		thick = min(max(0.3, 16/float64(sips.Count)), 3) // many chords must not darken the picture
	case d.blocks[blocks[0]].h < 40:
		thick = 1.5
	}
	add := func(a, b int, from, to topology.NodeID) {
		p.join(d, wire{from: blocks[a], to: blocks[b], role: fabric, thick: thick, text: text,
			path: route(a, b), sharp: sips.Topology == topology.FullyConnected}, endpoints{from, to})
	}
	if sips.Topology == topology.Switch {
		central, _ := p.Lookup("switch")
		for i := range sips.Count {
			add(i, sips.Count, p.IOSwitch(i), central)
		}
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

// explainSystem adds the legend of the view of the whole system.
func (p *builder) explainSystem(d *Diagram) {
	s := p.Spec()
	sips, link := s.System.SIPs, s.System.SIPs.Link
	d.explain(compute, "SIP", printable.Count(s.CubesPerSIP(), "cube")+" × "+printable.Count(s.PEsPerCube(), "PE"),
		fmt.Sprintf("fabric switch %s", topology.Format(s.SIP.IO.Switch.Overhead)))
	if sips.Count > 1 {
		per := map[bool]string{false: "neighbour pair", true: "SIP"}[sips.Topology == topology.Switch]
		d.explainWire(fabric, "SIP link", bandwidthText(link.Bandwidth), topology.Format(link.Latency), fmt.Sprintf("%s per %s", printable.Count(link.Links, "link"), per))
	}
	if sips.Topology == topology.Switch {
		d.explain(fabric, "switch", topology.Format(sips.Switch.Overhead))
	}
	d.explain(outside, "host", "launch packets of "+topology.Format(s.Host.LaunchBytes))
	d.explainWire(outside, "PCIe, one per SIP", bandwidthText(s.Host.PCIe.Bandwidth), topology.Format(s.Host.PCIe.Latency))
}

// Systems is a figure of several systems next to each other, with their SIPs and the links
// between SIPs. Each system is arranged as in its [ViewSystem].
type Systems struct {
	Title, Subtitle, Note string
	Panels                []SystemPanel
}

// SystemPanel is a system and its title.
type SystemPanel struct {
	Title string
	Graph *topology.Graph
}

// draw lays the systems out on a canvas, one panel for each system.
func (s Systems) draw(c *canvas) error {
	c.startPage(slideW, slideH, s.Title, s.Subtitle)
	if len(s.Panels) == 0 {
		return errors.New("no panels: give at least one")
	}
	area := c.drawFrame(s.Title, s.Subtitle, s.Note, nil)
	w := (area.w - gap*float64(len(s.Panels)-1)) / float64(len(s.Panels))
	for i, panel := range s.Panels {
		p, err := newBuilder(panel.Graph, Place{})
		if err != nil {
			return fmt.Errorf("panel %q: %w", panel.Title, err)
		}
		d := &Diagram{w: c.w, h: c.h}
		r := rect{area.x + float64(i)*(w+gap), area.y, w, area.h}
		in := r.inset(gap, 32, gap, gap)
		around := d.addFrame(frame{rect: r, name: panel.Title, text: frameStyle.cut(panel.Title, w-2*frameX), in: -1})
		p.addNetwork(d, &in, around)
		if !r.contains(in) {
			return fmt.Errorf("panel %q: there is no room for %d SIPs: draw fewer", panel.Title, panel.Graph.Spec().System.SIPs.Count)
		}
		d.placeTexts(sizeDetail)
		d.paint(c, point{})
	}
	return nil
}
