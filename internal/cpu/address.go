package cpu

import (
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

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

// find appends the parts of memory that a box is in.
func (m *System) find(to []pe.Access, x *box) (_ []pe.Access, err error) {
	e, s := &x.extent, &x.stride
	outer, rows, row, stride := int64(1), e[2], memory.Bytes(e[3])*x.elem, s[2]
	if e[3] > 1 && s[3] != x.elem { // not even the innermost is dense: each element is a row
		outer, rows, row, stride = e[2], e[3], x.elem, s[3]
	}
	for j := range e[0] {
		for k := range e[1] {
			for i := range outer {
				va := x.va + memory.VA(j)*memory.VA(s[0]) + memory.VA(k)*memory.VA(s[1]) + memory.VA(i)*memory.VA(s[2])
				if to, err = m.Find(to, va, rows, row, stride); err != nil {
					return nil, err
				}
			}
		}
	}
	return to, nil
}

// find sets the core's pieces to the memory that a block is in.
func (c *Core) find(b *tl.Block) (err error) {
	x := newBox(b)
	c.pieces, err = c.m.find(c.pieces[:0], &x)
	return err
}

// transfers turns pieces into requests that bring them into the PE's TCM, or take them from
// there.
func (c *Core) transfers(to []pe.Request, pieces []pe.Access, op memory.Op, class fabric.Class) []pe.Request {
	tcm := c.pe.Memory(topology.KindTCM)
	for _, p := range pieces {
		n := len(to)
		if n < cap(to) {
			to = to[:n+1]
		} else {
			to = append(to, pe.Request{})
		}
		path := to[n].Path[:0] // of an earlier request
		to[n] = pe.Request{Op: op, Class: class}
		from, dest, end := p.Memory, tcm, &to[n].From
		if op == memory.Write {
			from, dest, end = tcm, p.Memory, &to[n].To
		}
		*end = p
		to[n].Path = c.m.Route(path, from, dest)
	}
	return to
}

// Accesses returns parts of memory as the op log has them.
func Accesses(pieces []pe.Access) []oplog.Access {
	list := make([]oplog.Access, len(pieces))
	for i, p := range pieces {
		r := p.Region
		list[i] = oplog.Access{
			Space: p.Memory, Addr: int64(r.Addr),
			Rows: int64(r.Rows), RowBytes: int64(r.RowBytes), Stride: int64(r.Stride),
		}
	}
	return list
}
