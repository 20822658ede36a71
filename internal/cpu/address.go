package cpu

import (
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// box describes the valid elements of a block by the extent and the byte stride of each
// axis, innermost last.
type box struct {
	va     memory.VA
	elem   memory.Bytes // size of an element
	extent [oplog.MaxRank]int64
	stride [oplog.MaxRank]memory.Bytes
}

// newBox returns the box of the valid elements of a block. Its strides are the strides of
// the last axes of the tensor that the block's pointer points into. If the tensor has fewer
// axes than the block, the rows of the block are contiguous.
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

// find appends to a list the parts of memory that the elements of a box occupy. It returns
// the list.
func (m *System) find(to []pe.Access, x *box) (_ []pe.Access, err error) {
	e, s := &x.extent, &x.stride
	outer, rows, row, stride := int64(1), e[2], memory.Bytes(e[3])*x.elem, s[2]
	if e[3] > 1 && s[3] != x.elem { // the innermost axis is not dense: each element is a row
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

// find sets c.pieces to the parts of memory that the elements of a block occupy.
func (c *Core) find(b *tl.Block) (err error) {
	x := newBox(b)
	c.pieces, err = c.m.find(c.pieces[:0], &x)
	return err
}

// appendRequests appends a request for each piece to a list and returns the list. Each
// request is a read into the PE's TCM, or a write from the TCM. Requests in the unused
// capacity of the list are overwritten; the memory of their paths is used again.
func (c *Core) appendRequests(to []pe.Request, pieces []pe.Access, op memory.Op, class fabric.Class) []pe.Request {
	tcm := c.pe.Memory(topology.KindTCM)
	for _, p := range pieces {
		n := len(to)
		if n < cap(to) {
			to = to[:n+1]
		} else {
			to = append(to, pe.Request{})
		}
		path := to[n].Path[:0] // memory of an earlier request
		if to[n].Fixed {
			path = nil // of c.routes
		}
		to[n] = pe.Request{Op: op, Class: class}
		from, dest, end := p.Memory, tcm, &to[n].From
		if op == memory.Write {
			from, dest, end = tcm, p.Memory, &to[n].To
		}
		*end = p
		if to[n].Path = c.keptRoute(from, dest); to[n].Path != nil {
			to[n].Fixed = true
		} else {
			to[n].Path = c.m.Route(path, from, dest)
		}
	}
	return to
}

// route is a path between two memories.
type route struct {
	from, dest memory.ID
	path       []topology.LinkID
}

// maxRoutes is the number of routes that a core keeps: most kernels use few memories.
const maxRoutes = 4

// keptRoute returns the path between two memories if the core keeps it or can still add it
// to its list, else nil.
func (c *Core) keptRoute(from, dest memory.ID) []topology.LinkID {
	for i := range c.routes {
		if r := &c.routes[i]; r.from == from && r.dest == dest {
			return r.path
		}
	}
	if len(c.routes) == maxRoutes {
		return nil
	}
	path := c.m.Route(nil, from, dest)
	c.routes = append(c.routes, route{from, dest, path})
	return path
}

// Accesses converts parts of memory to accesses of the op log.
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
