package cpu

import (
	"slices"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
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

// knownShard is a shard of a tensor. It is valid while no tensor has been unmapped since it
// was found.
type knownShard struct {
	va     memory.VA // of its first byte
	bytes  memory.Bytes
	addr   memory.Addr // in its memory
	memory memory.ID
	slice  fabric.SliceID // see pe.Access
	unmaps uint32         // Space.Unmaps when the shard was found
}

// lastShard returns the shard that the kernel read or wrote last.
func (c *Core) lastShard(op memory.Op) *knownShard {
	if op == memory.Write {
		return &c.lastWritten
	}
	return &c.lastRead
}

// find sets c.pieces to the parts of memory that the elements of a block occupy. op says
// what the kernel does with the block. A kernel mostly accesses the same shards again, so
// find first looks for consecutive elements in the last shard.
func (c *Core) find(b *tl.Block, op memory.Op) error {
	if b.Shape.Rank == 1 && b.Ptr.Rank == 1 && b.Ptr.Stride[0] == 1 && b.Valid.Dim[0] > 0 {
		s := c.lastShard(op)
		va, n := memory.VA(b.Ptr.Addr), memory.Bytes(b.Valid.Dim[0])*memory.Bytes(b.DType.Size())
		if s.holds(va, n, c.m.Addresses(va)) || c.findShard(s, va) && s.holds(va, n, c.m.Addresses(va)) {
			c.pieces = append(c.pieces[:0], pe.Access{Memory: s.memory, Region: memory.Contiguous(s.addr+memory.Addr(va-s.va), n), Slice: s.slice})
			return nil
		}
	}
	return c.search(b)
}

// holds reports whether s contains the n bytes from va on.
func (s *knownShard) holds(va memory.VA, n memory.Bytes, space *memory.Space) bool {
	off := memory.Bytes(va - s.va)
	return uint64(off) < uint64(s.bytes) && n <= s.bytes-off && s.unmaps == space.Unmaps()
}

// findShard sets s to the shard that contains va, and reports whether there is one.
func (c *Core) findShard(s *knownShard, va memory.VA) bool {
	space := c.m.Addresses(va)
	base, shard, ok := space.Shard(va)
	if ok {
		*s = knownShard{base, shard.Bytes, shard.Addr, shard.Memory, c.m.Slice(shard.Memory), space.Unmaps()}
	}
	return ok
}

// Slice returns the number of the HBM slice that a memory is, or 0 if it is no HBM slice.
func (m *System) Slice(id memory.ID) fabric.SliceID {
	if id.Kind != oplog.HBM {
		return 0
	}
	s := m.Graph.Spec()
	return fabric.SliceID((int(id.SIP)*s.CubesPerSIP()+int(id.Cube))*s.PEsPerCube() + int(id.PE) + 1)
}

// search sets c.pieces like find, for any block.
func (c *Core) search(b *tl.Block) (err error) {
	x := newBox(b)
	c.pieces, err = c.m.find(c.pieces[:0], &x)
	return err
}

// appendRequests appends a request for each piece to a list and returns the list. Each
// request is a read into the PE's TCM, or a write from the TCM. Requests in the unused
// capacity of the list are overwritten; the memory of their paths is used again.
func (c *Core) appendRequests(to []pe.Request, pieces []pe.Access, op memory.Op, class fabric.Class) []pe.Request {
	for i := range pieces {
		n := len(to)
		if n < cap(to) {
			to = to[:n+1]
		} else {
			to = append(to, pe.Request{})
		}
		to[n] = pe.Request{Path: to[n].Path, Fixed: to[n].Fixed}
		c.setRequest(&to[n], &pieces[i], op, class)
	}
	return to
}

// setRequest changes r to a read of memory p into the PE's TCM, or to a write of p from the
// TCM. The memory of the path of r is used again.
func (c *Core) setRequest(r *pe.Request, p *pe.Access, op memory.Op, class fabric.Class) {
	tcm := c.pe.Memory(topology.KindTCM)
	r.Op, r.Class = op, class
	r.From, r.To = pe.Access{}, pe.Access{}
	from, dest := p.Memory, tcm
	if op == memory.Write {
		from, dest = tcm, p.Memory
		r.To = *p
	} else {
		r.From = *p
	}
	if kept := c.keptRoute(op, from, dest); kept != nil {
		r.Path, r.Fixed = kept.path, true
		r.Remote = kept.remote
		return
	}
	c.findPath(r, from, dest)
}

// findPath sets the path of r, for two memories whose route the core does not keep.
//
//go:noinline
func (c *Core) findPath(r *pe.Request, from, dest memory.ID) {
	if r.Fixed {
		r.Path, r.Fixed = nil, false // the path is in c.routes
	}
	r.Path = c.m.Route(r.Path[:0], from, dest)
	r.Remote = c.m.Remote(r.Op, from, dest, r.Path)
}

// Remote returns what concerns other SIPs of a DMA request that moves data from memory `from`
// to memory `dest` over a path, or nil if both are in one SIP. The PE of the request is in the
// SIP of `dest` for a read, and of `from` for a write.
func (m *System) Remote(op memory.Op, from, dest memory.ID, path []topology.LinkID) *pe.Remote {
	if from.SIP == dest.SIP {
		return nil
	}
	return m.newRemote(op, from, dest, path)
}

// newRemote implements Remote for memories in two SIPs.
func (m *System) newRemote(op memory.Op, from, dest memory.ID, path []topology.LinkID) *pe.Remote {
	m.back = m.Route(m.back[:0], dest, from)
	way := m.ControlTime(m.back)
	if op == memory.Read {
		return &pe.Remote{ReadWay: way}
	}
	return &pe.Remote{Border: m.Border(path), WriteWay: way, ReportWay: m.ControlTime(path)}
}

// ControlTime returns how long a credit, the request of a read or an acknowledgement takes
// over a path: its latency, and a few bytes on the slowest link. Nothing delays it.
func (m *System) ControlTime(path []topology.LinkID) simtime.Time {
	return m.Graph.Latency(path) + m.Graph.Bottleneck(path).Serialize(m.Graph.Spec().PE.IPCQ.CreditBytes)
}

// Border returns the number of links of a path up to the first that leads to another SIP, or
// 0 if the path stays within a SIP.
func (m *System) Border(path []topology.LinkID) int32 {
	for i, id := range path {
		if l := m.Graph.Link(id); m.Graph.Node(l.From).SIP != m.Graph.Node(l.To).SIP {
			return int32(i + 1)
		}
	}
	return 0
}

// route is a path between two memories.
type route struct {
	from, dest memory.ID
	path       []topology.LinkID
	remote     *pe.Remote // of a request to the memory that is not the TCM of the PE
}

// maxRoutes is the number of routes that a core keeps: most kernels use few memories.
const maxRoutes = 4

// keptRoute returns the path between two memories for op if the core keeps it or can still
// add it to its list, else nil.
func (c *Core) keptRoute(op memory.Op, from, dest memory.ID) *route {
	for i := range c.routes {
		if r := &c.routes[i]; r.from == from && r.dest == dest {
			return r
		}
	}
	n := len(c.routes)
	if n == maxRoutes {
		return nil
	}
	c.m.found = c.m.Route(c.m.found[:0], from, dest)
	c.addRoute(op, from, dest)
	return &c.routes[n]
}

// addRoute adds the path c.m.found between two memories for op to the list of the core.
//
//go:noinline
func (c *Core) addRoute(op memory.Op, from, dest memory.ID) {
	path := slices.Clone(c.m.found)
	c.routes = append(c.routes, route{from, dest, path, c.m.Remote(op, from, dest, path)})
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
