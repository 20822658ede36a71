package report

import (
	"fmt"
	"strings"
)

// Depths of a tree, from the system down to the units of a PE.
const (
	DepthSystem = 1 + iota
	DepthSIP
	DepthCube
	DepthPE
)

// Tree is the machine as text: the configuration, the system with what is in
// it down to a depth, siblings that are alike told once, the overrides and the
// totals.
func (m Machine) Tree(depth int) string {
	var b strings.Builder
	b.WriteString(m.Topology.String() + "\n")
	m.system(depth).write(&b, "", "")
	if len(m.Overrides) > 0 {
		o := branch{text: "overrides"}
		for _, v := range m.Overrides {
			o.sub = append(o.sub, v.branch())
		}
		o.write(&b, "", "")
	}
	m.Totals.branch().write(&b, "", "")
	return b.String()
}

func (m Machine) system(depth int) branch {
	s := m.System
	text := count(s.SIPs, "SIP") + ", " + string(s.Shape)
	if s.Shape.Grid() {
		text += fmt.Sprintf(" %d×%d", s.W, s.H)
	}
	b := branch{text: "system: " + text}
	if s.SIPs > 1 {
		b.sub = append(b.sub, leaf("sip links", s.Link.class()))
	}
	if s.SwitchNS != nil {
		b.sub = append(b.sub, leaf("switch", s.SwitchNS.String()+" ns"))
	}
	b.sub = append(b.sub,
		leaf("host", "PCIe to every SIP "+s.PCIe.class(), "launch packets of "+quantity(s.LaunchBytes)),
		leaf("data", "flits of "+quantity(s.Flit), "wires "+s.WireNSPerMM.String()+" ns/mm"))
	if depth >= DepthSIP {
		b.sub = append(b.sub, m.sip(depth))
	}
	return b
}

func (m Machine) sip(depth int) branch {
	s := m.SIP
	b := branch{text: m.alike("sip", m.System.SIPs), sub: []branch{
		leaf("io", "switch "+s.IOSwitchNS.String()+" ns", "pcie "+s.IOPCIeNS.String()+" ns", "cpu "+s.IOCPUNS.String()+" ns",
			"inside "+optional(s.IOBandwidth), count(s.CubesW, "UCIe port")+" to the cubes of row 0"),
		leaf("ucie", s.UCIe.class(), s.UCIePortNS.String()+" ns a port"),
		leaf("in all", count(s.PEs, "PE"), hbm(s.HBM, s.HBMBandwidth)),
	}}
	if depth >= DepthCube {
		b.sub = append(b.sub, m.cube(depth))
	}
	return b
}

func (m Machine) cube(depth int) branch {
	c := m.Cube
	pes := 0
	var blocks []branch
	for _, corner := range c.Corners {
		pes += len(corner.PEs)
		blocks = append(blocks, corner.branch())
	}
	memory := leaf(m.alike("hbm", pes), fmt.Sprintf("%s each", quantity(c.HBM.Slice)), optional(c.HBM.Bandwidth)+" each way",
		fmt.Sprintf("%d channels × %s", c.HBM.Channels, optional(c.HBM.ChannelBandwidth)), "bursts of "+quantity(c.HBM.Burst),
		"turn-around "+c.HBM.TurnaroundNS.String()+" ns", "controller "+c.HBM.OverheadNS.String()+" ns")
	b := branch{text: fmt.Sprintf("%s, mesh of %d×%d", m.alike("cube", m.SIP.CubesW*m.SIP.CubesH), m.SIP.CubesW, m.SIP.CubesH), sub: []branch{
		leaf("noc", fmt.Sprintf("%d×%d routers", c.NoCW, c.NoCH), c.NoC.class(), "router "+c.RouterNS.String()+" ns",
			fmt.Sprintf("pitch %g mm", float64(c.PitchUM)/1000)),
		leaf("cpu at "+c.CPU.At, c.CPU.OverheadNS.String()+" ns"),
		leaf("sram at "+c.SRAM.At, quantity(c.SRAM.Size), optional(c.SRAM.Bandwidth)+" each way", c.SRAM.OverheadNS.String()+" ns"),
		memory,
		{text: "pe corners", sub: blocks},
	}}
	if depth >= DepthPE {
		b.sub = append(b.sub, m.pe(pes))
	}
	return b
}

// branch names the PEs of a corner and their routers; of many the first few.
func (c Corner) branch() branch {
	const shown = 8
	var places []string
	for i, pe := range c.PEs[:min(len(c.PEs), shown)] {
		places = append(places, fmt.Sprintf("pe%d at %s", pe, c.At[i]))
	}
	if more := len(c.PEs) - shown; more > 0 {
		places = append(places, fmt.Sprintf("%d more", more))
	}
	return leaf(c.Name, places...)
}

func (m Machine) pe(n int) branch {
	p := m.PE
	mkn := func(d [3]int) string { return fmt.Sprintf("%d×%d×%d", d[0], d[1], d[2]) }
	var cycles []string
	for _, op := range []string{"simple", "div", "sqrt", "exp"} {
		cycles = append(cycles, fmt.Sprintf("%s %d", op, p.MathCycles[op]))
	}
	mathPeak := "simple operations in no time"
	if p.MathPeak != nil {
		mathPeak = decimal.scale(*p.MathPeak, "op/s")
	}
	return branch{text: m.alike("pe", n), sub: []branch{
		leaf("cpu", p.CPUNS.String()+" ns", quantity(p.CPUHz), count(p.DispatchCycles, "cycle")+" a call"),
		leaf("scheduler", p.SchedulerNS.String()+" ns"),
		leaf("dma", optional(p.DMABandwidth)+" each way", "setup "+p.DMASetupNS.String()+" ns", fmt.Sprintf("%d outstanding", p.DMAOutstanding)),
		leaf("tcm", quantity(p.TCM), "read "+optional(p.TCMRead), "write "+optional(p.TCMWrite), p.TCMNS.String()+" ns"),
		leaf("fetch_store", optional(p.FetchStore)+" each way"),
		leaf("gemm", decimal.scale(p.GEMMPeak, "FLOP/s"), "array "+mkn(p.GEMMArray), quantity(p.GEMMHz),
			"tile "+mkn(p.GEMMTile), "fill "+count(p.GEMMFillCycles, "cycle")),
		leaf("math", mathPeak, count(p.MathLanes, "lane"), quantity(p.MathHz), "cycles: "+strings.Join(cycles, " ")),
		leaf("ipcq", fmt.Sprintf("%d ports × %d slots × %s", p.IPCQPorts, p.IPCQSlots, quantity(p.IPCQSlot)),
			"rings of "+binary.scale(p.IPCQRings, "B")+" in "+string(p.IPCQBuffer), "credits of "+quantity(p.IPCQCredit),
			"hbm slots "+p.IPCQHBMOverhead.String()+" ns"),
	}}
}

func (o Override) branch() branch {
	var facts []string
	if o.Unlimited || o.Bandwidth != nil {
		facts = append(facts, optional(o.Bandwidth))
	}
	if o.LatencyNS != nil {
		facts = append(facts, o.LatencyNS.String()+" ns")
	}
	if o.Absent {
		facts = append(facts, "absent")
	}
	return leaf(o.Link, facts...)
}

func (t Totals) branch() branch {
	return leaf("total", count(t.PEs, "PE")+" in "+count(t.Cubes, "cube"), "GEMM "+decimal.scale(t.GEMMPeak, "FLOP/s"),
		hbm(t.HBM, t.HBMBandwidth), "SRAM "+binary.scale(t.SRAM, "B"),
		count(t.Nodes, "node"), count(t.Links, "directed link"))
}
