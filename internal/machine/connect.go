package machine

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/ipcq"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// queueSet holds the queues between the PEs of a launch, or between the members of a group
// of workers.
type queueSet struct {
	machine     *Machine
	config      topology.IPCQ           // how the queues are built
	core        func(id PEID) *cpu.Core // returns the core of a PE; nil for other PEs
	where       func(id PEID) string    // text after the names of PE and port in errors and reports
	rings       []*ipcq.Ring
	allocations []allocation
	apart       bool // threads may run the two ends of a queue
}

// CheckNeighbors returns an error if a connection of `table` has an invalid port, if two
// connections use the same port of a PE, or if a PE has more than `most` connections. The
// function `name` returns the name of a PE for error messages, or an error if the table
// must not contain the PE.
func CheckNeighbors(table []Connection, most int, name func(id PEID) (fmt.Stringer, error)) error {
	ports := map[PEID][]tl.Port{}
	for _, l := range table {
		for _, end := range [...]struct {
			pe   PEID
			port tl.Port
		}{{l.A, l.APort}, {l.B, l.BPort}} {
			at, err := name(end.pe)
			if err != nil {
				return err
			}
			if end.port < 0 {
				return fmt.Errorf("the neighbour table gives %v the port %v, which is none", at, end.port)
			}
			if slices.Contains(ports[end.pe], end.port) {
				return fmt.Errorf("the neighbour table gives %v the port %v twice", at, end.port)
			}
			if len(ports[end.pe]) == most {
				return fmt.Errorf("the neighbour table gives %v more than %d ports: use Put and Notify instead, or raise pe.ipcq.max_ports", at, most)
			}
			ports[end.pe] = append(ports[end.pe], end.port)
		}
	}
	return nil
}

// connect builds two queues, one in each direction, for each connection of the neighbour
// table.
func (n *queueSet) connect(table []Connection) error {
	m := n.machine
	err := CheckNeighbors(table, n.config.MaxPorts, func(id PEID) (fmt.Stringer, error) {
		if n.core(id) == nil {
			return nil, fmt.Errorf("the neighbour table names PE %d, which the launch does not run on", id)
		}
		return m.PE(id), nil
	})
	if err != nil {
		return err
	}
	var buf []topology.LinkID
	route := func(a, b *PE) []topology.LinkID { // no spare capacity: there are very many paths
		buf = m.findRoute(buf[:0], a.Memory(topology.KindTCM), b.Memory(topology.KindTCM))
		return slices.Clone(buf)
	}
	for _, l := range table {
		a, b := n.newEnd(l.A, l.APort), n.newEnd(l.B, l.BPort)
		there, back := route(a.pe, b.pe), route(b.pe, a.pe)
		ab, err := n.addRing(&a, &b, there, back)
		if err != nil {
			return err
		}
		ba, err := n.addRing(&b, &a, back, there)
		if err != nil {
			return err
		}
		m.Engine.Beat() // a large launch has very many connections
		n.core(l.A).Join(l.APort, ab, ba)
		n.core(l.B).Join(l.BPort, ba, ab)
	}
	return nil
}

// queueEnd is a port of a PE and its name in errors and reports of deadlocks.
type queueEnd struct {
	pe   *PE
	name string
}

func (n *queueSet) newEnd(id PEID, p tl.Port) queueEnd {
	pe := n.machine.PE(id)
	return queueEnd{pe, pe.String() + " " + p.String() + n.where(id)}
}

// addRing builds the queue that carries messages between the ports `from` and `to`, in this
// direction. `there` is the path from the TCM of the sender to the TCM of the receiver, and
// `back` is the reverse path.
func (n *queueSet) addRing(from, to *queueEnd, there, back []topology.LinkID) (*ipcq.Ring, error) {
	m, q, kind, b := n.machine, &n.config, n.config.BufferKind, to.pe
	cfg := ipcq.Config{Slots: q.NSlots, SlotSize: q.SlotSize, Memory: b.Memory(bufferKinds[kind])}
	cfg.Local = kind == topology.BufferTCM
	if kind == topology.BufferHBM {
		cfg.Access = q.HBMOverhead
	}
	size := memory.Bytes(q.NSlots) * q.SlotSize
	slots, err := allocate(b, cfg.Memory, size)
	if err != nil {
		return nil, fmt.Errorf("slots of the queue %s -> %s: %w", from.name, to.name, err)
	}
	n.allocations = append(n.allocations, slots)
	cfg.At = m.Access(cfg.Memory, memory.Contiguous(slots.Addr, size))
	cfg.Path = there
	if kind != topology.BufferTCM {
		cfg.Path = m.findRoute(nil, from.pe.Memory(topology.KindTCM), cfg.Memory)
	}
	cfg.Out = m.findRoute(nil, cfg.Memory, b.Memory(topology.KindTCM))
	cfg.CreditTime = m.Graph.Latency(back) + m.Graph.Bottleneck(back).Serialize(q.CreditBytes)
	if cfg.Border = m.Border(cfg.Path); cfg.Border > 0 {
		cfg.Way, cfg.Apart = m.ControlTime(there), n.apart
	}
	if flit := m.Graph.Spec().System.Flit; m.Fabric.Fidelity() == fabric.Train && kind != topology.BufferHBM && q.SlotSize%flit == 0 {
		cfg.SlotFlits = int64(q.SlotSize / flit)
		cfg.SlotTime = simtime.Time(cfg.SlotFlits) * m.Graph.Bottleneck(cfg.Path).Serialize(flit)
	}
	ring := m.queues.Add(
		ipcq.End{Name: from.name, DMA: &from.pe.DMA}, ipcq.End{Name: to.name, DMA: &b.DMA}, cfg)
	n.rings = append(n.rings, ring)
	return ring, nil
}

var bufferKinds = map[topology.BufferKind]topology.Kind{
	topology.BufferTCM: topology.KindTCM, topology.BufferSRAM: topology.KindSRAM, topology.BufferHBM: topology.KindHBM,
}

// checkReceived returns an error if a queue still has messages that were sent and never
// received. `kernel` is the name of the kernel for the error.
func (n *queueSet) checkReceived(kernel string) error {
	for _, ring := range n.rings {
		if k := ring.Unreceived(); k > 0 {
			return fmt.Errorf("kernel %s: ended with %d slots in use of the queue %s -> %s, by messages that were not received", kernel, k, ring.From.Name, ring.To.Name)
		}
	}
	return nil
}

// disconnect removes all queues of n and frees the memory of their slots.
func (n *queueSet) disconnect() {
	for _, ring := range n.rings {
		n.machine.queues.Remove(ring)
	}
	for _, b := range n.allocations {
		b.free()
		n.machine.Engine.Beat()
	}
	n.rings, n.allocations = nil, nil
}

// allocation is memory of a PE for the slots of a queue or for scratch buffers.
type allocation struct {
	pe *PE
	memory.Segment
}

// allocate allocates n bytes of memory id for PE p. If the memory is the TCM of the PE, the
// space for its tiles shrinks by n.
func allocate(p *PE, id memory.ID, n memory.Bytes) (allocation, error) {
	addr, err := p.machine.Memory(id).Allocator.Alloc(n, 256)
	if err == nil && id.Kind == oplog.TCM {
		p.Tiles.Reserve(n)
	}
	return allocation{p, memory.Segment{Memory: id, Addr: addr, Bytes: n}}, err
}

// free returns the memory to its allocator. If the memory is TCM, tiles may use it again.
func (b *allocation) free() {
	if b.Memory.Kind == oplog.TCM {
		b.pe.Tiles.Release(b.Bytes)
	}
	if err := b.pe.machine.Memory(b.Memory).Allocator.Free(b.Addr); err != nil {
		panic(err) // the memory is from allocate
	}
}
