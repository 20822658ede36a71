package machine

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/ipcq"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// connect builds the queues of the neighbour table.
func (m *Machine) connect(r *Run) error {
	limit := r.queues.MaxPorts
	count := map[PEID]int{}
	var buf []topology.LinkID
	way := func(a, b *PE) (path []topology.LinkID, err error) { // as long as it is: there are very many
		buf, err = m.route(buf[:0], a.Memory(topology.KindTCM), b.Memory(topology.KindTCM))
		return slices.Clone(buf), err
	}
	for _, l := range r.Program.Links {
		for _, end := range []struct {
			pe   PEID
			port tl.Port
		}{{l.A, l.APort}, {l.B, l.BPort}} {
			c := r.cores[end.pe]
			if c == nil {
				return fmt.Errorf("the neighbour table names PE %d, which the launch does not run on", end.pe)
			}
			if end.port < 0 {
				return fmt.Errorf("the neighbour table gives %v the port %v, which is none", c.pe, end.port)
			}
			for int(end.port) >= len(c.ports) {
				c.ports = append(c.ports, port{})
			}
			if c.ports[end.port].out != nil || l.A == l.B && l.APort == l.BPort {
				return fmt.Errorf("the neighbour table gives %v the port %v twice", c.pe, end.port)
			}
			if count[end.pe]++; count[end.pe] > limit {
				return fmt.Errorf("the neighbour table gives %v more than %d ports: use Put and Notify instead, or raise pe.ipcq.max_ports", c.pe, limit)
			}
		}
		a, b := m.queueEnd(l.A, l.APort), m.queueEnd(l.B, l.BPort)
		there, err := way(a.pe, b.pe)
		if err != nil {
			return err
		}
		back, err := way(b.pe, a.pe)
		if err != nil {
			return err
		}
		ab, err := m.ring(r, &a, &b, there, back)
		if err != nil {
			return err
		}
		ba, err := m.ring(r, &b, &a, back, there)
		if err != nil {
			return err
		}
		m.Engine.Beat() // a large launch has very many
		r.cores[l.A].ports[l.APort] = port{out: ab, in: ba}
		r.cores[l.B].ports[l.BPort] = port{out: ba, in: ab}
	}
	return nil
}

// queueEnd is a port of a PE, with its name.
type queueEnd struct {
	pe   *PE
	name string
}

func (m *Machine) queueEnd(id PEID, p tl.Port) queueEnd {
	return queueEnd{m.PE(id), m.PE(id).String() + " " + p.String()}
}

// ring builds the queue from a port to another, given the ways between their TCMs.
func (m *Machine) ring(r *Run, from, to *queueEnd, there, back []topology.LinkID) (*ipcq.Ring, error) {
	q, kind, b := &r.queues, r.queues.BufferKind, to.pe
	cfg := ipcq.Config{Slots: q.NSlots, SlotSize: q.SlotSize, Memory: b.Memory(bufferKinds[kind])}
	cfg.Local = kind == topology.BufferTCM
	if kind == topology.BufferHBM {
		cfg.Access = q.HBMOverhead
	}
	size := memory.Bytes(q.NSlots) * q.SlotSize
	addr, err := m.Memory(cfg.Memory).Allocator.Alloc(size, 256)
	if err != nil {
		return nil, fmt.Errorf("slots of the queue %s -> %s: %w", from.name, to.name, err)
	}
	r.blocks = append(r.blocks, block{cfg.Memory, addr, size})
	if kind == topology.BufferTCM {
		b.Tiles.Reserve(size)
	}
	cfg.At = m.Access(cfg.Memory, memory.Contiguous(addr, size))
	cfg.Path = there
	if kind != topology.BufferTCM {
		if cfg.Path, err = m.route(nil, from.pe.Memory(topology.KindTCM), cfg.Memory); err != nil {
			return nil, err
		}
	}
	if cfg.Out, err = m.route(nil, cfg.Memory, b.Memory(topology.KindTCM)); err != nil {
		return nil, err
	}
	cfg.CreditTime = m.Graph.Latency(back) + m.Graph.Bottleneck(back).Serialize(q.CreditBytes)
	ring := m.queues.Add(
		ipcq.End{Name: from.name, DMA: &from.pe.DMA}, ipcq.End{Name: to.name, DMA: &b.DMA}, cfg)
	r.rings = append(r.rings, ring)
	return ring, nil
}

var bufferKinds = map[topology.BufferKind]topology.Kind{
	topology.BufferTCM: topology.KindTCM, topology.BufferSRAM: topology.KindSRAM, topology.BufferHBM: topology.KindHBM,
}

// disconnect takes the queues of a run down.
func (m *Machine) disconnect(r *Run) {
	for _, ring := range r.rings {
		m.queues.Remove(ring)
	}
	for _, b := range r.blocks {
		if b.memory.Kind == topology.KindTCM {
			m.PE(m.ID(int(b.memory.SIP), int(b.memory.Cube), int(b.memory.PE))).Tiles.Release(b.bytes)
		}
		if err := m.Memory(b.memory).Allocator.Free(b.addr); err != nil {
			panic(err) // it was allocated above
		}
		m.Engine.Beat()
	}
	r.rings, r.blocks = nil, nil
}
