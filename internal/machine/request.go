package machine

import (
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Load is the request by which the PE reads a region of any memory into its TCM.
func (p *PE) Load(from memory.ID, r memory.Region, to memory.Addr) (pe.Request, error) {
	tcm := p.Memory(topology.KindTCM)
	return p.request(memory.Read, p.machine.Access(from, r), p.machine.Access(tcm, memory.Contiguous(to, r.Bytes())))
}

// Store is the request by which the PE writes from its TCM to a region of any
// memory.
func (p *PE) Store(from memory.Addr, to memory.ID, r memory.Region) (pe.Request, error) {
	tcm := p.Memory(topology.KindTCM)
	return p.request(memory.Write, p.machine.Access(tcm, memory.Contiguous(from, r.Bytes())), p.machine.Access(to, r))
}

func (p *PE) request(op memory.Op, from, to pe.Access) (pe.Request, error) {
	m := p.machine
	path, err := m.Graph.Route(nil, m.Node(from.Memory), m.Node(to.Memory))
	return pe.Request{Op: op, Class: fabric.Compute, Path: path, From: from, To: to}, err
}

// DMABusy is how long a channel of the PE's DMA engine has carried data: the beats
// on its port, not the waiting.
func (p *PE) DMABusy(op memory.Op) simtime.Time {
	g := p.machine.Graph
	from, to := g.PERouter(p.SIP, p.Cube, p.PE), g.PENode(p.SIP, p.Cube, p.PE, topology.KindDMA)
	if op == memory.Write {
		from, to = to, from
	}
	port, _ := g.LinkBetween(from, to) // every PE has one
	return p.machine.Fabric.Stats(port).Busy
}
