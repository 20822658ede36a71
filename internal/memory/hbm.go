package memory

import (
	"math/bits"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Region is a two-dimensional range of bytes in one memory: Rows rows of RowBytes bytes
// each, which start Stride bytes apart. The bytes of a region are numbered from 0, row by
// row, in the order in which they are transferred.
type Region struct {
	Addr     Addr
	Rows     int64
	RowBytes Bytes
	Stride   Bytes
}

// Contiguous returns the region of n bytes from addr on.
func Contiguous(addr Addr, n Bytes) Region {
	return Region{Addr: addr, Rows: 1, RowBytes: n, Stride: n}
}

// Bytes returns the size of the region.
func (r Region) Bytes() Bytes { return Bytes(r.Rows) * r.RowBytes }

// Overlaps reports whether regions r and s share an address. (Adjacent tiles of one matrix
// do not.) If their strides differ, it takes time linear in the smaller number of rows.
func (r Region) Overlaps(s Region) bool {
	if r.Addr >= s.end() || s.Addr >= r.end() {
		return false
	}
	if r.Stride != s.Stride || r.RowBytes > r.Stride || s.RowBytes > s.Stride {
		if s.Rows < r.Rows {
			r, s = s, r
		}
		for i := range r.Rows {
			if s.touches(r.Addr+Addr(i)*Addr(r.Stride), r.RowBytes) {
				return true
			}
		}
		return false
	}
	if s.Addr < r.Addr {
		r, s = s, r
	}
	col := Bytes(s.Addr-r.Addr) % r.Stride // column of the first byte of s in r
	return col < r.RowBytes || col+s.RowBytes > r.Stride
}

// touches reports whether a row of the region overlaps the n bytes that start at a.
func (r Region) touches(a Addr, n Bytes) bool {
	if r.Rows == 1 || r.Stride <= 0 {
		return a < r.Addr+Addr(r.RowBytes) && r.Addr < a+Addr(n)
	}
	last := Bytes(a-r.Addr) + n - 1 // the last of the n bytes, relative to the first row
	if last < 0 {
		return false
	}
	row := min(last/r.Stride, Bytes(r.Rows-1)) // the last row that starts at or before it
	return row*r.Stride+r.RowBytes > Bytes(a-r.Addr)
}

// end returns the address after the last byte of the region.
func (r Region) end() Addr {
	if r.Bytes() == 0 {
		return r.Addr
	}
	return r.Addr + Addr(Bytes(r.Rows-1)*r.Stride+r.RowBytes)
}

// addr returns the address a of byte number `off` of the region. `left` is the number of
// bytes from a to the end of its row.
func (r Region) addr(off Bytes) (a Addr, left Bytes) {
	if r.Rows == 1 {
		return r.Addr + Addr(off), r.RowBytes - off
	}
	row, col := off/r.RowBytes, off%r.RowBytes
	return r.Addr + Addr(row*r.Stride+col), r.RowBytes - col
}

// Part returns the n bytes of the region from byte number `off` on as a region of its own.
// ok is false if these bytes do not form a region.
func (r Region) Part(off, n Bytes) (part Region, ok bool) {
	a, left := r.addr(off)
	if n <= left {
		return Contiguous(a, n), true
	}
	return Region{Addr: a, Rows: int64(n / r.RowBytes), RowBytes: r.RowBytes, Stride: r.Stride}, left == r.RowBytes && n%r.RowBytes == 0
}

// HBM describes an HBM slice: pseudo-channels that serve bursts.
type HBM struct {
	Channels   int
	Burst      Bytes
	BurstTime  simtime.Time // service time of one burst
	Turnaround simtime.Time // delay of a channel between a read and a write
}

// NewHBM returns the description of the HBM slices of a topology.
func NewHBM(s topology.HBM) HBM {
	return HBM{
		Channels:   s.Channels,
		Burst:      s.Burst,
		BurstTime:  s.ChannelBandwidth.Serialize(s.Burst),
		Turnaround: s.Turnaround,
	}
}

// Channel returns the number of the pseudo-channel that serves address a. It combines
// higher bits of the burst number with the lowest bits, so that strided accesses, such as
// the rows of a tile, use many channels. Each channel still gets one burst of every aligned
// sequence of Channels bursts.
func (h HBM) Channel(a Addr) int {
	n := uint64(a) / uint64(h.Burst)
	width := uint(bits.TrailingZeros(uint(h.Channels)))
	return int((n ^ n>>width ^ n>>(2*width)) % uint64(h.Channels))
}

// BurstRange is the range of a region's bytes that one burst transfers.
type BurstRange struct {
	Channel    int
	Start, End Bytes // byte numbers in the region; End is exclusive
}

// BurstAt returns the burst that transfers byte number `off` of r. A burst ends at the end
// of a row. Even if few of its bytes are needed, it takes a whole burst time. A burst that
// contains bytes of several rows is transferred once for each of these rows.
func (h HBM) BurstAt(r Region, off Bytes) BurstRange {
	a, left := r.addr(off)
	inBurst := Bytes(a) % h.Burst
	col := r.RowBytes - left
	return BurstRange{
		Channel: h.Channel(a),
		Start:   off - min(inBurst, col),
		End:     off + min(h.Burst-inBurst, left),
	}
}

// Slice is the timing state of the pseudo-channels of one HBM slice. The channels are
// parallel servers, first come, first served.
type Slice struct {
	HBM
	channels []channel
	saved    []channel // the state before the last Serve
}

// channel is the state of a pseudo-channel.
type channel struct {
	free  simtime.Time // when the channel can serve the next burst
	wrote bool         // whether the last access was a write
}

// NewSlice returns the state of an idle HBM slice with description h.
func NewSlice(h HBM) *Slice {
	state := make([]channel, 2*h.Channels)
	return &Slice{HBM: h, channels: state[:h.Channels:h.Channels], saved: state[h.Channels:]}
}

// Op is the direction of an access.
type Op bool

// The two operations of a memory.
const (
	Read  Op = false
	Write Op = true
)

// PartialAccess is a part of an access to a region: the bytes [From, To), divided into
// flits. Flit k of the part arrives at time At+k·Gap. A read requests all flits at once, so
// its Gap is 0.
type PartialAccess struct {
	Op       Op
	Region   Region
	From, To Bytes
	Flit     Bytes // size of a flit
	At, Gap  simtime.Time

	// Ends has, for each channel, the time at which the earlier parts of a write are
	// complete. Serve updates it. It may be nil if only the occupancy of the channels
	// matters.
	Ends []simtime.Time
}

// Serve serves a part of an access and returns the time at which the part is complete,
// which is at least part.At. If visit is not nil, Serve calls it for each flit k with the
// time at which flits 0 to k are complete. A burst is read for the flit that contains its
// first byte. It is written when the flit with its last byte has arrived.
//
// A write may arrive more slowly than the channels could serve it. Such a write occupies
// each channel only for the burst times, from part.At on, and leaves the channels free for
// the rest of the time.
func (s *Slice) Serve(part PartialAccess, visit func(k int64, done simtime.Time)) simtime.Time {
	copy(s.saved, s.channels)
	done, arrived := part.At, part.At
	off, from := part.From, part.From
	if part.Op == Read && off < part.To {
		if b := s.BurstAt(part.Region, off); b.Start < off {
			off = b.End // the burst was read for the previous flit
		}
	}
	for k := int64(0); from < part.To; k++ {
		from = min(from+part.Flit, part.To)
		for off < from {
			b := s.BurstAt(part.Region, off)
			if part.Op == Write && b.End > from {
				break
			}
			c := &s.channels[b.Channel]
			takes := s.BurstTime
			if c.wrote != bool(part.Op) && c.free > 0 { // no turnaround before the first access
				takes += s.Turnaround
			}
			c.wrote = bool(part.Op)
			c.free = max(c.free, part.At) + takes
			done = max(done, c.free)
			if part.Ends != nil {
				end := &part.Ends[b.Channel]
				*end = max(c.free, max(*end, arrived)+takes)
				done = max(done, *end)
			}
			off = b.End
		}
		if visit != nil {
			visit(k, done)
		}
		arrived += part.Gap
	}
	return done
}

// Undo restores the state of the channels before the last Serve.
func (s *Slice) Undo() { copy(s.channels, s.saved) }

// Occupy keeps all channels busy from time a on, each for its share of n bytes, which are
// spread evenly over the channels.
func (s *Slice) Occupy(a simtime.Time, n Bytes) {
	round := Bytes(s.Channels) * s.Burst
	each := simtime.Time((n + round - 1) / round)
	for i := range s.channels {
		c := &s.channels[i]
		c.free = max(c.free, a) + each*s.BurstTime
	}
}
