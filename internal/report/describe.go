package report

import (
	"encoding/json"

	"github.com/kernbench/kernbench/topology"
)

// Describe is a compiled system in numbers, without its links.
func Describe(g *topology.Graph) Machine {
	s := g.Spec()
	m := Machine{
		Topology:  UsedBy(s),
		System:    describeSystem(g),
		Cube:      describeCube(g),
		PE:        describePE(s.PE),
		Overrides: []Override{},
	}
	pes := int64(s.CubesPerSIP() * s.PEsPerCube())
	sips := int64(s.System.SIPs.Count)
	m.SIP = SIP{
		CubesW: s.SIP.CubeMesh.W, CubesH: s.SIP.CubeMesh.H,
		UCIe:        LinkClass{finite(s.SIP.UCIe.Bandwidth), nsIf(s.SIP.UCIe.Latency), 1},
		UCIePortNS:  ns(s.SIP.UCIe.Overhead),
		IOBandwidth: finite(s.SIP.IO.Bandwidth),
		IOPCIeNS:    ns(s.SIP.IO.PCIe.Overhead), IOCPUNS: ns(s.SIP.IO.CPU.Overhead), IOSwitchNS: ns(s.SIP.IO.Switch.Overhead),
		PEs: int(pes), HBM: product(pes, int64(s.Cube.HBM.SliceSize)), HBMBandwidth: hbmBandwidth(s.Cube.HBM, pes),
	}
	gemm := s.PE.GEMM
	m.Totals = Totals{
		Cubes:        s.System.SIPs.Count * s.CubesPerSIP(),
		PEs:          int(sips * pes),
		GEMMPeak:     product(sips, pes, 2, int64(gemm.Array.M), int64(gemm.Array.K), int64(gemm.Array.N), int64(gemm.Clock)),
		HBM:          product(sips, pes, int64(s.Cube.HBM.SliceSize)),
		HBMBandwidth: hbmBandwidth(s.Cube.HBM, sips*pes),
		SRAM:         product(sips, int64(s.CubesPerSIP()), int64(s.Cube.SRAM.Size)),
		Nodes:        g.NumNodes(), Links: g.NumLinks(),
	}
	for _, o := range s.Overrides {
		d := Override{Link: o.Link, LatencyNS: nsIf(o.Latency), Absent: o.Absent}
		if o.Bandwidth != nil {
			d.Bandwidth, d.Unlimited = finite(*o.Bandwidth), *o.Bandwidth == topology.Unlimited
		}
		m.Overrides = append(m.Overrides, d)
	}
	return m
}

func describeSystem(g *topology.Graph) System {
	s := g.Spec()
	w, h := g.SIPGrid()
	sips, pcie := s.System.SIPs, s.Host.PCIe
	d := System{
		SIPs: sips.Count, Shape: sips.Topology, W: w, H: h,
		Flit: s.System.Flit, WireNSPerMM: ns(topology.Time(s.System.WireDelay)),
		Link:        LinkClass{finite(sips.Link.Bandwidth), nsIf(&sips.Link.Latency), sips.Link.Links},
		PCIe:        LinkClass{finite(pcie.Bandwidth), nsIf(&pcie.Latency), 1},
		LaunchBytes: s.Host.LaunchBytes,
	}
	if sips.Topology == topology.Switch {
		d.SwitchNS = nsIf(&sips.Switch.Overhead)
	}
	return d
}

func describeCube(g *topology.Graph) Cube {
	c := g.Spec().Cube
	return Cube{
		NoCW: c.NoC.W, NoCH: c.NoC.H,
		NoC:      LinkClass{finite(c.NoC.Bandwidth), nsIf(c.NoC.Latency), 1},
		RouterNS: ns(c.NoC.Overhead), PitchUM: int64(c.NoC.Pitch), Corners: corners(g),
		CPU:  Attached{At: c.CPU.At.String(), Bandwidth: finite(c.NoC.Bandwidth), OverheadNS: ns(c.CPU.Overhead)},
		SRAM: Attached{At: c.SRAM.At.String(), Size: c.SRAM.Size, Bandwidth: finite(c.SRAM.Bandwidth), OverheadNS: ns(c.SRAM.Overhead)},
		HBM: HBM{
			Slice: c.HBM.SliceSize, Bandwidth: finite(c.HBM.Bandwidth),
			Channels: c.HBM.Channels, ChannelBandwidth: finite(c.HBM.ChannelBandwidth),
			Burst: c.HBM.Burst, TurnaroundNS: ns(c.HBM.Turnaround), OverheadNS: ns(c.HBM.Overhead),
		},
	}
}

// cornerNames is what the blocks of PEs are called, by how many there are.
var cornerNames = map[int][]string{1: {"all"}, 2: {"W", "E"}, 4: {"NW", "NE", "SW", "SE"}}

// corners is the blocks of PEs with the routers that the compiled system put
// them on.
func corners(g *topology.Graph) []Corner {
	layout := g.Spec().Cube.PELayout
	var blocks []Corner
	for i, name := range cornerNames[layout.Corners] {
		b := Corner{Name: name}
		for k := range layout.PEPerCorner {
			pe := i*layout.PEPerCorner + k
			b.PEs = append(b.PEs, pe)
			b.At = append(b.At, peSite(g, pe).String())
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// peSite is the router that a PE hangs on, the first one on the way from its
// memory slice to its DMA.
func peSite(g *topology.Graph, pe int) topology.Site {
	path, err := g.Route(nil, g.HBM(0, 0, pe), g.PENode(0, 0, pe, topology.KindDMA))
	if err != nil {
		panic(err) // both ends are endpoints, and such a link cannot be absent
	}
	router, w := int(g.Node(g.Link(path[0]).To).Index), g.Spec().Cube.NoC.W
	return topology.Site{Row: router / w, Col: router % w}
}

// hbmBandwidth is what the slices of n PEs deliver together: the channels or
// the link to the router, whichever is narrower.
func hbmBandwidth(h topology.HBM, n int64) *json.Number {
	slice, channels := h.Bandwidth, h.ChannelBandwidth*topology.BytesPerSec(h.Channels)
	if slice == topology.Unlimited || channels != topology.Unlimited && channels < slice {
		slice = channels
	}
	if slice == topology.Unlimited {
		return nil
	}
	total := product(int64(slice), n)
	return &total
}

func describePE(pe topology.PE) PE {
	gemm, tcm, ipcq := pe.GEMM, pe.TCM, pe.IPCQ
	d := PE{
		CPUHz: pe.CPU.Clock, CPUNS: ns(pe.CPU.Overhead), DispatchCycles: pe.CPU.DispatchCycles,
		SchedulerNS:  ns(pe.Scheduler.Overhead),
		DMABandwidth: finite(pe.DMA.Bandwidth), DMASetupNS: ns(pe.DMA.Setup), DMAOutstanding: pe.DMA.Outstanding,
		FetchStore: finite(pe.FetchStore.Bandwidth),
		GEMMHz:     gemm.Clock, GEMMFillCycles: gemm.FillCycles,
		GEMMArray: [3]int{gemm.Array.M, gemm.Array.K, gemm.Array.N},
		GEMMTile:  [3]int{gemm.Tile.M, gemm.Tile.K, gemm.Tile.N},
		GEMMPeak:  product(2, int64(gemm.Array.M), int64(gemm.Array.K), int64(gemm.Array.N), int64(gemm.Clock)),
		MathHz:    pe.Math.Clock, MathLanes: pe.Math.VectorWidth,
		MathCycles: map[string]int{
			"simple": pe.Math.Cycles.Simple, "div": pe.Math.Cycles.Div, "sqrt": pe.Math.Cycles.Sqrt, "exp": pe.Math.Cycles.Exp,
		},
		TCM: tcm.Size, TCMRead: finite(tcm.ReadBandwidth), TCMWrite: finite(tcm.WriteBandwidth), TCMNS: ns(tcm.Overhead),
		IPCQPorts: ipcq.MaxPorts, IPCQSlots: ipcq.NSlots, IPCQSlot: ipcq.SlotSize, IPCQBuffer: ipcq.BufferKind,
		IPCQRings:  product(int64(ipcq.MaxPorts), int64(ipcq.NSlots), int64(ipcq.SlotSize)),
		IPCQCredit: ipcq.CreditBytes, IPCQHBMOverhead: ns(ipcq.HBMOverhead),
	}
	if c := pe.Math.Cycles.Simple; c > 0 {
		// Whole operations a second: a rate that does not divide is rounded down.
		peak := product(int64(pe.Math.VectorWidth) * int64(pe.Math.Clock) / int64(c))
		d.MathPeak = &peak
	}
	return d
}

// DescribeLink is one link of a system.
func DescribeLink(g *topology.Graph, id topology.LinkID) Link {
	l := g.Link(id)
	return Link{g.LinkName(id), finite(l.Bandwidth), ns(l.Latency), ns(g.Node(l.To).Overhead)}
}
