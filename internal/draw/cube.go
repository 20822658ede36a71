package draw

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/topology"
)

// Layout of a cube. The neighbours are outside of the die, the UCIe ports are inside its
// edge, and each router is in the centre of a cell.
const (
	beyondX, beyondY = 150.0, 56.0 // distance of the die from the edge of the picture
	edgeX, edgeY     = 4.0, 40.0   // distance of the cells from the edge of the die
	narrow           = 4           // with more columns or rows, a cell has no space for a port
	dieText          = 24.0        // height of the name of the die
	minNoCCell       = 24.0        // smallest side of a cell
)

// layoutCube lays out the NoC of a cube and the units on it. In the cell of a router, PEs
// are at the upper left, their HBM slices at the lower left, the control CPU at the upper
// right and the SRAM at the lower right. The links between routers therefore cross no
// block.
func (p *builder) layoutCube() *Diagram {
	s := p.Spec()
	noc := s.Cube.NoC
	name := fmt.Sprintf("sip%d.cube%d", p.at.SIP, p.at.Cube)
	d := &Diagram{name: "cube", prefix: name + ".", title: fmt.Sprintf("Cube: %s, %s on a NoC of %d×%d", name, printable.Count(s.PEsPerCube(), "PE"), noc.W, noc.H)}
	edgeX := edgeX
	if max(noc.W, noc.H) > narrow {
		edgeX = 84
	}
	cells := rect{beyondX + edgeX, beyondY + edgeY + dieText, areaW - 2*(beyondX+edgeX), areaH - 2*(beyondY+edgeY) - dieText}
	cells.w, cells.h = max(cells.w, float64(noc.W)*minNoCCell), max(cells.h, float64(noc.H)*minNoCCell)
	d.w, d.h = cells.w+2*(beyondX+edgeX), cells.h+2*(beyondY+edgeY)+dieText

	edge := d.addFrame(frame{rect: rect{beyondX, beyondY, d.w - 2*beyondX, d.h - 2*beyondY}, name: name, text: name, in: -1})
	cw, ch := pitch(cells, noc.W, noc.H)
	size := rect{w: max(min(64, cw/3), 8), h: max(min(32, ch/4), 6)}
	routers := make([]int, noc.W*noc.H)
	for i := range routers {
		site := topology.Site{Row: i / noc.W, Col: i % noc.W}
		c := point{cells.x + (float64(site.Col)+0.5)*cw, cells.y + (float64(site.Row)+0.5)*ch}
		routers[i] = d.addBlock(block{rect: rectAround(c, size.w, size.h), name: name + "." + site.String(),
			role: onDie, in: edge, lines: []string{site.String()}})
	}
	p.addNoCLinks(d, routers)
	p.addUnits(d, edge, routers, min(cw, 260), min(ch, 180))
	p.addPorts(d, edge, routers)
	p.explainCube(d)
	return d
}

// addNoCLinks adds the links from each router to its right and lower neighbours.
func (p *builder) addNoCLinks(d *Diagram, routers []int) {
	noc := p.Spec().Cube.NoC
	for i, r := range routers {
		if (i+1)%noc.W != 0 {
			p.joinStraight(d, r, routers[i+1], onDie, noc.Bandwidth)
		}
		if i+noc.W < len(routers) {
			p.joinStraight(d, r, routers[i+noc.W], onDie, noc.Bandwidth)
		}
	}
}

// addUnits adds the units that are attached to routers. All units of one kind at a router
// are one block. cw and ch are the size of a cell.
func (p *builder) addUnits(d *Diagram, in int, routers []int, cw, ch float64) {
	s, at := p.Spec(), p.at
	pes := make([][]int, len(routers))
	for pe := range s.PEsPerCube() {
		router := p.Node(p.PERouter(at.SIP, at.Cube, pe)).Index
		pes[router] = append(pes[router], pe)
	}
	site := func(t topology.Site) int { return t.Row*s.Cube.NoC.W + t.Col }
	for i, r := range routers {
		hang := func(q quarterBlock) { p.addQuarterBlock(d, in, r, cw, ch, q) }
		if len(pes[i]) > 0 {
			units, slices := quarterBlock{block: block{role: compute}}, quarterBlock{block: block{role: memory}, low: true}
			for _, pe := range pes[i] {
				units.nodes = append(units.nodes, p.PENode(at.SIP, at.Cube, pe, topology.KindDMA), p.PENode(at.SIP, at.Cube, pe, topology.KindPECPU))
				slices.nodes = append(slices.nodes, p.HBM(at.SIP, at.Cube, pe))
			}
			units.name, units.lines = p.fullNames("pe", pes[i]), []string{shortNames("pe", pes[i]), corners[s.Cube.PELayout.Corners][pes[i][0]/s.Cube.PELayout.PEPerCorner]}
			size := topology.Format(s.Cube.HBM.SliceSize)
			if len(pes[i]) > 1 {
				size += " each"
			} else if bw := bandwidthLabel(s.Cube.HBM.Bandwidth); bw != "" {
				size += ", " + bw
			}
			slices.name, slices.lines = p.fullNames("hbm", pes[i]), []string{shortNames("hbm", pes[i]), size}
			hang(units)
			hang(slices)
		}
		if i == site(s.Cube.CPU.At) {
			id := p.CubeCPU(at.SIP, at.Cube)
			hang(quarterBlock{block{name: p.Name(id), role: control, lines: []string{"cpu", topology.Format(s.Cube.CPU.Overhead)}}, true, false, []topology.NodeID{id}})
		}
		if i == site(s.Cube.SRAM.At) {
			id := p.SRAM(at.SIP, at.Cube)
			hang(quarterBlock{block{name: p.Name(id), role: memory, lines: []string{"sram", topology.Format(s.Cube.SRAM.Size)}}, true, true, []topology.NodeID{id}})
		}
	}
}

// quarterBlock is a block in one quarter of a router's cell.
type quarterBlock struct {
	block
	right, low bool              // select the quarter
	nodes      []topology.NodeID // nodes with a link to the router
}

// addQuarterBlock adds a block in a quarter of a router's cell, and its wire to router
// block r. cw and ch are the size of the cell.
func (p *builder) addQuarterBlock(d *Diagram, in, r int, cw, ch float64, q quarterBlock) {
	router := d.blocks[r].rect
	c := router.centre()
	// Horizontally, the block begins an eighth of the router's width from the centre of the
	// router and ends just before the edge of the cell. It does not touch the router.
	w, h := cw*15/32-router.w/8, max(min(48, ch*15/32-router.h/2-max(ch/16, 1)), 2)
	w = max(min(112, w), 2)
	q.in, q.rect = in, rect{c.x - router.w/8 - w, c.y - ch*15/32, w, h}
	path := []point{{c.x - router.w/4, router.y}, {c.x - router.w/4, q.bottom()}}
	if q.right {
		q.x = c.x + router.w/8
		path[0].x, path[1].x = c.x+router.w/4, c.x+router.w/4
	}
	if q.low {
		q.y = c.y + ch*15/32 - h
		path[0].y, path[1].y = router.bottom(), q.y
	}
	b := d.addBlock(q.block)
	id, _ := p.Lookup(d.blocks[r].name)
	p.join(d, wire{from: r, to: b, role: q.role, path: path}, lists.Make(len(q.nodes), func(i int) endpoints { return endpoints{id, q.nodes[i]} })...)
}

// corners holds the names of the parts of the NoC to which PEs are attached. The key is the
// number of parts.
var corners = map[int][]string{1: {""}, 2: {"W half", "E half"}, 4: {"NW corner", "NE corner", "SW corner", "SE corner"}}

// shortNames returns a short name for several numbered components: "pe0, 4 … 12".
func shortNames(what string, numbers []int) string {
	if n := len(numbers); n > 3 { // the numbers are evenly spaced
		return fmt.Sprintf("%s%d, %d … %d", what, numbers[0], numbers[1], numbers[n-1])
	}
	return what + strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ", ")
}

// fullNames returns the full names of numbered components of the cube, separated by spaces.
func (p *builder) fullNames(what string, numbers []int) string {
	return strings.Join(lists.Map(numbers, func(n int) string {
		return fmt.Sprintf("sip%d.cube%d.%s%d", p.at.SIP, p.at.Cube, what, n)
	}), " ")
}

// addPorts adds the UCIe ports at the edges of the cube and the neighbours that the ports
// are linked to.
func (p *builder) addPorts(d *Diagram, in int, routers []int) {
	s, edge := p.Spec(), d.frames[in].rect
	for side, letter := range "nesw" {
		id, ok := p.lookupPort(p.at.Cube, side)
		if !ok {
			continue
		}
		var router, facing topology.NodeID
		for _, l := range p.Out(id) {
			if p.Node(l.To).Kind == topology.KindRouter {
				router = l.To
			} else {
				facing = l.To
			}
		}
		r := routers[p.Node(router).Index]
		c := d.blocks[r].centre()
		const w, h, bw, bh = 68, 26, 92, 32 // sizes of a port and of the neighbour's block
		var at, beyond rect
		switch topology.Direction(side) {
		case topology.North:
			at, beyond = rect{c.x - w/2, edge.y, w, h}, rect{c.x - bw*3/4, 0, bw * 3 / 2, bh}
		case topology.South:
			at, beyond = rect{c.x - w/2, edge.bottom() - h, w, h}, rect{c.x - bw*3/4, d.h - bh, bw * 3 / 2, bh}
		case topology.East:
			at, beyond = rect{edge.right() - w, c.y - h/2, w, h}, rect{d.w - bw + 8, c.y - bh/2, bw - 8, bh}
		case topology.West:
			at, beyond = rect{edge.x, c.y - h/2, w, h}, rect{0, c.y - bh/2, bw - 8, bh}
		}
		port := d.addBlock(block{rect: at, name: p.Name(id), role: die, in: in, lines: []string{fmt.Sprintf("ucie_%c", letter)}})
		neighbour := "IO chiplet"
		if cube := p.Node(facing).Cube; cube >= 0 {
			neighbour = fmt.Sprintf("cube%d", cube)
		}
		other := d.addBlock(block{rect: beyond, name: p.Name(facing), role: outside, in: -1, lines: []string{neighbour}})
		p.joinStraight(d, port, r, onDie, topology.Unlimited)
		p.joinStraight(d, port, other, die, s.SIP.UCIe.Bandwidth)
	}
}

// explainCube adds the legend of the view of a cube.
func (p *builder) explainCube(d *Diagram) {
	s := p.Spec()
	c, ucie := s.Cube, s.SIP.UCIe
	d.explain(onDie, "router", topology.Format(c.NoC.Overhead)+" to enter")
	d.explainWire(onDie, "NoC link", bandwidthText(c.NoC.Bandwidth), p.latencyText(c.NoC.Latency)+", pitch "+topology.Format(c.NoC.Pitch))
	d.explain(compute, "PE", "DMA "+bandwidthText(s.PE.DMA.Bandwidth))
	d.explain(memory, "HBM slice", topology.Format(c.HBM.SliceSize)+", "+bandwidthText(c.HBM.Bandwidth),
		fmt.Sprintf("%d channels × %s", c.HBM.Channels, topology.Format(c.HBM.ChannelBandwidth)))
	d.explain(memory, "SRAM", topology.Format(c.SRAM.Size)+", "+bandwidthText(c.SRAM.Bandwidth), topology.Format(c.SRAM.Overhead)+" to enter")
	d.explain(control, "control CPU", topology.Format(c.CPU.Overhead)+" to enter")
	d.explain(die, "UCIe port", bandwidthText(ucie.Bandwidth), topology.Format(ucie.Overhead)+" to enter")
}
