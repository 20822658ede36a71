package machine

import (
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// piece is a run of rows in one memory.
type piece struct {
	memory memory.ID
	region memory.Region
}

// pieces appends the parts of memory that a box of virtual addresses is in, in
// row-major order: one where it lies in one shard.
func (m *Machine) pieces(to []piece, va memory.VA, rows int64, rowBytes, stride memory.Bytes) ([]piece, error) {
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
			return append(to, piece{seg.Memory, memory.Region{Addr: seg.Addr, Rows: rows, RowBytes: rowBytes, Stride: stride}}), nil
		}
		break
	}
	for row := range rows {
		access, err := m.Space.Translate(va+memory.VA(row)*memory.VA(stride), rowBytes)
		if err != nil {
			return nil, err
		}
		for seg := range access.Segments {
			to = append(to, piece{seg.Memory, memory.Contiguous(seg.Addr, seg.Bytes)})
		}
	}
	return to, nil
}

// box is a block of a tensor as nested runs: extents and byte strides, innermost
// last, of the elements that exist.
type box struct {
	va     memory.VA
	elem   memory.Bytes
	extent [oplog.MaxRank]int64
	stride [oplog.MaxRank]memory.Bytes
}

// newBox lays a block out: along the last axes of what its pointer points into, or
// row by row without gaps if that has fewer axes than the block.
func newBox(b *tl.Block) box {
	x := box{va: memory.VA(b.Ptr.Addr), elem: memory.Bytes(b.DType.Size())}
	for i := range x.extent {
		x.extent[i] = 1
	}
	rank, lead := int(b.Shape.Rank), oplog.MaxRank-int(b.Shape.Rank)
	dense := x.elem
	for i := rank - 1; i >= 0; i-- {
		x.extent[lead+i] = int64(b.Valid.Dim[i])
		x.stride[lead+i] = dense
		if from := int(b.Ptr.Rank) - rank + i; from >= 0 && int(b.Ptr.Rank) >= rank {
			x.stride[lead+i] = memory.Bytes(b.Ptr.Stride[from]) * x.elem
		}
		dense *= memory.Bytes(b.Shape.Dim[i])
	}
	return x
}

// boxPieces is the memory that the box is in.
func (m *Machine) boxPieces(to []piece, x *box) (_ []piece, err error) {
	e, s := &x.extent, &x.stride
	outer, rows, row, stride := int64(1), e[2], memory.Bytes(e[3])*x.elem, s[2]
	if e[3] > 1 && s[3] != x.elem { // not even the innermost is dense: each element is a row
		outer, rows, row, stride = e[2], e[3], x.elem, s[3]
	}
	for j := range e[0] {
		for k := range e[1] {
			for i := range outer {
				va := x.va + memory.VA(j)*memory.VA(s[0]) + memory.VA(k)*memory.VA(s[1]) + memory.VA(i)*memory.VA(s[2])
				if to, err = m.pieces(to, va, rows, row, stride); err != nil {
					return nil, err
				}
			}
		}
	}
	return to, nil
}

// route is the path of a transfer between two memories. Within one memory it is
// over what that hangs on; within a TCM over its read port, since the write port,
// which is another, keeps pace.
func (m *Machine) route(to []topology.LinkID, from, dest memory.ID) ([]topology.LinkID, error) {
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

// find makes the memory that a block is in the core's pieces.
func (c *core) find(b *tl.Block) (err error) {
	x := newBox(b)
	c.pieces, err = c.m.boxPieces(c.pieces[:0], &x)
	return err
}

// transfers turns pieces into requests that bring them into the PE's TCM, or take them from
// there.
func (c *core) transfers(to []pe.Request, pieces []piece, op memory.Op) ([]pe.Request, error) {
	tcm := c.pe.Memory(topology.KindTCM)
	for _, p := range pieces {
		n := len(to)
		if n < cap(to) {
			to = to[:n+1]
		} else {
			to = append(to, pe.Request{})
		}
		path := to[n].Path[:0] // of an earlier request
		to[n] = pe.Request{Op: op, Class: fabric.Compute}
		from, dest, end := p.memory, tcm, &to[n].From
		if op == memory.Write {
			from, dest, end = tcm, p.memory, &to[n].To
		}
		*end = c.m.Access(p.memory, p.region)
		var err error
		if to[n].Path, err = c.m.route(path, from, dest); err != nil {
			return nil, err
		}
	}
	return to, nil
}

var spaceKinds = map[topology.Kind]oplog.SpaceKind{
	topology.KindHBM: oplog.HBM, topology.KindSRAM: oplog.SRAM, topology.KindTCM: oplog.TCM,
}

// Space is a memory as the op log names it.
func Space(id memory.ID) oplog.Space {
	return oplog.Space{Kind: spaceKinds[id.Kind], SIP: id.SIP, Cube: id.Cube, PE: id.PE}
}

// SpaceID is the memory that the op log names so.
func SpaceID(s oplog.Space) memory.ID {
	for kind, k := range spaceKinds {
		if k == s.Kind {
			return memory.ID{Kind: kind, SIP: s.SIP, Cube: s.Cube, PE: s.PE}
		}
	}
	return memory.ID{}
}

func accesses(pieces []piece) []oplog.Access {
	list := make([]oplog.Access, len(pieces))
	for i, p := range pieces {
		r := p.region
		list[i] = oplog.Access{
			Space: Space(p.memory), Addr: int64(r.Addr),
			Rows: int64(r.Rows), RowBytes: int64(r.RowBytes), Stride: int64(r.Stride),
		}
	}
	return list
}
