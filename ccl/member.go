package ccl

import (
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// member is a rank that runs a kernel, with its arguments and the transport to its
// neighbours.
type member struct {
	*Args
	Transport
	freed []tl.Tile // tiles that freeLater has not freed yet

	waits   []tl.Case // scratch space of pick
	waiting []int
}

// freeLater frees a pinned tile, but only after several more calls of freeLater. If it
// freed the tile at once, the next new tile would overwrite it, although a message with its
// data may still be in flight.
func (m *member) freeLater(x tl.Tile) {
	if m.freed = append(m.freed, x); len(m.freed) > min(m.tiles()/8, 64) {
		m.freed[0].Free()
		m.freed = m.freed[1:]
	}
}

// load loads n elements at p into TCM.
func (m *member) load(p tl.Ptr, n int) tl.Tile { return m.t.Load(p, tl.Shape{n}, m.DType) }

// addend loads n elements at p and prepares them to be combined with the elements of other
// ranks.
func (m *member) addend(p tl.Ptr, n int) tl.Tile { return m.Addend(m.load(p, n)) }

// copy copies n elements in the memory of the rank, unless source and destination are the
// same address.
func (m *member) copy(to, from tl.Ptr, n int) {
	if to.Addr == from.Addr {
		return
	}
	for at, n := range m.messages(n) {
		m.t.Store(to.Add(at), m.load(from.Add(at), n))
	}
}

// runSingle performs the collective without messages if the group has only one rank. It
// reports whether it performed the collective. It never performs a SendRecv.
func (m *member) runSingle() bool {
	if m.Ranks > 1 || m.Collective == SendRecv {
		return false
	}
	switch {
	case m.Collective == Barrier || m.Count(0) == 0:
	case m.Collective.Reduces() && (m.Reduction == PremulSum || m.Reduction == Avg && m.Divisor > 1):
		for at, n := range m.messages(m.Count(0)) {
			x := m.addend(m.In(0).Add(at), n)
			m.t.Store(m.Out(0).Add(at), m.Result(x))
		}
	default:
		m.copy(m.Out(0), m.In(0), m.Count(0))
	}
	return true
}

// storeOwn stores a tile of the rank's own block b in the output of an all-gather. It does
// nothing if input and output are the same memory.
func (m *member) storeOwn(b block, tile tl.Tile) {
	if b.in.Addr != b.out.Addr {
		m.t.Store(b.out, tile)
	}
}

// withoutPE returns a member that has no PE. Schedules are computed from such a member.
func (p *Plan) withoutPE(rank int) *member {
	nowhere := func(int) tl.Ptr { return tl.Ptr{DType: p.DType, Rank: 1, Stride: [oplog.MaxRank]int64{1}} }
	return &member{Args: &Args{Plan: p, Rank: rank, In: nowhere, Out: nowhere}}
}
