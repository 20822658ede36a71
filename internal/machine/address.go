package machine

import (
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// translate appends the parts of memory behind a box of virtual addresses, in row-major
// order. A box within one shard is one part.
func (m *Machine) translate(to []pe.Access, va memory.VA, rows int64, rowBytes, stride memory.Bytes) ([]pe.Access, error) {
	if rows == 0 || rowBytes == 0 {
		return to, nil
	}
	if rows == 1 || stride == rowBytes {
		rows, rowBytes, stride = 1, memory.Bytes(rows)*rowBytes, memory.Bytes(rows)*rowBytes
	}
	span := memory.Bytes(rows-1)*stride + rowBytes
	access, err := m.Space.Translate(va, span)
	if err != nil {
		return nil, err
	}
	for seg := range access.Segments {
		if seg.Bytes == span {
			return append(to, m.Access(seg.Memory, memory.Region{Addr: seg.Addr, Rows: rows, RowBytes: rowBytes, Stride: stride})), nil
		}
		break
	}
	for row := range rows {
		access, err := m.Space.Translate(va+memory.VA(row)*memory.VA(stride), rowBytes)
		if err != nil {
			return nil, err
		}
		for seg := range access.Segments {
			to = append(to, m.Access(seg.Memory, memory.Contiguous(seg.Addr, seg.Bytes)))
		}
	}
	return to, nil
}

// path appends the links from one node to another. There is always a path: topology.Compile
// rejects systems with an unreachable node.
func (m *Machine) path(to []topology.LinkID, from, dest topology.NodeID) []topology.LinkID {
	to, err := m.Graph.Route(to, from, dest)
	if err != nil {
		panic("machine: " + err.Error())
	}
	return to
}

// findRoute appends the path of a transfer between two memories. Within one HBM slice or
// SRAM, the path leads to the router of the memory and back. Within one TCM, it is the read
// port, since the TCM writes through another port at the same time.
func (m *Machine) findRoute(to []topology.LinkID, from, dest memory.ID) []topology.LinkID {
	a, b := m.Node(from), m.Node(dest)
	if a != b {
		return m.path(to, a, b)
	}
	sip, cube, pe := int(from.SIP), int(from.Cube), int(from.PE)
	via := m.Graph.PERouter(sip, cube, pe)
	switch from.Kind {
	case oplog.TCM:
		port, _ := m.Graph.LinkBetween(a, m.Graph.PENode(sip, cube, pe, topology.KindDMA))
		return append(to, port)
	case oplog.SRAM:
		at := m.Graph.Spec().Cube.SRAM.At
		via = m.Graph.Router(sip, cube, at.Row, at.Col)
	}
	out, _ := m.Graph.LinkBetween(a, via) // every memory has a link in each direction
	in, _ := m.Graph.LinkBetween(via, b)
	return append(to, out, in)
}

// Request returns a request that reads a region of any memory into the TCM of the PE, or
// writes the region from the TCM.
func (p *PE) Request(op memory.Op, at memory.ID, r memory.Region, tcm memory.Addr) pe.Request {
	m := p.machine
	from, to := m.Access(at, r), m.Access(p.Memory(topology.KindTCM), memory.Contiguous(tcm, r.Bytes()))
	if op == memory.Write {
		from, to = to, from
	}
	return pe.Request{Op: op, Class: fabric.Compute, Path: m.findRoute(nil, from.Memory, to.Memory), From: from, To: to}
}

// DMABusy returns how long a channel of the PE's DMA engine has carried data. Waits do not
// count.
func (p *PE) DMABusy(op memory.Op) simtime.Time {
	g := p.machine.Graph
	from, to := g.PERouter(p.SIP, p.Cube, p.PE), g.PENode(p.SIP, p.Cube, p.PE, topology.KindDMA)
	if op == memory.Write {
		from, to = to, from
	}
	port, _ := g.LinkBetween(from, to) // every PE has this link
	return p.machine.Fabric.Stats(port).Busy
}
