package describe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/topology"
)

// Depths of a tree, from the system to the units of a PE.
const (
	DepthSystem = 1 + iota
	DepthSIP
	DepthCube
	DepthPE
)

// Tree returns the machine as text: the configuration, the system with its components down
// to the given depth, the overrides and the totals. Equal siblings are listed once.
func (m Machine) Tree(depth int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# topology: %v\n", m.Topology)
	m.systemBranch(depth).write(&b, "", "")
	if overrides := m.spec.Overrides; len(overrides) > 0 {
		o := branch{text: "overrides"}
		for _, v := range overrides {
			facts := v.Numbers()
			if v.Absent {
				facts = append(facts, "absent")
			}
			o.sub = append(o.sub, leaf(v.Link, facts...))
		}
		o.write(&b, "", "")
	}
	t := m.Totals
	leaf("total", printable.Count(t.PEs, "PE")+" in "+printable.Count(t.Cubes, "cube"), "GEMM "+rateText(t.GEMM, 1e12, "FLOP/s"),
		hbmText(t.HBM, t.HBMBandwidth), "SRAM "+binary.scale(t.SRAM, 1, "B"),
		printable.Count(t.Nodes, "node"), printable.Count(t.Links, "directed link")).write(&b, "", "")
	return b.String()
}

// systemBranch returns the branch of the system, down to the given depth.
func (m Machine) systemBranch(depth int) branch {
	sips, host := m.spec.System.SIPs, m.spec.Host
	text := printable.Count(sips.Count, "SIP") + ", " + string(sips.Topology)
	if sips.Topology.Grid() {
		text += fmt.Sprintf(" %d×%d", sips.W, sips.H)
	}
	b := branch{text: "system: " + text}
	if sips.Count > 1 {
		b.sub = append(b.sub, leaf("sip links", linkText(sips.Link.Bandwidth, &sips.Link.Latency, sips.Link.Links)))
	}
	if sips.Topology == topology.Switch {
		b.sub = append(b.sub, leaf("switch", topology.Format(sips.Switch.Overhead)))
	}
	b.sub = append(b.sub,
		leaf("host", "PCIe to every SIP "+linkText(host.PCIe.Bandwidth, &host.PCIe.Latency, 1), "launch packets of "+topology.Format(host.LaunchBytes)),
		leaf("data", "flits of "+topology.Format(m.spec.System.Flit), "wires "+nanoseconds(topology.Time(m.spec.System.WireDelay))+" ns/mm"))
	if depth >= DepthSIP {
		b.sub = append(b.sub, m.sipBranch(depth))
	}
	return b
}

// sipBranch returns the branch of the SIPs, down to the given depth.
func (m Machine) sipBranch(depth int) branch {
	io, ucie := m.spec.SIP.IO, m.spec.SIP.UCIe
	b := branch{text: m.nameSiblings("sip", m.spec.System.SIPs.Count), sub: []branch{
		leaf("io", "switch "+topology.Format(io.Switch.Overhead), "pcie "+topology.Format(io.PCIe.Overhead), "cpu "+topology.Format(io.CPU.Overhead),
			"inside "+topology.Format(io.Bandwidth), printable.Count(m.spec.SIP.CubeMesh.W, "UCIe port")+" to the cubes of row 0"),
		leaf("ucie", linkText(ucie.Bandwidth, ucie.Latency, 1), topology.Format(ucie.Overhead)+" a port"),
		leaf("in all", printable.Count(m.PerSIP.PEs, "PE"), hbmText(m.PerSIP.HBM, m.PerSIP.HBMBandwidth)),
	}}
	if depth >= DepthCube {
		b.sub = append(b.sub, m.cubeBranch(depth))
	}
	return b
}

// cubeBranch returns the branch of the cubes of a SIP, down to the given depth.
func (m Machine) cubeBranch(depth int) branch {
	c, mesh, pes := m.spec.Cube, m.spec.SIP.CubeMesh, m.spec.PEsPerCube()
	var blocks []branch
	for _, corner := range m.Corners {
		blocks = append(blocks, corner.branch())
	}
	b := branch{text: fmt.Sprintf("%s, mesh of %d×%d", m.nameSiblings("cube", m.spec.CubesPerSIP()), mesh.W, mesh.H), sub: []branch{
		leaf("noc", fmt.Sprintf("%d×%d routers", c.NoC.W, c.NoC.H), linkText(c.NoC.Bandwidth, c.NoC.Latency, 1),
			"router "+topology.Format(c.NoC.Overhead), "pitch "+topology.Format(c.NoC.Pitch)),
		leaf("cpu at "+c.CPU.At.String(), topology.Format(c.CPU.Overhead)),
		leaf("sram at "+c.SRAM.At.String(), topology.Format(c.SRAM.Size), topology.Format(c.SRAM.Bandwidth)+" each way", topology.Format(c.SRAM.Overhead)),
		leaf(m.nameSiblings("hbm", pes), topology.Format(c.HBM.SliceSize)+" each", topology.Format(c.HBM.Bandwidth)+" each way",
			fmt.Sprintf("%d channels × %s", c.HBM.Channels, topology.Format(c.HBM.ChannelBandwidth)), "bursts of "+topology.Format(c.HBM.Burst),
			"turn-around "+topology.Format(c.HBM.Turnaround), "controller "+topology.Format(c.HBM.Overhead)),
		{text: "pe corners", sub: blocks},
	}}
	if depth >= DepthPE {
		b.sub = append(b.sub, m.peBranch(pes))
	}
	return b
}

// branch returns a line with the PEs of a corner and their routers. It names at most eight
// PEs.
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

// peBranch returns the branch of the n PEs of a cube.
func (m Machine) peBranch(n int) branch {
	p := m.spec.PE
	c := p.Math.Cycles
	return branch{text: m.nameSiblings("pe", n), sub: []branch{
		leaf("cpu", topology.Format(p.CPU.Overhead), topology.Format(p.CPU.Clock), printable.Count(p.CPU.DispatchCycles, "cycle")+" a call"),
		leaf("scheduler", topology.Format(p.Scheduler.Overhead)),
		leaf("dma", topology.Format(p.DMA.Bandwidth)+" each way", "setup "+topology.Format(p.DMA.Setup), fmt.Sprintf("%d outstanding", p.DMA.Outstanding)),
		leaf("tcm", topology.Format(p.TCM.Size), "read "+topology.Format(p.TCM.ReadBandwidth), "write "+topology.Format(p.TCM.WriteBandwidth), topology.Format(p.TCM.Overhead)),
		leaf("fetch_store", topology.Format(p.FetchStore.Bandwidth)+" each way"),
		leaf("gemm", rateText(m.PerPE.GEMM, 1e12, "FLOP/s"), "array "+p.GEMM.Array.String(), topology.Format(p.GEMM.Clock),
			"tile "+p.GEMM.Tile.String(), "fill "+printable.Count(p.GEMM.FillCycles, "cycle")),
		leaf("math", rateText(m.PerPE.Math, 1e9, "op/s"), printable.Count(p.Math.VectorWidth, "lane"), topology.Format(p.Math.Clock),
			fmt.Sprintf("cycles: simple %d div %d sqrt %d exp %d", c.Simple, c.Div, c.Sqrt, c.Exp)),
		leaf("ipcq", fmt.Sprintf("%d ports × %d slots × %s", p.IPCQ.MaxPorts, p.IPCQ.NSlots, topology.Format(p.IPCQ.SlotSize)),
			"rings of "+binary.scale(m.PerPE.Rings, 1, "B")+" in "+string(p.IPCQ.BufferKind), "credits of "+topology.Format(p.IPCQ.CreditBytes),
			"hbm slots "+topology.Format(p.IPCQ.HBMOverhead)),
	}}
}

// linkText formats the numbers of one kind of link: the bandwidth, the latency and the
// number of parallel links. `latency` is nil if the length of a wire determines the
// latency.
func linkText(bw topology.BytesPerSec, latency *topology.Time, parallel int) string {
	text := topology.Format(bw) + " each way"
	if latency != nil {
		text += ", " + topology.Format(*latency)
	}
	if parallel > 1 {
		text += fmt.Sprintf(", %d parallel", parallel)
	}
	return text
}

// binary and decimals are the prefixes of sizes and of rates.
var (
	binary   = prefixes{1024, []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}}
	decimals = prefixes{1000, []string{"", "k", "M", "G", "T", "P", "E"}}
)

// prefixes is a list of names for powers of step.
type prefixes struct {
	step  float64
	names []string
}

// scale formats n, multiplied by `unit`, with the largest prefix that leaves at least one
// digit before the point. The text `name`, such as "B/s", follows the prefix. n may exceed
// every integer type, because it may be a sum over the system.
func (p prefixes) scale(n json.Number, unit float64, name string) string {
	x, err := n.Float64()
	if err != nil {
		panic(fmt.Sprintf("report: %q is no number", n)) // decimal returns only numbers
	}
	x *= unit
	i := 0
	for ; x >= p.step && i < len(p.names)-1; i++ {
		x /= p.step
	}
	return fmt.Sprintf("%.5g %s%s", x, p.names[i], name)
}

// rateText formats a peak rate. nil means that operations take no time.
func rateText(n *json.Number, unit float64, name string) string {
	if n == nil {
		return "in no time"
	}
	return decimals.scale(*n, unit, name)
}

// nameSiblings returns one text for n equal siblings: "cube0 … cube15: 16 alike". The text
// mentions overrides if an override names one of the siblings. A single component has only
// its name.
func (m Machine) nameSiblings(name string, n int) string {
	if n == 1 {
		return name + "0"
	}
	text := fmt.Sprintf("%s0 … %s%d: %d alike", name, name, n-1, n)
	if slices.ContainsFunc(m.spec.Overrides, func(o topology.Override) bool { return strings.Contains(o.Link, name) }) {
		text += " but for overrides"
	}
	return text
}

// hbmText formats an amount of memory and its bandwidth. gbs is nil if the bandwidth is
// unlimited.
func hbmText(size json.Number, gbs *json.Number) string {
	if gbs == nil {
		return "HBM " + binary.scale(size, 1, "B") + ", unlimited bandwidth"
	}
	return "HBM " + binary.scale(size, 1, "B") + " at " + decimals.scale(*gbs, 1e9, "B/s")
}

// branch is a line of a tree and the branches below it.
type branch struct {
	text string
	sub  []branch
}

// leaf returns a branch without branches below it: the name of a component, followed by
// facts.
func leaf(name string, facts ...string) branch {
	return branch{text: name + ": " + strings.Join(facts, ", ")}
}

// write writes the branch and the branches below it. `first` is the indent of the line of
// the branch itself, and `rest` is the indent of the lines below that line.
func (b branch) write(w *strings.Builder, first, rest string) {
	w.WriteString(first + b.text + "\n")
	for i, s := range b.sub {
		if i == len(b.sub)-1 {
			s.write(w, rest+"└─ ", rest+"   ")
		} else {
			s.write(w, rest+"├─ ", rest+"│  ")
		}
	}
}
