package figure

import (
	"fmt"

	"github.com/kernbench/kernbench/topology"
)

// Layout of a SIP, from the top.
const (
	sipTop   = 68 // below what is outside: host and other SIPs
	ioTop    = sipTop + 32
	ioH      = 136
	ioUnitH  = 50
	portW    = 18 // a UCIe port along its edge
	portH    = 10 // and across
	minDie   = 28
	sipInset = 16
	endInset = 84 // room for a name beside the dies
)

// sip draws the cube mesh of a SIP and its IO chiplet.
func (p *plan) sip() *Diagram {
	s := p.Spec()
	mesh := s.SIP.CubeMesh
	d := &Diagram{name: "sip", prefix: fmt.Sprintf("sip%d.", p.at.SIP)}
	d.title = fmt.Sprintf("SIP: sip%d, %s, %s", p.at.SIP, count(s.CubesPerSIP(), "cube"), count(s.CubesPerSIP()*s.PEsPerCube(), "PE"))
	w, h := area()
	inset := sipInset
	if mesh.W*minDie > w/2 {
		inset = endInset
	}
	d.w = max(w, mesh.W*minDie+2*inset)
	dies := rect{inset, ioTop + ioH + 8, d.w - 2*inset, h - ioTop - ioH - 16}
	dies.h = max(dies.h, mesh.H*minDie)
	d.h = dies.bottom() + 8

	sip := d.frame(frame{rect: rect{0, sipTop, d.w, d.h - sipTop}, name: fmt.Sprintf("sip%d", p.at.SIP), text: fmt.Sprintf("sip%d", p.at.SIP), in: -1})
	cw, ch := dies.w/mesh.W, dies.h/mesh.H
	size := rect{w: min(210, cw-max(cw/4, 2*portH)), h: min(110, ch-max(ch/4, 2*portH))}
	port := rect{w: portW, h: portH}
	if min(size.w, size.h) < 2*portW { // links then run from die to die
		size, port = rect{w: cw - cw/4, h: ch - ch/4}, rect{}
	}
	ports := make([][4]int, s.CubesPerSIP())
	first, last := len(d.blocks), 0
	for cube := range ports {
		col, row := cube%mesh.W, cube/mesh.W
		r := rect{dies.x + col*cw + (cw-size.w)/2, dies.y + row*ch + (ch-size.h)/2, size.w, size.h}
		last = len(d.blocks)
		ports[cube] = p.die(d, sip, cube, r, port)
	}
	p.dieToDie(d, ports)
	p.ioChiplet(d, sip, ports)
	d.nameEnds(first, last)
	p.explainSIP(d, port.w > 0)
	return d
}

// die adds a cube and its ports, whose blocks it returns by direction; -1 where
// there is none. A port is as long along its edge as its size is wide.
func (p *plan) die(d *Diagram, in, cube int, r, size rect) [4]int {
	s := p.Spec()
	name := fmt.Sprintf("sip%d.cube%d", p.at.SIP, cube)
	d.block(block{rect: r, name: name, look: compute, in: in, lines: []string{
		fmt.Sprintf("cube%d", cube), count(s.PEsPerCube(), "PE"),
		"HBM " + quantity(s.Cube.HBM.SliceSize*topology.Bytes(s.PEsPerCube())), "SRAM " + quantity(s.Cube.SRAM.Size),
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
		if id, ok := p.named("%s.ucie_%c", name, "nesw"[side]); ok {
			blocks[side] = d.block(block{rect: at, name: p.Name(id), look: die, in: in})
		}
	}
	return blocks
}

// dieToDie joins facing ports of neighbouring cubes.
func (p *plan) dieToDie(d *Diagram, ports [][4]int) {
	w := p.Spec().SIP.CubeMesh.W
	for cube := range ports {
		for _, side := range []topology.Direction{topology.East, topology.South} {
			next, facing := cube+1, topology.West
			if side == topology.South {
				next, facing = cube+w, topology.North
			}
			if ports[cube][side] < 0 {
				continue
			}
			a, b := ports[cube][side], ports[next][facing]
			p.joinNamed(d, wire{from: a, to: b, look: die, path: straight(d.blocks[a].rect, d.blocks[b].rect)})
		}
	}
}

// joinNamed joins two blocks that stand for one component each.
func (p *plan) joinNamed(d *Diagram, w wire) {
	a, _ := p.Lookup(d.blocks[w.from].name)
	b, _ := p.Lookup(d.blocks[w.to].name)
	p.join(d, w, ends{a, b})
}

// ioChiplet adds the chiplet above the cubes, and what lies beyond it.
func (p *plan) ioChiplet(d *Diagram, in int, ports [][4]int) {
	s, name := p.Spec(), fmt.Sprintf("sip%d.io", p.at.SIP)
	box := rect{sipInset, ioTop, d.w - 2*sipInset, ioH}
	io := d.frame(frame{rect: box, name: name, text: "IO chiplet", in: in})
	unit := func(x, w int, own string, overhead topology.Time) int {
		return d.block(block{rect: rect{x - w/2, ioTop + 18, w, ioUnitH}, name: name + "." + own, in: io,
			look: map[string]look{"pcie": outside, "cpu": control, "switch": onDie}[own], lines: []string{own, quantity(overhead)}})
	}
	x := box.centre().x
	pcie := unit(x-260, 130, "pcie", s.SIP.IO.PCIe.Overhead)
	hub := unit(x, 180, "switch", s.SIP.IO.Switch.Overhead)
	cpu := unit(x+260, 130, "cpu", s.SIP.IO.CPU.Overhead)
	for _, u := range []int{pcie, cpu} {
		p.joinNamed(d, wire{from: hub, to: u, look: onDie, path: straight(d.blocks[hub].rect, d.blocks[u].rect)})
	}
	for col := range s.SIP.CubeMesh.W {
		below := d.blocks[ports[col][topology.North]]
		port := d.block(block{rect: rect{below.centre().x - below.w/2, box.bottom() - below.h, below.w, below.h}, name: fmt.Sprintf("%s.ucie%d", name, col), look: die, in: io})
		p.joinNamed(d, wire{from: port, to: ports[col][topology.North], look: die, path: straight(d.blocks[port].rect, below.rect)})
		p.joinNamed(d, wire{from: hub, to: port, look: onDie, rounded: true, path: comb(d.blocks[hub].rect, d.blocks[port].rect, col, s.SIP.CubeMesh.W)})
	}
	p.beyond(d, pcie, hub)
}

// comb is the way from the underside of a block down to one of several in a row
// below it.
func comb(from, to rect, i, n int) []point {
	x := from.x + from.w*(i+1)/(n+1)
	// The outer ones turn first, so that ways do not cross.
	level := min(i, n-1-i)
	mid := from.bottom() + (to.y-from.bottom())*(level+1)/(n/2+2)
	if x == to.centre().x {
		return []point{{x, from.bottom()}, {x, to.y}}
	}
	return []point{{x, from.bottom()}, {x, mid}, {to.centre().x, mid}, {to.centre().x, to.y}}
}

// beyond draws what the IO chiplet is joined to: the host and the other SIPs.
func (p *plan) beyond(d *Diagram, pcie, hub int) {
	above := func(b int, name string, lines ...string) int {
		r := d.blocks[b].rect
		return d.block(block{rect: rect{r.centre().x - 110, 0, 220, 44}, name: name, look: outside, in: -1, lines: lines})
	}
	up := func(from, to int, l look) wire {
		return wire{from: from, to: to, look: l, path: straight(d.blocks[from].rect, d.blocks[to].rect)}
	}
	host := above(pcie, "host", "host")
	p.joinNamed(d, up(pcie, host, outside))
	var links []ends
	for _, l := range p.out(p.IOSwitch(p.at.SIP)) {
		if int(p.Node(l.To).SIP) != p.at.SIP {
			if q := (ends{l.From, l.To}); len(links) == 0 || links[len(links)-1] != q {
				links = append(links, q)
			}
		}
	}
	if len(links) == 0 {
		return
	}
	text := "SIP fabric: " + count(len(links), "neighbour")
	others := above(hub, "fabric", text)
	p.join(d, up(hub, others, fabric), links...)
}

func (p *plan) explainSIP(d *Diagram, ports bool) {
	s := p.Spec()
	link, ucie, pcie := s.System.SIPs.Link, s.SIP.UCIe, s.Host.PCIe
	d.explain(compute, "cube", fmt.Sprintf("%d×%d routers, %s", s.Cube.NoC.W, s.Cube.NoC.H, count(s.PEsPerCube(), "PE")))
	crossing := []string{bandwidth(ucie.Bandwidth), p.wireDelay(ucie.Latency) + ", gap " + quantity(s.SIP.CubeMesh.Gap)}
	if ports {
		d.explain(die, "UCIe port", quantity(ucie.Overhead)+" to enter")
	} else {
		crossing = append(crossing, "a port: "+quantity(ucie.Overhead)+" to enter")
	}
	d.explainWire(die, "UCIe link", crossing...)
	d.explainWire(onDie, "inside the IO chiplet", bandwidth(s.SIP.IO.Bandwidth))
	if s.System.SIPs.Count > 1 {
		d.explainWire(fabric, "SIP link", bandwidth(link.Bandwidth), quantity(link.Latency))
	}
	d.explainWire(outside, "PCIe to the host", bandwidth(pcie.Bandwidth), quantity(pcie.Latency))
	d.explain(control, "command processor", quantity(s.SIP.IO.CPU.Overhead)+" to enter")
}
