package topology

import (
	"fmt"
	"slices"
)

// NodeID names a component of a compiled Graph; LinkID a directed link. Both
// count from 0 without gaps.
type (
	NodeID int32
	LinkID int32
)

// Kind is what a component is.
type Kind uint8

// The kinds of component, outermost first.
const (
	KindHost       Kind = iota
	KindSwitch          // central switch of topology: switch
	KindPCIe            // PCIe endpoint of a SIP
	KindIOCPU           // command processor of a SIP
	KindIOSwitch        // fabric switch of a SIP
	KindUCIe            // die-to-die port of a cube or of the IO chiplet
	KindRouter          // of a cube's NoC
	KindCubeCPU         // control CPU of a cube
	KindSRAM            // of a cube
	KindHBM             // slice of one PE
	KindPECPU           // runs the kernel; the units of a PE from here on
	KindScheduler       // dispatches and tracks completion
	KindDMA             // between the NoC and the TCM
	KindFetchStore      // between the TCM and the registers
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
	Overhead Time // charged to whatever enters
}

// Link is one direction of a connection.
type Link struct {
	From, To  NodeID
	Bandwidth BytesPerSec
	Latency   Time // on the wire; entering To adds its Overhead
}

// Graph is a compiled system: its components and the directed links between
// them. It does not change after Compile, so that simulations may share one.
//
// All SIPs are alike, so the components of one stand for all and an id is
// resolved by arithmetic. Links are stored one by one, because an override may
// change any of them, ordered by From and then To: the links out of a node are
// neighbours, and parallel links are too.
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

// cubeIDs is where the components of a cube are among those of its SIP.
type cubeIDs struct {
	first int                // routers, CPU, SRAM, HBM slices, PE units, ports
	port  [numDirections]int // -1 where there is no neighbour
}

// Components of the IO chiplet, ahead of the cubes in their SIP.
const (
	pcieOffset = iota
	ioCPUOffset
	ioSwitchOffset
	ioUCIeOffset // one port per column of cubes
)

// Spec is the description that the graph was compiled from; read only.
func (g *Graph) Spec() *Spec { return g.spec }

// NumNodes is the number of components.
func (g *Graph) NumNodes() int { return len(g.outer) + g.spec.System.SIPs.Count*len(g.sip) }

// NumLinks is the number of directed links, without absent ones.
func (g *Graph) NumLinks() int { return len(g.links) }

// Node is a component.
func (g *Graph) Node(id NodeID) Node {
	i := int(id) - len(g.outer)
	if i < 0 {
		return g.outer[id]
	}
	n := g.sip[i%len(g.sip)]
	n.SIP = int32(i / len(g.sip))
	return n
}

// Link is a directed link.
func (g *Graph) Link(id LinkID) Link { return g.links[id] }

// Links is all links, indexed by LinkID; read only.
func (g *Graph) Links() []Link { return g.links }

// Out returns the links out of a component, in the order of their ids; read only.
func (g *Graph) Out(id NodeID) []Link { return g.links[g.first[id]:g.first[id+1]] }

// LinkBetween is the link from a component straight to another, the first
// where there are parallel ones.
func (g *Graph) LinkBetween(from, to NodeID) (LinkID, bool) {
	first, n := g.between(from, to)
	return first, n > 0
}

// between returns the first of the n parallel links from a node to another.
func (g *Graph) between(from, to NodeID) (first LinkID, n int) {
	out := g.Out(from)
	i, _ := slices.BinarySearchFunc(out, to, func(l Link, to NodeID) int { return int(l.To - to) })
	for i+n < len(out) && out[i+n].To == to {
		n++
	}
	return g.first[from] + LinkID(i), n
}

// The components by place. Indices out of range give another component's id
// or panic.

// Host is the machine that the SIPs are plugged into.
func (g *Graph) Host() NodeID { return 0 }

// centralSwitch exists in topology: switch only.
func (g *Graph) centralSwitch() NodeID { return 1 }

// PCIe is the PCIe endpoint of a SIP.
func (g *Graph) PCIe(sip int) NodeID { return g.inSIP(sip, pcieOffset) }

// IOCPU is the command processor of a SIP.
func (g *Graph) IOCPU(sip int) NodeID { return g.inSIP(sip, ioCPUOffset) }

// IOSwitch is the fabric switch of a SIP.
func (g *Graph) IOSwitch(sip int) NodeID { return g.inSIP(sip, ioSwitchOffset) }

// ioUCIe is the port of the IO chiplet above a column of cubes.
func (g *Graph) ioUCIe(sip, col int) NodeID { return g.inSIP(sip, ioUCIeOffset+col) }

// Router is a router of a cube's NoC.
func (g *Graph) Router(sip, cube, row, col int) NodeID { return g.router(sip, cube, row*g.noc.w+col) }

// CubeCPU is the control CPU of a cube.
func (g *Graph) CubeCPU(sip, cube int) NodeID { return g.inCube(sip, cube, g.noc.size()) }

// SRAM is the scratch memory of a cube.
func (g *Graph) SRAM(sip, cube int) NodeID { return g.inCube(sip, cube, g.noc.size()+1) }

// HBM is the memory slice of a PE.
func (g *Graph) HBM(sip, cube, pe int) NodeID { return g.inCube(sip, cube, g.noc.size()+2+pe) }

// PERouter is the router that a PE and its HBM slice hang on.
func (g *Graph) PERouter(sip, cube, pe int) NodeID { return g.router(sip, cube, g.sites[pe]) }

// PENode is a unit of a PE, KindPECPU to KindIPCQ. It panics on another kind.
func (g *Graph) PENode(sip, cube, pe int, unit Kind) NodeID {
	if unit < KindPECPU || unit > KindIPCQ {
		panic(fmt.Sprintf("topology: kind %d is not a unit of a PE", unit))
	}
	return g.inCube(sip, cube, g.noc.size()+2+len(g.sites)+pe*unitsPerPE+int(unit-KindPECPU))
}

func (g *Graph) router(sip, cube, index int) NodeID { return g.inCube(sip, cube, index) }

// port is the UCIe port of a cube on a side that has a neighbour.
func (g *Graph) port(sip, cube int, d Direction) NodeID { return g.inSIP(sip, g.cubes[cube].port[d]) }

func (g *Graph) inSIP(sip, offset int) NodeID {
	return NodeID(len(g.outer) + sip*len(g.sip) + offset)
}

func (g *Graph) inCube(sip, cube, offset int) NodeID {
	return g.inSIP(sip, g.cubes[cube].first+offset)
}

// Bottleneck is the lowest bandwidth on a path; Unlimited when none is finite.
func (g *Graph) Bottleneck(path []LinkID) BytesPerSec {
	low := Unlimited
	for _, id := range path {
		if bw := g.links[id].Bandwidth; bw != Unlimited && (low == Unlimited || bw < low) {
			low = bw
		}
	}
	return low
}

// Latency is what a path costs apart from data: every wire, and the overhead
// of every node entered.
func (g *Graph) Latency(path []LinkID) Time {
	var sum Time
	for _, id := range path {
		l := g.links[id]
		sum += l.Latency + g.Node(l.To).Overhead
	}
	return sum
}
