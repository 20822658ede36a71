package machine

import (
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// translate appends to `to` the physical parts of memory that a box of virtual addresses
// occupies, in row-major order. The box starts at va and has `rows` rows of rowBytes bytes,
// which start `stride` bytes apart. For a box within one shard, translate appends a single
// part.
func (m *Machine) translate(to []pe.Access, va memory.VA, rows int64, rowBytes, stride memory.Bytes) ([]pe.Access, error) {
	if rows == 0 || rowBytes == 0 {
		return to, nil
	}
	if rows == 1 || stride == rowBytes {
		rows, rowBytes, stride = 1, memory.Bytes(rows)*rowBytes, memory.Bytes(rows)*rowBytes
	}
	span := memory.Bytes(rows-1)*stride + rowBytes
	space := m.space(va)
	access, err := space.Translate(va, span)
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
		access, err := space.Translate(va+memory.VA(row)*memory.VA(stride), rowBytes)
		if err != nil {
			return nil, err
		}
		for seg := range access.Segments {
			to = append(to, m.Access(seg.Memory, memory.Contiguous(seg.Addr, seg.Bytes)))
		}
	}
	return to, nil
}

// path appends to `to` the links of the path between the nodes `from` and dest. There is
// always a path: topology.Compile rejects systems with an unreachable node.
func (m *Machine) path(to []topology.LinkID, from, dest topology.NodeID) []topology.LinkID {
	to, err := m.Graph.Route(to, from, dest)
	if err != nil {
		panic("machine: " + err.Error())
	}
	return to
}

// findRoute appends to `to` the links of a transfer between the memories `from` and dest.
// If both are the same HBM slice or SRAM, the path leads to the router of that memory and
// back. If both are the same TCM, the path is only its read port, because a TCM writes
// through another port at the same time.
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

// Request returns a DMA request between region r of the memory `at` and address tcm of the
// PE's TCM. memory.Read copies the region into the TCM, memory.Write copies from the TCM to
// the region.
func (p *PE) Request(op memory.Op, at memory.ID, r memory.Region, tcm memory.Addr) pe.Request {
	m := p.machine
	from, to := m.Access(at, r), m.Access(p.Memory(topology.KindTCM), memory.Contiguous(tcm, r.Bytes()))
	if op == memory.Write {
		from, to = to, from
	}
	path := m.findRoute(nil, from.Memory, to.Memory)
	return pe.Request{Op: op, Class: fabric.Compute, Path: path, Remote: m.Remote(op, from.Memory, to.Memory, path), From: from, To: to}
}

// DMABusy returns how long the read or write channel of the PE's DMA engine has carried
// data. Time in which requests wait does not count.
func (p *PE) DMABusy(op memory.Op) simtime.Time {
	g := p.machine.Graph
	from, to := g.PERouter(p.SIP, p.Cube, p.PE), g.PENode(p.SIP, p.Cube, p.PE, topology.KindDMA)
	if op == memory.Write {
		from, to = to, from
	}
	port, _ := g.LinkBetween(from, to) // every PE has this link
	return p.machine.Fabric.Stats(port).Busy
}
