package draw

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/topology"
)

// peUnit is a unit of a PE with the position and text of its block.
type peUnit struct {
	kind topology.Kind
	role role
	rect
	lines []string
}

// peUnits returns the units of a PE. In the picture, commands come from above, and data
// moves from left to right.
func peUnits(pe topology.PE) []peUnit {
	g, m, q, dma := pe.GEMM, pe.Math, pe.IPCQ, pe.DMA
	vectors := "in no time"
	if peak, ok := m.Peak(); ok {
		vectors = fmt.Sprintf("%.4g Gop/s", peak/1e9)
	}
	return []peUnit{
		{topology.KindPECPU, control, rect{260, 48, 190, 72},
			[]string{"cpu", topology.Format(pe.CPU.Clock), printable.Count(pe.CPU.DispatchCycles, "cycle") + " a call"}},
		{topology.KindScheduler, control, rect{260, 184, 880, 60}, []string{"scheduler", topology.Format(pe.Scheduler.Overhead)}},
		{topology.KindDMA, onDie, rect{260, 380, 160, 130},
			[]string{"dma", "setup " + topology.Format(dma.Setup), fmt.Sprintf("%d reads and", dma.Outstanding), fmt.Sprintf("%d writes", dma.Outstanding), "outstanding"}},
		{topology.KindTCM, memory, rect{512, 350, 176, 190},
			[]string{"tcm", topology.Format(pe.TCM.Size), "read " + topology.Format(pe.TCM.ReadBandwidth), "write " + topology.Format(pe.TCM.WriteBandwidth)}},
		{topology.KindFetchStore, onDie, rect{780, 380, 140, 130}, []string{"fetch/store", "to registers"}},
		{topology.KindGEMM, compute, rect{984, 300, 156, 140},
			[]string{"gemm", gemmRate(g, 1), g.Array.String() + " MACs", topology.Format(g.Clock), "tile " + g.Tile.String()}},
		{topology.KindMath, compute, rect{984, 470, 156, 140}, []string{"math", vectors, printable.Count(m.VectorWidth, "lane"), topology.Format(m.Clock)}},
		{topology.KindIPCQ, onDie, rect{260, 620, 428, 104},
			[]string{"ipcq", fmt.Sprintf("%d ports × %d slots × %s", q.MaxPorts, q.NSlots, topology.Format(q.SlotSize)),
				fmt.Sprintf("rings: %s of %s", topology.Format(q.RingBytes()), q.BufferKind), "credits of " + topology.Format(q.CreditBytes)}},
	}
}

// layoutPE lays out the units of a PE, its router and its HBM slice.
func (p *builder) layoutPE() *Diagram {
	s, at := p.Spec(), p.at
	name := fmt.Sprintf("sip%d.cube%d.pe%d", at.SIP, at.Cube, at.PE)
	d := &Diagram{name: "pe", prefix: fmt.Sprintf("sip%d.cube%d.", at.SIP, at.Cube), title: "PE: " + name, w: areaW, h: areaH}
	in := d.addFrame(frame{rect: rect{216, 0, d.w - 216, d.h}, name: name, text: name, in: -1})
	unit := map[topology.Kind]int{}
	for _, u := range peUnits(s.PE) {
		id := p.PENode(at.SIP, at.Cube, at.PE, u.kind)
		unit[u.kind] = d.addBlock(block{rect: u.rect, name: p.Name(id), role: u.role, in: in, lines: u.lines})
	}
	hbmID, routerID := p.HBM(at.SIP, at.Cube, at.PE), p.PERouter(at.SIP, at.Cube, at.PE)
	dma := d.blocks[unit[topology.KindDMA]].rect
	router := d.addBlock(block{rect: rect{0, dma.centre().y - 40, 132, 80}, name: p.Name(routerID), role: onDie, in: -1,
		lines: []string{"NoC router", lastPart(p.Name(routerID)), topology.Format(s.Cube.NoC.Overhead)}})
	hbm := d.addBlock(block{rect: rect{0, 630, 132, 90}, name: p.Name(hbmID), role: memory, in: -1,
		lines: []string{"HBM slice", topology.Format(s.Cube.HBM.SliceSize), fmt.Sprintf("%d channels", s.Cube.HBM.Channels)}})

	p.addDataPath(d, unit, router, hbm)
	p.addCommandWires(d, unit)
	p.explainPE(d)
	return d
}

// lastPart returns the part of a component's name after the last dot.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// gemmRate formats the peak rate of the matrix engines of n PEs.
func gemmRate(g topology.GEMM, n int) string {
	one, ok := g.Peak()
	if !ok {
		return "in no time"
	}
	peak := one * float64(n)
	if peak >= 1e15 {
		return fmt.Sprintf("%.3g PFLOP/s", peak/1e15)
	}
	return fmt.Sprintf("%.4g TFLOP/s", peak/1e12)
}

// addDataPath adds the wires that carry data between memory and the engines, and the wire
// that carries launches to the CPU.
func (p *builder) addDataPath(d *Diagram, unit map[topology.Kind]int, router, hbm int) {
	s := p.Spec()
	box := func(b int) rect { return d.blocks[b].rect }
	link := func(a, b int, bw topology.BytesPerSec, path ...point) {
		if path == nil {
			path = straightPath(box(a), box(b))
		}
		p.joinNamed(d, wire{from: a, to: b, role: memory, path: path, text: bandwidthLabel(bw)})
	}
	dma, tcm, fetch := unit[topology.KindDMA], unit[topology.KindTCM], unit[topology.KindFetchStore]
	cpu, gemm, math := unit[topology.KindPECPU], unit[topology.KindGEMM], unit[topology.KindMath]

	link(router, dma, s.PE.DMA.Bandwidth)
	link(router, hbm, s.Cube.HBM.Bandwidth)
	link(tcm, fetch, s.PE.FetchStore.Bandwidth)
	narrow := s.PE.TCM.WriteBandwidth
	if r := s.PE.TCM.ReadBandwidth; narrow == topology.Unlimited || r != topology.Unlimited && r < narrow {
		narrow = r
	}
	link(dma, tcm, narrow)
	from := box(fetch)
	for i, engine := range []int{gemm, math} {
		to, y := box(engine), from.y+from.h*(0.25+0.5*float64(i))
		mid := (from.right() + to.x) / 2
		link(fetch, engine, topology.Unlimited, point{from.right(), y}, point{mid, y}, point{mid, to.centre().y}, point{to.x, to.centre().y})
	}
	r, c := box(router), box(cpu)
	p.joinNamed(d, wire{from: router, to: cpu, role: control,
		path: []point{{r.centre().x, r.y}, {r.centre().x, c.centre().y}, {c.x, c.centre().y}}})
}

// addCommandWires adds the wires that carry the commands of the scheduler. The commands
// occupy no link. A wire without a given path runs straight up or down, at the centre of
// the narrower block.
func (p *builder) addCommandWires(d *Diagram, unit map[topology.Kind]int) {
	box := func(k topology.Kind) rect { return d.blocks[unit[k]].rect }
	connect := func(from, to topology.Kind, path ...point) {
		if path == nil {
			a, b := box(from), box(to)
			x := a.centre().x
			if b.w < a.w {
				x = b.centre().x
			}
			a.x, a.w, b.x, b.w = x, 0, x, 0
			path = straightPath(a, b)
		}
		p.joinNamed(d, wire{from: unit[from], to: unit[to], role: command, oneWay: true, path: path})
	}
	bar, math, ipcq := box(topology.KindScheduler), box(topology.KindMath).centre(), box(topology.KindIPCQ).centre()
	right, left, y := bar.right()+10, bar.x-20, bar.centre().y
	connect(topology.KindPECPU, topology.KindScheduler)
	for _, k := range []topology.Kind{topology.KindDMA, topology.KindFetchStore, topology.KindGEMM} {
		connect(topology.KindScheduler, k)
	}
	connect(topology.KindScheduler, topology.KindMath, point{bar.right(), y}, point{right, y}, point{right, math.y}, point{box(topology.KindMath).right(), math.y})
	connect(topology.KindScheduler, topology.KindIPCQ, point{bar.x, y}, point{left, y}, point{left, ipcq.y}, point{box(topology.KindIPCQ).x, ipcq.y})
	connect(topology.KindIPCQ, topology.KindDMA)
}

// explainPE adds the legend of the view of a PE.
func (p *builder) explainPE(d *Diagram) {
	pe := p.Spec().PE
	d.explain(control, "control", "cpu "+topology.Format(pe.CPU.Overhead)+", scheduler "+topology.Format(pe.Scheduler.Overhead)+" to enter")
	d.explain(onDie, "data movement", "dma "+bandwidthText(pe.DMA.Bandwidth), "fetch/store "+bandwidthText(pe.FetchStore.Bandwidth))
	d.explain(memory, "memory", "tcm read "+topology.Format(pe.TCM.ReadBandwidth)+",\nwrite "+topology.Format(pe.TCM.WriteBandwidth)+", a port each")
	c := pe.Math.Cycles
	d.explain(compute, "engines", fmt.Sprintf("gemm: %s to fill", printable.Count(pe.GEMM.FillCycles, "cycle")),
		fmt.Sprintf("math, cycles a vector:\nsimple %d, div %d, sqrt %d, exp %d", c.Simple, c.Div, c.Sqrt, c.Exp))
	d.explainWire(memory, "data", "unlabelled links take no time")
	d.explainWire(control, "launch", bandwidthText(p.Spec().Cube.NoC.Bandwidth))
	d.explainWire(command, "commands", "without data")
}
