package memory

import (
	"math/bits"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// HBM describes an HBM slice: pseudo-channels that serve bursts. Channels, which is at most
// 64, and Burst are powers of two.
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
func (h HBM) Channel(a Addr) int { return int(h.hash().channel(a)) }

// hash computes the channels of addresses.
type hash struct {
	inBurst      Addr  // the bits of an address that number the bytes of a burst
	burst, width uint8 // base-2 logarithms of Burst and Channels
}

// hash returns the hash of h.
func (h *HBM) hash() hash {
	return hash{
		inBurst: Addr(h.Burst - 1),
		burst:   uint8(bits.TrailingZeros64(uint64(h.Burst))),
		width:   uint8(bits.TrailingZeros64(uint64(h.Channels))),
	}
}

// channel returns the number of the channel that serves address a.
func (h hash) channel(a Addr) uint64 {
	n := uint64(a) >> (h.burst & 63)
	return (n ^ n>>(h.width&63) ^ n>>(2*h.width&63)) & (1<<(h.width&63) - 1)
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

// fewChannels is the number of channels whose state is kept within a Slice.
const fewChannels = 8

// maxChannels is the largest number of channels of a slice.
const maxChannels = 64

// Slice is the timing state of the pseudo-channels of one HBM slice. The channels are
// parallel servers, first come, first served. A machine has many slices, and each is seldom
// used: the state of a slice with few channels takes two cache lines.
type Slice struct {
	HBM
	wrote    uint64 // one bit for each channel: whether its last access was a write
	channels []channel
	few      [fewChannels]channel
}

// channel is the state of a pseudo-channel.
type channel struct {
	free simtime.Time // when the channel can serve the next burst
}

// NewSlice returns the state of an idle HBM slice with description h.
func NewSlice(h HBM) *Slice {
	s := &Slice{HBM: h}
	if h.Channels > fewChannels {
		s.channels = make([]channel, h.Channels)
	} else {
		s.channels = s.few[:h.Channels]
	}
	return s
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
// The cost of a contiguous access that starts at a group does not depend on its size: Serve
// computes the first and the last bursts one by one, and the groups in between together.
// Of a read without a Reader, it computes all whole groups of a row together.
func (s *Slice) Serve(part PartialAccess, to Reader) simtime.Time {
	if s.takesNoTime(&part) {
		return s.serveAtOnce(&part, to)
	}
	return s.serveBursts(part, to)
}

// service is the progress of a part that is served burst by burst.
type service struct {
	part *PartialAccess
	hash hash
	next cursor       // first byte of the next burst
	from Bytes        // the flits up to this byte have been served
	done simtime.Time // when these flits are complete
	turn uint64       // one bit for each channel: whether its next burst needs a turnaround
}

// serveBursts implements Serve for all parts.
func (s *Slice) serveBursts(part PartialAccess, to Reader) simtime.Time {
	if part.From >= part.To {
		return part.At
	}
	v := service{part: &part, hash: s.hash(), next: part.Region.cursor(part.From), from: part.From, done: part.At}
	if s.Turnaround > 0 {
		if v.turn = s.wrote; part.Op == Write {
			v.turn = ^s.wrote
		}
	}
	if part.Op == Read && v.next.addr&v.hash.inBurst != 0 && v.next.addr+Addr(part.Region.RowBytes) > v.next.rowEnd {
		v.next.step(&part.Region, v.hash) // the burst was read for the previous flit
	}
	group := s.group()
	check := part.From + explicitGroups*group // no groups are skipped before this byte
	for v.from < part.To {
		stop := part.To
		if (to != nil || part.Op == Write) && min(part.To-check, part.Region.RowBytes) >= (explicitGroups+1)*group && group%part.Flit == 0 {
			stop = check
		}
		if part.Op == Read {
			s.read(&v, to, stop)
		} else {
			s.write(&v, stop)
		}
		if stop == part.To {
			break
		}
		check = stop + group
		if n := s.wholeGroups(v.next, part.To-max(v.next.off, stop)) - explicitGroups; n > 0 {
			s.skip(&v, to, n)
			check += Bytes(n) * group
		}
	}
	if s.wrote = v.turn; part.Op == Write {
		s.wrote = ^v.turn
	}
	return v.done
}

// read serves the flits of a read up to byte `stop`.
func (s *Slice) read(v *service, to Reader, stop Bytes) {
	part, next, h, done := v.part, v.next, v.hash, v.done
	for next.off < stop {
		if to == nil {
			if n := s.wholeGroups(next, stop-next.off); n > 0 {
				done = max(done, s.occupy(v, n))
				next.skip(&part.Region, Bytes(n)*s.group())
				continue
			}
		}
		i := h.channel(next.addr)
		free := max(s.channels[i].free, part.At) + v.takes(s, i)
		s.channels[i].free = free
		if free > done {
			v.flits(to, next.off, done)
			done = free
		}
		next.step(&part.Region, h)
	}
	v.next, v.done = next, done
	v.flits(to, stop+part.Flit-1, done)
	v.from = stop
}

// write serves the bursts of a write that end before byte `stop` or at it.
func (s *Slice) write(v *service, stop Bytes) {
	part, h := v.part, v.hash
	arrived := part.At + simtime.Time((v.from-part.From)/part.Flit)*part.Gap - part.Gap
	for next := v.next; next.off < stop; v.next = next {
		i := h.channel(next.addr)
		next.step(&part.Region, h)
		if next.off > stop {
			break
		}
		for v.from < next.off {
			v.from += part.Flit
			arrived += part.Gap
		}
		if v.from >= part.To {
			arrived = max(part.At, part.LastAt)
		}
		c, takes := &s.channels[i], v.takes(s, i)
		if !part.Slow {
			c.free = max(c.free, part.At) + takes
		}
		end := c.free
		switch {
		case part.Slow:
			end = max(part.Ends[i], arrived, c.free) + takes
			part.Ends[i] = end
		case part.Ends != nil:
			end = max(c.free, max(part.Ends[i], arrived)+takes)
			part.Ends[i] = end
		}
		v.done = max(v.done, end)
	}
	v.from = stop
}

// takes returns the time that the next burst on channel number i of s takes.
func (v *service) takes(s *Slice, i uint64) simtime.Time {
	if v.turn>>i&1 == 0 {
		return s.BurstTime
	}
	v.turn &^= 1 << i
	if s.channels[i].free <= 0 { // no turnaround before the first access
		return s.BurstTime
	}
	return s.BurstTime + s.Turnaround
}

// flits sends the flits up to byte `end`, which are complete at the time `done`, to the
// Reader.
func (v *service) flits(to Reader, end Bytes, done simtime.Time) {
	if to == nil || end-v.from < v.part.Flit {
		return
	}
	n := int64((end - v.from) / v.part.Flit)
	v.from += Bytes(n) * v.part.Flit
	if to.Flit(done); n == 1 {
		return
	}
	if n > 2 {
		to.Groups(n-2, 1, 0)
	}
	to.Flit(done)
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
	if !part.Slow {
		for i := range s.channels {
			s.channels[i].free = part.At
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

// wholeGroups returns how many whole groups follow position c within the row and within the
// next n bytes. The result is 0 if c is not the start of a group.
func (s *Slice) wholeGroups(c cursor, n Bytes) int64 {
	group := s.group()
	if Bytes(c.addr)&(group-1) != 0 {
		return 0
	}
	return int64(min(Bytes(c.rowEnd-c.addr), n) >> bits.TrailingZeros64(uint64(group)))
}

// skip serves the next n groups of the part together.
func (s *Slice) skip(v *service, to Reader, n int64) {
	part, bytes, all := v.part, Bytes(n)*s.group(), simtime.Time(n)*s.BurstTime
	if !part.Slow {
		s.occupy(v, n)
	}
	if to != nil {
		to.Groups(n, int64(s.group()/part.Flit), s.BurstTime)
	}
	v.done += all
	v.from += bytes
	v.next.skip(&part.Region, bytes)
	if part.Ends == nil {
		return
	}
	// The last burst of a channel ends after the earlier ones and after its own arrival.
	for k := range Bytes(s.Channels) {
		b := s.BurstAt(part.Region, v.next.off-s.group()+k*s.Burst)
		arrived := part.At + simtime.Time((v.from-part.From)/part.Flit-(v.from-b.End)/part.Flit-1)*part.Gap
		end := &part.Ends[b.Channel]
		*end = max(s.channels[b.Channel].free, *end+all, arrived+s.BurstTime)
		v.done = max(v.done, *end)
	}
}

// occupy adds n bursts of the part to each channel. It returns when all channels are free.
func (s *Slice) occupy(v *service, n int64) (free simtime.Time) {
	more := simtime.Time(n-1) * s.BurstTime
	for i := range s.channels {
		c, takes := &s.channels[i], v.takes(s, uint64(i))
		c.free = max(c.free, v.part.At) + takes + more
		free = max(free, c.free)
	}
	return free
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
	var saved [maxChannels]channel
	wrote := s.wrote
	copy(saved[:], s.channels)
	s.release(&whole)
	done := s.Serve(kept, nil)
	copy(s.channels, saved[:])
	s.wrote = wrote
	whole.From = kept.To
	s.release(&whole)
	for i := range s.channels {
		c := &s.channels[i]
		c.free = max(c.free, min(now, saved[i].free))
	}
	return done
}

// release reduces the time for which the channels are occupied by the bursts of the part.
func (s *Slice) release(part *PartialAccess) {
	h := s.hash()
	for next := part.Region.cursor(part.From); next.off < part.To; {
		if n := s.wholeGroups(next, part.To-next.off); n > 0 {
			s.Occupy(-simtime.Time(n) * s.BurstTime)
			next.skip(&part.Region, Bytes(n)*s.group())
			continue
		}
		s.channels[h.channel(next.addr)].free -= s.BurstTime
		next.step(&part.Region, h)
	}
}
