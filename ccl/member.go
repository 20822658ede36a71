package ccl

import (
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// member is a rank that runs a kernel, with its arguments and the transport to its
// neighbours. Kernels free each tile after its last use. So TCM evicts tiles in the order
// in which they were used last, and tiles that a message still reads are the latest.
type member struct {
	*Args
	Transport

	waits   []tl.Case // scratch space of pick
	waiting []int
}

// load loads n elements at p into TCM.
func (m *member) load(p tl.Ptr, n int) tl.Tile { return m.t.Load(p, tl.Shape{n}, m.DType) }

// addend prepares a tile that the rank has loaded to be combined with the elements of other
// ranks. It frees x if it returns another tile.
func (m *member) addend(x tl.Tile) tl.Tile {
	if m.Reduction == PremulSum {
		return m.scale(x)
	}
	return x
}

// scale returns the addend of PremulSum for a tile, and frees the tile.
func (m *member) scale(x tl.Tile) tl.Tile {
	defer x.Free()
	return m.Addend(x)
}

// combine returns the reduction of two tiles, element by element, and frees the two tiles.
func (m *member) combine(x, y tl.Tile) tl.Tile {
	sum := m.Combine(x, y)
	x.Free()
	y.Free()
	return sum
}

// result returns the final value of elements that were combined from all ranks. If this is
// another tile than x, it frees x.
func (m *member) result(x tl.Tile) tl.Tile {
	if m.Reduction != Avg {
		return x
	}
	defer x.Free()
	return m.Result(x)
}

// sendLast sends a tile and frees it.
func (m *member) sendLast(port tl.Port, x tl.Tile) {
	m.Send(port, x)
	x.Free()
}

// storeLast stores a tile and frees it.
func (m *member) storeLast(to tl.Ptr, x tl.Tile) {
	m.t.Store(to, x)
	x.Free()
}

// copy copies n elements in the memory of the rank, unless source and destination are the
// same address.
func (m *member) copy(to, from tl.Ptr, n int) {
	if to.Addr == from.Addr {
		return
	}
	for at, n := range m.messages(n) {
		m.storeLast(to.Add(at), m.load(from.Add(at), n))
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
			x := m.addend(m.load(m.In(0).Add(at), n))
			m.storeLast(m.Out(0).Add(at), m.result(x))
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
