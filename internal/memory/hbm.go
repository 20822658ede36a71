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
	saved    []channel // the state before Cut
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
// flits. Flit k of a write arrives at time At+k·Gap, the last flit at LastAt. A read
// requests all flits at the time At.
type PartialAccess struct {
	Op       Op
	Region   Region
	From, To Bytes
	Flit     Bytes // size of a flit
	At, Gap  simtime.Time
	LastAt   simtime.Time

	// Slow is set for a write that arrives so slowly that other accesses can use the channels
	// in between. It occupies no channel.
	Slow bool

	// Ends has, for each channel, the time at which the earlier parts of a write are
	// complete. Serve updates it. It may be nil if only the occupancy of the channels
	// matters.
	Ends []simtime.Time
}

// Reader receives the times at which the flits of a read are complete, in order.
type Reader interface {
	// Flit receives the next flit, which is complete at the time `done`.
	Flit(done simtime.Time)
	// Groups receives n groups of flits. A group is complete one period after the previous
	// group; the group before the first one ended with the last call of Flit.
	Groups(n, flits int64, period simtime.Time)
}

// Serve serves a part of an access and returns the time at which the part is complete,
// which is at least part.At. The Reader `to` may be nil; if it is not, it receives the
// flits of a read. A burst is read for the flit that contains its first byte. It is written
// when the flit with its last byte has arrived.
//
// A write may arrive more slowly than the channels could serve it. Unless it is Slow, such a
// write occupies each channel only for the burst times, from part.At on, and leaves the
// channels free for the rest of the time.
//
// The cost of a contiguous access does not depend on its size: Serve computes the first and
// the last bursts one by one, and the groups in between together.
func (s *Slice) Serve(part PartialAccess, to Reader) simtime.Time {
	if s.takesNoTime(&part) {
		return s.serveAtOnce(&part, to)
	}
	return s.serveBursts(part, to)
}

// serveBursts implements Serve for all parts.
func (s *Slice) serveBursts(part PartialAccess, to Reader) simtime.Time {
	done, arrived := part.At, part.At
	off, from := part.From, part.From
	if part.Op == Read && off < part.To {
		if b := s.BurstAt(part.Region, off); b.Start < off {
			off = b.End // the burst was read for the previous flit
		}
	}
	skipAt := part.From + explicitGroups*s.group() // no groups are skipped before this byte
	for from < part.To {
		if from >= skipAt {
			if n := s.groupsToSkip(&part, off, from); n > 0 {
				flits := int64(s.group() / part.Flit)
				arrived += simtime.Time(n*flits) * part.Gap
				s.skip(&part, n, off, from, arrived)
				if to != nil {
					to.Groups(n, flits, s.BurstTime)
				}
				done += simtime.Time(n) * s.BurstTime
				off, from = off+Bytes(n)*s.group(), from+Bytes(n)*s.group()
				for _, end := range part.Ends {
					done = max(done, end)
				}
			}
			skipAt = from + s.group()
		}
		if from = min(from+part.Flit, part.To); from == part.To {
			arrived = max(part.At, part.LastAt)
		}
		for off < from {
			b := s.BurstAt(part.Region, off)
			if part.Op == Write && b.End > from {
				break
			}
			done = max(done, s.serveBurst(&part, b.Channel, arrived))
			off = b.End
		}
		if to != nil {
			to.Flit(done)
		}
		arrived += part.Gap
	}
	return done
}

// takesNoTime reports whether serveAtOnce can serve the part: bursts take no time, the part
// uses all channels, ends with a whole burst, and need not wait for a channel.
func (s *Slice) takesNoTime(part *PartialAccess) bool {
	if s.BurstTime > 0 || s.Turnaround > 0 || part.Region.Rows != 1 || part.To-part.From < 2*s.group() || part.To != part.Region.RowBytes {
		return false
	}
	for i := range s.channels {
		if s.channels[i].free > part.At {
			return false
		}
	}
	return true
}

// serveAtOnce serves a part for which takesNoTime is true. Every flit is complete when it
// arrives.
func (s *Slice) serveAtOnce(part *PartialAccess, to Reader) simtime.Time {
	done := part.At
	if part.Op == Write {
		done = max(done, part.LastAt)
	}
	for i := range s.channels {
		c := &s.channels[i]
		if c.wrote = bool(part.Op); !part.Slow {
			c.free = part.At
		}
	}
	for i, end := range part.Ends {
		done = max(done, end)
		part.Ends[i] = done
	}
	if to != nil {
		to.Flit(done)
		to.Groups(int64((part.To-part.From+part.Flit-1)/part.Flit)-1, 1, 0)
	}
	return done
}

// explicitGroups is the number of groups at the start and at the end of a contiguous access
// that Serve computes burst by burst.
const explicitGroups = 2

// group returns the number of bytes of one burst on each channel.
func (s *Slice) group() Bytes { return Bytes(s.Channels) * s.Burst }

// groupsToSkip returns how many groups Serve can compute together, from byte `off` of the
// region on. The flits up to byte `from` have been served before. The result is 0 if `off` is
// not the start of a group, if the row or the part ends soon, or if groups do not consist of
// whole flits.
func (s *Slice) groupsToSkip(part *PartialAccess, off, from Bytes) int64 {
	group := s.group()
	if off >= part.To || group%part.Flit != 0 {
		return 0
	}
	a, left := part.Region.addr(off)
	if Bytes(a)%group != 0 {
		return 0
	}
	return max(0, int64(min(left, part.To-max(off, from))/group)-explicitGroups)
}

// skip serves n groups of the part, from byte `off` on. The flits up to byte `from` have been
// served before. `arrived` is the arrival of the flit that begins n groups after byte `from`.
func (s *Slice) skip(part *PartialAccess, n int64, off, from Bytes, arrived simtime.Time) {
	all := simtime.Time(n) * s.BurstTime
	for i := range s.channels {
		if part.Slow {
			break
		}
		c := &s.channels[i]
		c.free = max(c.free, part.At) + all + s.turn(c, part.Op)
		c.wrote = bool(part.Op)
	}
	if part.Ends == nil {
		return
	}
	// The last burst of a channel ends after the earlier ones and after its own arrival.
	next := from + Bytes(n)*s.group()
	for k := range Bytes(s.Channels) {
		b := s.BurstAt(part.Region, off+Bytes(n-1)*s.group()+k*s.Burst)
		at := arrived - simtime.Time((next-b.End)/part.Flit+1)*part.Gap
		end := &part.Ends[b.Channel]
		*end = max(s.channels[b.Channel].free, *end+all, at+s.BurstTime)
	}
}

// serveBurst serves one burst of the part on channel number i and returns when it is
// complete. `arrived` is the arrival of its flit.
func (s *Slice) serveBurst(part *PartialAccess, i int, arrived simtime.Time) simtime.Time {
	c := &s.channels[i]
	takes := s.BurstTime + s.turn(c, part.Op)
	c.wrote = bool(part.Op)
	if part.Slow {
		end := &part.Ends[i]
		*end = max(*end, arrived, c.free) + takes
		return *end
	}
	c.free = max(c.free, part.At) + takes
	if part.Ends == nil {
		return c.free
	}
	end := &part.Ends[i]
	*end = max(c.free, max(*end, arrived)+takes)
	return *end
}

// turn returns the delay of channel c before an access in the direction op.
func (s *Slice) turn(c *channel, op Op) simtime.Time {
	if c.wrote != bool(op) && c.free > 0 { // no turnaround before the first access
		return s.Turnaround
	}
	return 0
}

// Occupy keeps every channel busy for another time t.
func (s *Slice) Occupy(t simtime.Time) {
	for i := range s.channels {
		s.channels[i].free += t
	}
}

// Cut reduces the access `whole`, which Serve has served, to its first part `kept`. It
// returns the time at which `kept` is complete. The channels become free earlier by the
// bursts of the rest, but a channel that is busy now not before the time `now`.
func (s *Slice) Cut(whole, kept PartialAccess, now simtime.Time) simtime.Time {
	if whole.Slow {
		return s.Serve(kept, nil)
	}
	copy(s.saved, s.channels)
	s.release(whole)
	done := s.Serve(kept, nil)
	copy(s.channels, s.saved)
	whole.From = kept.To
	s.release(whole)
	for i := range s.channels {
		c := &s.channels[i]
		c.free = max(c.free, min(now, s.saved[i].free))
	}
	return done
}

// release reduces the time for which the channels are occupied by the bursts of the part.
func (s *Slice) release(part PartialAccess) {
	for off := part.From; off < part.To; {
		if n := s.groupsToSkip(&part, off, off); n > 0 {
			for i := range s.channels {
				s.channels[i].free -= simtime.Time(n) * s.BurstTime
			}
			off += Bytes(n) * s.group()
			continue
		}
		b := s.BurstAt(part.Region, off)
		s.channels[b.Channel].free -= s.BurstTime
		off = b.End
	}
}
