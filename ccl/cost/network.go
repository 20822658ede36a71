package cost

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Network describes the connections between the ranks of a group. The costs of messages are
// computed from it; nothing is simulated.
type Network struct {
	g      *topology.Graph
	pes    []int // the PE of each rank
	queues topology.IPCQ
	inbox  bool // messages go to inboxes
	// Lanes is the number of lanes, this one included. Lanes are collectives of the same
	// kind that run at the same time on different PEs of the same devices, and share the
	// links between devices.
	Lanes int
	// QueuesAlone excludes inboxes: Pick does not consider algorithms with more neighbours
	// than a PE has ports.
	QueuesAlone bool
	// Room is the number of bytes of TCM that another kernel needs at the same time.
	Room topology.Bytes
	// Beat, unless nil, is called before each cost is computed, to show progress. For very
	// many ranks a cost takes long to compute.
	Beat func()

	path   []topology.LinkID // result of route
	routes [2]knownRoute     // the latest two routes, usually there and back
	hops   []fabric.Hop      // scratch space of transferTime
	load   []int64           // bytes on each link; scratch space of Busiest
	used   []topology.LinkID // links with a load; scratch space of Busiest
}

// knownRoute is the route between two nodes. The path is nil if no route is known.
type knownRoute struct {
	from, to topology.NodeID
	path     []topology.LinkID
}

// NewNetwork returns the network of a group whose rank i is PE pes[i] of the system, with
// the given kind of queues between ranks. PEs are numbered cube by cube, SIP by SIP.
func NewNetwork(g *topology.Graph, pes []int, queues topology.IPCQ) *Network {
	return &Network{g: g, pes: pes, queues: queues, Lanes: 1, load: make([]int64, len(g.Links()))}
}

// subset returns the network of only the given ranks.
func (n *Network) subset(ranks []int) *Network {
	m := *n
	m.routes, m.hops = [2]knownRoute{}, nil // the networks must not share scratch space
	m.pes = make([]int, len(ranks))
	for i, rank := range ranks {
		m.pes[i] = n.pes[rank]
	}
	return &m
}

// node returns the node of the given kind that belongs to a rank: a component of the rank's
// PE, its HBM slice, or the SRAM of its cube.
func (n *Network) node(rank int, kind topology.Kind) topology.NodeID {
	s := n.g.Spec()
	each, cubes := s.PEsPerCube(), s.CubesPerSIP()
	id := n.pes[rank]
	sip, cube, i := id/each/cubes, id/each%cubes, id%each
	switch kind {
	case topology.KindHBM:
		return n.g.HBM(sip, cube, i)
	case topology.KindSRAM:
		return n.g.SRAM(sip, cube)
	}
	return n.g.PENode(sip, cube, i, kind)
}

// transferTime computes how long a transfer of the given size takes from one node to
// another without contention.
func (n *Network) transferTime(from, to topology.NodeID, bytes int64) simtime.Time {
	n.route(from, to)
	n.hops = n.hops[:0]
	links := n.g.Links()
	for _, id := range n.path {
		l := &links[id]
		n.hops = append(n.hops, fabric.Hop{Bandwidth: l.Bandwidth, Latency: l.Latency + n.g.Node(l.To).Overhead})
	}
	return fabric.Uncontended(n.hops, topology.Bytes(bytes), n.g.Spec().System.Flit)
}

// route sets n.path to the links of the route between two nodes.
func (n *Network) route(from, to topology.NodeID) {
	for i := range n.routes {
		if r := &n.routes[i]; r.path != nil && r.from == from && r.to == to {
			n.path = r.path
			return
		}
	}
	r := &n.routes[1]
	path, err := n.g.Route(r.path[:0], from, to)
	if err != nil {
		panic(fmt.Sprintf("cost: %v", err)) // cannot happen: Compile refuses systems with unreachable PEs
	}
	n.routes[0], n.routes[1] = knownRoute{from, to, path}, n.routes[0]
	n.path = path
}

// slots returns the kind of memory that holds the slots, in which a message waits for its
// receiver.
func (n *Network) slots() topology.Kind {
	switch {
	case n.inbox || n.queues.BufferKind == topology.BufferHBM:
		return topology.KindHBM
	case n.queues.BufferKind == topology.BufferSRAM:
		return topology.KindSRAM
	}
	return topology.KindTCM
}

// Alpha computes how long a message of the given size takes between two ranks if no other
// message is in flight. The time counts from the call of Send, or of Put and Notify, until
// the receiver can use the message.
func (n *Network) Alpha(from, to int, bytes int64) simtime.Time {
	s := &n.g.Spec().PE
	kind := n.slots()
	t := n.dispatch() + s.Scheduler.Overhead + s.DMA.Setup
	t += n.transferTime(n.node(from, topology.KindTCM), n.node(to, kind), bytes) // to the slot
	t += s.DMA.Setup
	if kind == topology.KindTCM {
		return t + s.TCM.Overhead + max(s.TCM.ReadBandwidth.Serialize(topology.Bytes(bytes)), s.TCM.WriteBandwidth.Serialize(topology.Bytes(bytes)))
	}
	t += n.transferTime(n.node(to, kind), n.node(to, topology.KindTCM), bytes)
	switch {
	case n.inbox:
		t += 2*n.burst() + 2*n.dispatch() + s.Scheduler.Overhead
	case kind == topology.KindHBM:
		t += 2*n.burst() + 2*n.queues.HBMOverhead
	}
	return t
}

// burst returns how long a pseudo-channel of HBM takes for one burst, its smallest access.
func (n *Network) burst() simtime.Time {
	h := &n.g.Spec().Cube.HBM
	return h.ChannelBandwidth.Serialize(h.Burst)
}

// dispatch returns the time that the CPU of a PE takes to issue an operation.
func (n *Network) dispatch() simtime.Time {
	return n.g.Spec().PE.CPU.Clock.Cycles(n.g.Spec().PE.CPU.DispatchCycles)
}

// roundTrip computes how long a message occupies a slot: from the call of Send until the
// credit has returned to the sender.
func (n *Network) roundTrip(from, to int, bytes int64) simtime.Time {
	t := n.Alpha(from, to, bytes)
	n.route(n.node(to, topology.KindTCM), n.node(from, topology.KindTCM))
	return t + n.g.Latency(n.path) + n.g.Bottleneck(n.path).Serialize(n.queues.CreditBytes)
}

// flight computes a message's share of the time of the DMA engine: how long the message is
// in flight, divided by the number of messages that the engine can have in flight. For an
// inbox, the time in flight includes one burst of HBM, which stores the message, and the
// transfer of the notification that follows.
func (n *Network) flight(from, to int, bytes int64) simtime.Time {
	t := n.transferTime(n.node(from, topology.KindTCM), n.node(to, n.slots()), bytes)
	if n.inbox {
		t += n.burst() + n.transferTime(n.node(from, topology.KindTCM), n.node(to, topology.KindTCM), 1)
	}
	return t / simtime.Time(n.g.Spec().PE.DMA.Outstanding)
}

// Busiest computes how long the busiest link takes to carry a set of messages. `traffic`
// must call `add` for each message of the set. Links between SIPs also carry the messages
// of the other lanes.
func (n *Network) Busiest(traffic func(add func(from, to int, bytes int64))) (most simtime.Time) {
	kind := n.slots()
	traffic(func(from, to int, bytes int64) {
		n.route(n.node(from, topology.KindTCM), n.node(to, kind))
		for _, id := range n.path {
			if n.load[id] == 0 {
				n.used = append(n.used, id)
			}
			n.load[id] += bytes
		}
	})
	links := n.g.Links()
	for _, id := range n.used {
		l := &links[id]
		if n.g.Node(l.From).SIP != n.g.Node(l.To).SIP {
			n.load[id] *= int64(n.Lanes)
		}
		most = max(most, l.Bandwidth.Serialize(topology.Bytes(n.load[id])))
		n.load[id] = 0
	}
	n.used = n.used[:0]
	return most
}

// slowestLink computes how long the given number of bytes occupy the slowest link on the
// route from the first rank to the last.
func (n *Network) slowestLink(bytes int64) simtime.Time {
	n.route(n.node(0, topology.KindTCM), n.node(len(n.pes)-1, topology.KindTCM))
	return n.g.Bottleneck(n.path).Serialize(topology.Bytes(bytes))
}

// combining returns two times for combining two tiles of the given number of elements: how
// long it takes if the PE does nothing else, and for how long it occupies the busiest
// engine of the PE.
func (n *Network) combining(elems int, d tl.DType) (alone, busy simtime.Time) {
	s := &n.g.Spec().PE
	bytes := topology.Bytes(elems * d.Size())
	run := pe.MathTime(s.Math, s.Math.Cycles.Simple, elems)
	alone = n.dispatch() + s.Scheduler.Overhead + pe.CommandTime(*s, 2*bytes, run, bytes)
	fetch := pe.CommandTime(*s, 2*bytes, 0, 0)
	return alone, max(run, fetch)
}

// handling computes how long a rank is busy with one message that it reads from its memory
// or stores in its memory.
func (n *Network) handling(bytes int64) simtime.Time {
	s := n.g.Spec()
	hbm := max(n.burst(), s.Cube.HBM.Bandwidth.Serialize(topology.Bytes(bytes)))
	return 5*n.dispatch() + s.PE.DMA.Setup + hbm
}
