package machine

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/topology"
)

// find appends the parts of memory that a box of virtual addresses is in, in
// row-major order: one where it lies in one shard.
func (m *Machine) find(to []pe.Access, va memory.VA, rows int64, rowBytes, stride memory.Bytes) ([]pe.Access, error) {
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

// findRoute appends the path of a transfer between two memories. Within one memory it is
// over what that hangs on; within a TCM over its read port, since the write port,
// which is another, keeps pace.
func (m *Machine) findRoute(to []topology.LinkID, from, dest memory.ID) ([]topology.LinkID, error) {
	a, b := m.Node(from), m.Node(dest)
	if a != b {
		return m.Graph.Route(to, a, b)
	}
	sip, cube, pe := int(from.SIP), int(from.Cube), int(from.PE)
	via := m.Graph.PERouter(sip, cube, pe)
	switch from.Kind {
	case topology.KindTCM:
		port, _ := m.Graph.LinkBetween(a, m.Graph.PENode(sip, cube, pe, topology.KindDMA))
		return append(to, port), nil
	case topology.KindSRAM:
		at := m.Graph.Spec().Cube.SRAM.At
		via = m.Graph.Router(sip, cube, at.Row, at.Col)
	}
	out, _ := m.Graph.LinkBetween(a, via) // every memory has one each way
	in, _ := m.Graph.LinkBetween(via, b)
	return append(to, out, in), nil
}
