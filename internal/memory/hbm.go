package memory

import (
	"math/bits"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Region is a two-dimensional access to one memory: Rows runs of RowBytes, each
// Stride after the one before. Its bytes are numbered from 0 in row order, as
// they travel.
type Region struct {
	Addr     Addr
	Rows     int64
	RowBytes Bytes
	Stride   Bytes
}

// Contiguous is the region of n bytes from addr on.
func Contiguous(addr Addr, n Bytes) Region {
	return Region{Addr: addr, Rows: 1, RowBytes: n, Stride: n}
}

// Bytes is how much the region holds.
func (r Region) Bytes() Bytes { return Bytes(r.Rows) * r.RowBytes }

// Overlaps reports whether the two regions have an address in common: tiles side
// by side in one matrix have not. It costs the rows of the shorter one if their
// strides differ.
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
	col := Bytes(s.Addr-r.Addr) % r.Stride // of s's first byte, in a row of r
	return col < r.RowBytes || col+s.RowBytes > r.Stride
}

// touches reports whether a row of the region has an address in common with n bytes
// from a on.
func (r Region) touches(a Addr, n Bytes) bool {
	if r.Rows == 1 || r.Stride <= 0 {
		return a < r.Addr+Addr(r.RowBytes) && r.Addr < a+Addr(n)
	}
	last := Bytes(a-r.Addr) + n - 1 // in bytes from the first row
	if last < 0 {
		return false
	}
	row := min(last/r.Stride, Bytes(r.Rows-1)) // the last that begins by then
	return row*r.Stride+r.RowBytes > Bytes(a-r.Addr)
}

func (r Region) end() Addr {
	if r.Bytes() == 0 {
		return r.Addr
	}
	return r.Addr + Addr(Bytes(r.Rows-1)*r.Stride+r.RowBytes)
}

// addr is where byte off of the region lies, and how many bytes of its row are
// left from there.
func (r Region) addr(off Bytes) (a Addr, left Bytes) {
	if r.Rows == 1 {
		return r.Addr + Addr(off), r.RowBytes - off
	}
	row, col := off/r.RowBytes, off%r.RowBytes
	return r.Addr + Addr(row*r.Stride+col), r.RowBytes - col
}

// Part returns bytes off to off+n of the region. ok is false if they are not a region.
func (r Region) Part(off, n Bytes) (part Region, ok bool) {
	a, left := r.addr(off)
	if n <= left {
		return Contiguous(a, n), true
	}
	return Region{Addr: a, Rows: int64(n / r.RowBytes), RowBytes: r.RowBytes, Stride: r.Stride}, left == r.RowBytes && n%r.RowBytes == 0
}

// HBM is how an HBM slice is built: pseudo-channels that serve bursts.
type HBM struct {
	Channels   int
	Burst      Bytes
	BurstTime  simtime.Time // of one burst on its channel
	Turnaround simtime.Time // of a channel between a read and a write
}

// NewHBM reads the numbers off a topology.
func NewHBM(s topology.HBM) HBM {
	return HBM{
		Channels:   s.Channels,
		Burst:      s.Burst,
		BurstTime:  s.ChannelBandwidth.Serialize(s.Burst),
		Turnaround: s.Turnaround,
	}
}

// Channel is the pseudo-channel of an address. Folding higher bits of the burst's
// number over the lowest spreads strided accesses, such as the rows of a tile,
// and still gives every aligned run of as many bursts as there are channels one
// burst each.
func (h HBM) Channel(a Addr) int {
	n := uint64(a) / uint64(h.Burst)
	width := uint(bits.TrailingZeros(uint(h.Channels)))
	return int((n ^ n>>width ^ n>>(2*width)) % uint64(h.Channels))
}

// Piece is the part of a region that one burst moves.
type Piece struct {
	Channel    int
	Start, End Bytes // numbers of its first byte in the region, and behind its last
}

// Piece is the part of r that byte off is in: what is left of its row, cut at the
// boundaries of bursts. A burst costs its whole time however little of it is
// wanted, and again in each row that touches it.
func (h HBM) Piece(r Region, off Bytes) Piece {
	a, left := r.addr(off)
	inBurst := Bytes(a) % h.Burst
	col := r.RowBytes - left
	return Piece{
		Channel: h.Channel(a),
		Start:   off - min(inBurst, col),
		End:     off + min(h.Burst-inBurst, left),
	}
}

// Slice is the timing state of the pseudo-channels of one HBM slice: when each is
// free. They are parallel servers, first come, first served.
type Slice struct {
	HBM
	channels []channel
	saved    []channel
}

type channel struct {
	free  simtime.Time
	wrote bool
}

// NewSlice returns an idle slice.
func NewSlice(h HBM) *Slice {
	state := make([]channel, 2*h.Channels)
	return &Slice{HBM: h, channels: state[:h.Channels:h.Channels], saved: state[h.Channels:]}
}

// Op says which way data goes.
type Op bool

// The two operations of a memory.
const (
	Read  Op = false
	Write Op = true
)

// Stream is a part of an access on its way through the channels: bytes [From, To)
// of a region in flits, of which number k arrives at At+k·Gap. A read asks for all
// of them at once: Gap is 0.
type Stream struct {
	Op       Op
	Region   Region
	From, To Bytes
	Flit     Bytes
	At, Gap  simtime.Time

	// Ends is when each channel has written what came before of a write, and is
	// brought up to date. It may be nil if only the channels' time matters.
	Ends []simtime.Time
}

// Serve takes a stream through the channels and calls visit, which may be nil,
// with the instant when flit k is through, all before it included. A burst is read
// for the flit its first byte is in, and written when the flit of its last byte
// has come. It returns the instant when all is through, which is at least At.
//
// A write that comes more slowly than the channels could take it leaves them free
// in between: it occupies each for its bursts' own time, from At on.
func (s *Slice) Serve(st Stream, visit func(k int64, done simtime.Time)) simtime.Time {
	copy(s.saved, s.channels)
	done, arrived := st.At, st.At
	off, from := st.From, st.From
	if st.Op == Read && off < st.To {
		if p := s.Piece(st.Region, off); p.Start < off {
			off = p.End // read with the flit before
		}
	}
	for k := int64(0); from < st.To; k++ {
		from = min(from+st.Flit, st.To)
		for off < from {
			p := s.Piece(st.Region, off)
			if st.Op == Write && p.End > from {
				break
			}
			c := &s.channels[p.Channel]
			takes := s.BurstTime
			if c.wrote != bool(st.Op) && c.free > 0 { // the first access has nothing to turn round from
				takes += s.Turnaround
			}
			c.wrote = bool(st.Op)
			c.free = max(c.free, st.At) + takes
			done = max(done, c.free)
			if st.Ends != nil {
				end := &st.Ends[p.Channel]
				*end = max(c.free, max(*end, arrived)+takes)
				done = max(done, *end)
			}
			off = p.End
		}
		if visit != nil {
			visit(k, done)
		}
		arrived += st.Gap
	}
	return done
}

// Undo takes back the last Serve.
func (s *Slice) Undo() { copy(s.channels, s.saved) }

// Occupy keeps the channels busy with n bytes, spread evenly, from a on.
func (s *Slice) Occupy(a simtime.Time, n Bytes) {
	round := Bytes(s.Channels) * s.Burst
	each := simtime.Time((n + round - 1) / round)
	for i := range s.channels {
		c := &s.channels[i]
		c.free = max(c.free, a) + each*s.BurstTime
	}
}
