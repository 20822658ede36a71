package topology

import (
	"fmt"
	"slices"
)

// NodeID identifies a component of a compiled Graph, LinkID a directed link. Both count
// from 0 without gaps.
type (
	NodeID int32
	LinkID int32
)

// Kind is the kind of a component.
type Kind uint8

// The kinds of component, outermost first.
const (
	KindHost       Kind = iota
	KindSwitch          // central switch of topology: switch
	KindPCIe            // PCIe endpoint of a SIP
	KindIOCPU           // command processor of a SIP
	KindIOSwitch        // fabric switch of a SIP
	KindUCIe            // die-to-die port of a cube or of the IO chiplet
	KindRouter          // router of a cube's NoC
	KindCubeCPU         // control CPU of a cube
	KindSRAM            // shared memory of a cube
	KindHBM             // memory slice of one PE
	KindPECPU           // runs the kernel; this kind and the following are units of a PE
	KindScheduler       // dispatches commands and tracks their completion
	KindDMA             // moves data between the NoC and the TCM
	KindFetchStore      // moves data between the TCM and the registers
	KindGEMM            // matrix engine
	KindMath            // vector engine
	KindTCM             // scratch memory
	KindIPCQ            // queues to other PEs

	unitsPerPE = int(KindIPCQ-KindPECPU) + 1
)

// Point is a position in the plane of a SIP, from its top left corner.
type Point struct{ X, Y Micrometres }

// Node is a component.
type Node struct {
	Kind     Kind
	SIP      int32 // -1 outside any SIP
	Cube     int32 // -1 outside any cube
	Index    int32 // PE or HBM slice; router row·w+column; cube port Direction; IO port column; else 0
	Pos      Point
	Overhead Time // delay of everything that enters
}

// Link is one direction of a connection.
type Link struct {
	From, To  NodeID
	Bandwidth BytesPerSec
	Latency   Time // time on the wire, without the Overhead of To
}

// Graph is a compiled system: its components and the directed links between them. It does
// not change after Compile, so simulations may share it.
//
// All SIPs are the same, so only the components of SIP 0 are stored, and the id of a
// component is computed. Every link is stored, because an override may change any link.
// Links are ordered by From and then To: the links out of a node are consecutive, and so
// are parallel links.
type Graph struct {
	spec              *Spec
	noc, mesh, fabric grid // routers of a cube, cubes of a SIP, SIPs

	outer []Node // host, then the central switch if there is one
	sip   []Node // the components of SIP 0
	cubes []cubeIDs
	sites []int // router of each PE of a cube

	links  []Link
	first  []LinkID // links out of node n are links[first[n]:first[n+1]]
	absent []absence
}

// cubeIDs is the indices of the components of a cube among the components of its SIP.
type cubeIDs struct {
	first int                // the first router; CPU, SRAM, HBM slices, PE units and ports follow
	port  [numDirections]int // the port on each side; -1 if there is no neighbour
}

// The indices of the components of the IO chiplet, which come before the cubes of a SIP.
const (
	pcieOffset = iota
	ioCPUOffset
	ioSwitchOffset
	ioUCIeOffset // one port per column of cubes
)

// Spec returns the description that the graph was compiled from; read only.
func (g *Graph) Spec() *Spec { return g.spec }

// NumNodes returns the number of components.
func (g *Graph) NumNodes() int { return len(g.outer) + g.spec.System.SIPs.Count*len(g.sip) }

// NumLinks returns the number of directed links, without absent links.
func (g *Graph) NumLinks() int { return len(g.links) }

// Node returns the component with the given id.
func (g *Graph) Node(id NodeID) Node {
	i := int(id) - len(g.outer)
	if i < 0 {
		return g.outer[id]
	}
	n := g.sip[i%len(g.sip)]
	n.SIP = int32(i / len(g.sip))
	return n
}

// kind returns the kind of a node.
func (g *Graph) kind(id NodeID) Kind {
	if i := int(id) - len(g.outer); i >= 0 {
		return g.sip[i%len(g.sip)].Kind
	}
	return g.outer[id].Kind
}

// sipOf returns the SIP of a node, or -1 if the node is outside of any SIP.
func (g *Graph) sipOf(id NodeID) int {
	if i := int(id) - len(g.outer); i >= 0 {
		return i / len(g.sip)
	}
	return int(g.outer[id].SIP)
}

// SIPsOf returns the SIPs that a link leaves and leads to, or -1 for a node outside of any SIP.
func (g *Graph) SIPsOf(id LinkID) (from, to int32) {
	l := &g.links[id]
	return int32(g.sipOf(l.From)), int32(g.sipOf(l.To))
}

// Lookahead returns the least latency of a link out of a SIP, but not to the host: in less time,
// no SIP acts on another. It returns 0 if there is only one SIP.
func (g *Graph) Lookahead() Time {
	least := Time(0)
	for id := range g.links {
		l := &g.links[id]
		if from := g.sipOf(l.From); from < 0 || from == g.sipOf(l.To) || l.To == g.Host() {
			continue
		}
		latency := l.Latency + g.Node(l.To).Overhead
		if latency == 0 {
			return 0
		}
		if least == 0 || latency < least {
			least = latency
		}
	}
	return least
}

// SIPColours returns a colour, 0 or 1, for the host and each SIP after it, such that no link
// leads from a SIP to another of its colour. It returns nil if there are no such colours.
func (g *Graph) SIPColours() []uint8 {
	next := make([][]int32, g.spec.System.SIPs.Count)
	for id := range g.links {
		from, to := g.SIPsOf(LinkID(id))
		switch {
		case from >= 0 && to >= 0 && from != to:
			next[from] = append(next[from], to)
		case from >= 0 && to < 0 && g.links[id].To != g.Host():
			return nil // a switch leads to every SIP
		}
	}
	colours := make([]uint8, len(next)+1)
	seen := make([]bool, len(next))
	for first := range next {
		if seen[first] {
			continue
		}
		seen[first] = true
		for reached := []int32{int32(first)}; len(reached) > 0; {
			at := reached[0]
			reached = reached[1:]
			for _, to := range next[at] {
				if !seen[to] {
					seen[to], colours[to+1] = true, 1-colours[at+1]
					reached = append(reached, to)
				} else if colours[to+1] == colours[at+1] {
					return nil
				}
			}
		}
	}
	return colours
}

// Link returns the directed link with the given id.
func (g *Graph) Link(id LinkID) Link { return g.links[id] }

// Links returns all links, indexed by LinkID; read only.
func (g *Graph) Links() []Link { return g.links }

// Out returns the links out of a component, in the order of their ids. The caller must not
// change the slice.
func (g *Graph) Out(id NodeID) []Link { return g.links[g.first[id]:g.first[id+1]] }

// LinkBetween returns the direct link from one component to another, or the first of
// several parallel links. It reports whether there is a direct link.
func (g *Graph) LinkBetween(from, to NodeID) (LinkID, bool) {
	first, n := g.between(from, to)
	return first, n > 0
}

// between returns the first of the parallel links from one node to another, and their
// number n, which may be 0. The ids of parallel links are consecutive.
func (g *Graph) between(from, to NodeID) (first LinkID, n int) {
	out := g.Out(from)
	i, _ := slices.BinarySearchFunc(out, to, func(l Link, to NodeID) int { return int(l.To - to) })
	for i+n < len(out) && out[i+n].To == to {
		n++
	}
	return g.first[from] + LinkID(i), n
}

// The following methods return components by their place. For indices out of range they
// return the id of another component or panic.

// Host returns the host computer of the SIPs.
func (g *Graph) Host() NodeID { return 0 }

// centralSwitch returns the central switch, which exists only in a fabric with the shape
// switch.
func (g *Graph) centralSwitch() NodeID { return 1 }

// PCIe returns the PCIe endpoint of a SIP.
func (g *Graph) PCIe(sip int) NodeID { return g.inSIP(sip, pcieOffset) }

// IOCPU returns the command processor of a SIP.
func (g *Graph) IOCPU(sip int) NodeID { return g.inSIP(sip, ioCPUOffset) }

// IOSwitch returns the fabric switch of a SIP.
func (g *Graph) IOSwitch(sip int) NodeID { return g.inSIP(sip, ioSwitchOffset) }

// ioUCIe returns the port of the IO chiplet above a column of cubes.
func (g *Graph) ioUCIe(sip, col int) NodeID { return g.inSIP(sip, ioUCIeOffset+col) }

// Router returns a router of a cube's NoC.
func (g *Graph) Router(sip, cube, row, col int) NodeID { return g.router(sip, cube, row*g.noc.w+col) }

// CubeCPU returns the control CPU of a cube.
func (g *Graph) CubeCPU(sip, cube int) NodeID { return g.inCube(sip, cube, g.noc.size()) }

// SRAM returns the shared memory of a cube.
func (g *Graph) SRAM(sip, cube int) NodeID { return g.inCube(sip, cube, g.noc.size()+1) }

// HBM returns the memory slice of a PE.
func (g *Graph) HBM(sip, cube, pe int) NodeID { return g.inCube(sip, cube, g.noc.size()+2+pe) }

// PERouter returns the router that a PE and its HBM slice are connected to.
func (g *Graph) PERouter(sip, cube, pe int) NodeID { return g.router(sip, cube, g.sites[pe]) }

// PENode returns the node of a unit of a PE. The kind of the unit must be one of KindPECPU
// to KindIPCQ; PENode panics for any other kind.
func (g *Graph) PENode(sip, cube, pe int, unit Kind) NodeID {
	if unit < KindPECPU || unit > KindIPCQ {
		panic(fmt.Sprintf("topology: kind %d is not a unit of a PE", unit))
	}
	return g.inCube(sip, cube, g.noc.size()+2+len(g.sites)+pe*unitsPerPE+int(unit-KindPECPU))
}

func (g *Graph) router(sip, cube, index int) NodeID { return g.inCube(sip, cube, index) }

// port returns the UCIe port of a cube on a side that has a neighbour.
func (g *Graph) port(sip, cube int, d Direction) NodeID { return g.inSIP(sip, g.cubes[cube].port[d]) }

// inSIP returns the id of the component at an offset among the components of a SIP.
func (g *Graph) inSIP(sip, offset int) NodeID {
	return NodeID(len(g.outer) + sip*len(g.sip) + offset)
}

// inCube returns the id of the component at an offset from the first router of a cube.
func (g *Graph) inCube(sip, cube, offset int) NodeID {
	return g.inSIP(sip, g.cubes[cube].first+offset)
}

// Bottleneck returns the lowest bandwidth on a path, or Unlimited if no bandwidth is
// finite.
func (g *Graph) Bottleneck(path []LinkID) BytesPerSec {
	low := Unlimited
	for _, id := range path {
		if bw := g.links[id].Bandwidth; bw != Unlimited && (low == Unlimited || bw < low) {
			low = bw
		}
	}
	return low
}

// Latency returns the time that a message without data takes on a path: the sum of the wire
// delays and of the overheads of all nodes that the path enters.
func (g *Graph) Latency(path []LinkID) Time {
	var sum Time
	for _, id := range path {
		l := g.links[id]
		sum += l.Latency + g.Node(l.To).Overhead
	}
	return sum
}
