package memory

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/simtime"
)

// referenceSlice computes the times of a Slice from the definition: flit by flit, burst by
// burst, with the position and the channel of each burst computed anew. Only the groups that
// a Reader receives together are skipped.
type referenceSlice struct {
	HBM
	channels []referenceChannel
}

// referenceChannel is the state of a pseudo-channel of a referenceSlice.
type referenceChannel struct {
	free  simtime.Time
	wrote bool
}

// serve serves a part as Serve does.
func (s *referenceSlice) serve(part PartialAccess, to Reader) simtime.Time {
	done, arrived := part.At, part.At
	off, from := part.From, part.From
	if part.Op == Read && off < part.To {
		if b := s.BurstAt(part.Region, off); b.Start < off {
			off = b.End // the burst was read for the previous flit
		}
	}
	group := Bytes(s.Channels) * s.Burst
	skipAt := part.From + explicitGroups*group
	for from < part.To {
		if from >= skipAt {
			if n := s.groupsToSkip(&part, off, from); n > 0 {
				flits := int64(group / part.Flit)
				arrived += simtime.Time(n*flits) * part.Gap
				s.skip(&part, n, off, from, arrived)
				if to != nil {
					to.Groups(n, flits, s.BurstTime)
				}
				done += simtime.Time(n) * s.BurstTime
				off, from = off+Bytes(n)*group, from+Bytes(n)*group
				for _, end := range part.Ends {
					done = max(done, end)
				}
			}
			skipAt = from + group
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

// groupsToSkip returns how many groups serve computes together, from byte `off` of the region
// on, when the flits up to byte `from` have been served.
func (s *referenceSlice) groupsToSkip(part *PartialAccess, off, from Bytes) int64 {
	group := Bytes(s.Channels) * s.Burst
	if off >= part.To || group%part.Flit != 0 {
		return 0
	}
	a, left := part.Region.addr(off)
	if Bytes(a)%group != 0 {
		return 0
	}
	return max(0, int64(min(left, part.To-max(off, from))/group)-explicitGroups)
}

// skip serves n groups of the part from byte `off` on. The flit that begins n groups after
// byte `from` arrives at the time `arrived`.
func (s *referenceSlice) skip(part *PartialAccess, n int64, off, from Bytes, arrived simtime.Time) {
	all, group := simtime.Time(n)*s.BurstTime, Bytes(s.Channels)*s.Burst
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
	next := from + Bytes(n)*group
	for k := range Bytes(s.Channels) {
		b := s.BurstAt(part.Region, off+Bytes(n-1)*group+k*s.Burst)
		at := arrived - simtime.Time((next-b.End)/part.Flit+1)*part.Gap
		end := &part.Ends[b.Channel]
		*end = max(s.channels[b.Channel].free, *end+all, at+s.BurstTime)
	}
}

// serveBurst serves a burst of the part, which arrives at the time `arrived`, on channel i.
func (s *referenceSlice) serveBurst(part *PartialAccess, i int, arrived simtime.Time) simtime.Time {
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
func (s *referenceSlice) turn(c *referenceChannel, op Op) simtime.Time {
	if c.wrote != bool(op) && c.free > 0 {
		return s.Turnaround
	}
	return 0
}

// cut reduces the access `whole` to its first part `kept` as Cut does.
func (s *referenceSlice) cut(whole, kept PartialAccess, now simtime.Time) simtime.Time {
	if whole.Slow {
		return s.serve(kept, nil)
	}
	saved := slices.Clone(s.channels)
	s.release(whole)
	done := s.serve(kept, nil)
	copy(s.channels, saved)
	whole.From = kept.To
	s.release(whole)
	for i := range s.channels {
		c := &s.channels[i]
		c.free = max(c.free, min(now, saved[i].free))
	}
	return done
}

// release reduces the time for which the channels are occupied by the bursts of the part.
func (s *referenceSlice) release(part PartialAccess) {
	for off := part.From; off < part.To; {
		b := s.BurstAt(part.Region, off)
		s.channels[b.Channel].free -= s.BurstTime
		off = b.End
	}
}

// calls is a Reader that records the times of flits, and calls of Groups that are not
// equivalent to calls of Flit.
type calls []string

func (c *calls) Flit(done simtime.Time) { *c = append(*c, fmt.Sprintf("flit %d", done)) }

func (c *calls) Groups(n, flits int64, period simtime.Time) {
	if period > 0 {
		*c = append(*c, fmt.Sprintf("%d groups of %d flits each %d", n, flits, period))
		return
	}
	for range n * flits {
		*c = append(*c, (*c)[len(*c)-1])
	}
}

// TestServeReference checks that a sequence of random accesses to a Slice, some of which are
// cut, has the times of the definition to the last digit.
func TestServeReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := HBM{
			Channels:   1 << rapid.IntRange(0, 6).Draw(t, "log channels"),
			Burst:      1 << rapid.IntRange(4, 10).Draw(t, "log burst"),
			BurstTime:  simtime.Time(rapid.SampledFrom([]int{8, 8, 1}).Draw(t, "burst time")),
			Turnaround: simtime.Time(rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "turnaround")),
		}
		group := int64(h.Channels) * int64(h.Burst)
		s, ref := NewSlice(h), &referenceSlice{h, make([]referenceChannel, h.Channels)}
		var at simtime.Time
		for range rapid.IntRange(1, 8).Draw(t, "accesses") {
			part := drawPart(t, h, group)
			if at = max(0, at+simtime.Time(rapid.IntRange(-20, 60).Draw(t, "later"))); part.Op == Write {
				part.LastAt = simtime.Time(rapid.IntRange(0, 1000).Draw(t, "last"))
			}
			part.At, part.LastAt = at, at+part.LastAt
			same, ends := part, slices.Clone(part.Ends)
			same.Ends = slices.Clone(part.Ends)
			var got, want calls
			var readers [2]Reader
			if part.Op == Read && rapid.Bool().Draw(t, "reader") {
				readers = [2]Reader{&got, &want}
			}
			done, wantDone := s.Serve(part, readers[0]), ref.serve(same, readers[1])
			check := func(does string) {
				t.Helper()
				if done != wantDone || !slices.Equal(part.Ends, same.Ends) {
					t.Fatalf("%s %+v: complete at %v with %v, want %v with %v", does, part, done, part.Ends, wantDone, same.Ends)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s %+v: %v, want %v", does, part, got, want)
				}
				for i, c := range ref.channels {
					if s.channels[i].free != c.free {
						t.Fatalf("%s %+v: channel %d is free at %v, want %v", does, part, i, s.channels[i].free, c.free)
					}
				}
			}
			check("serve")
			if flits := int64((part.To - part.From - 1) / part.Flit); flits > 0 && rapid.IntRange(0, 2).Draw(t, "cut") == 0 {
				kept := part
				kept.To = part.From + Bytes(rapid.Int64Range(1, flits).Draw(t, "kept"))*part.Flit
				kept.LastAt = at + simtime.Time((kept.To-part.From)/part.Flit-1)*part.Gap
				copy(part.Ends, ends)
				copy(same.Ends, ends)
				now := max(0, at+simtime.Time(rapid.IntRange(0, 100).Draw(t, "now")))
				refKept := kept
				refKept.Ends = same.Ends
				whole := part
				whole.Ends = nil
				done, wantDone = s.Cut(whole, kept, now), ref.cut(whole, refKept, now)
				check("cut")
			}
		}
	})
}

// drawPart returns a random part of an access to a region with rows of up to a few groups.
func drawPart(t *rapid.T, h HBM, group int64) PartialAccess {
	align := rapid.SampledFrom([]int64{1, int64(h.Burst), group / 2, group}).Draw(t, "align")
	align = max(1, align)
	up := func(n int64) int64 { return (n + align - 1) / align * align }
	r := Region{
		Addr:     Addr(up(rapid.Int64Range(0, 1<<20).Draw(t, "addr"))),
		Rows:     rapid.SampledFrom([]int64{1, 1, 2, 3, 8}).Draw(t, "rows"),
		RowBytes: Bytes(up(rapid.Int64Range(1, rapid.SampledFrom([]int64{int64(h.Burst), group, 12 * group}).Draw(t, "most")).Draw(t, "row bytes"))),
	}
	r.Stride = r.RowBytes + Bytes(up(rapid.Int64Range(0, 2*group).Draw(t, "pad")))
	part := PartialAccess{Op: Op(rapid.Bool().Draw(t, "write")), Region: r, Flit: 1 << rapid.IntRange(4, 11).Draw(t, "log flit")}
	if most := int64(256 * min(h.Burst, part.Flit)); int64(r.Bytes()) > most && r.Rows > 1 { // few bursts and flits
		part.Region.Rows = max(1, most/int64(r.RowBytes))
	}
	n := int64((part.Region.Bytes() + part.Flit - 1) / part.Flit)
	first := rapid.Int64Range(0, n-1).Draw(t, "first flit")
	if rapid.Bool().Draw(t, "from the start") {
		first = 0
	}
	part.From = Bytes(first) * part.Flit
	part.To = part.Region.Bytes()
	if rapid.Bool().Draw(t, "not to the end") {
		part.To = min(part.To, part.From+Bytes(rapid.Int64Range(1, n-first).Draw(t, "flits"))*part.Flit)
	}
	if part.Op == Write {
		part.Gap = simtime.Time(rapid.IntRange(0, 5).Draw(t, "gap"))
		if part.Slow = rapid.IntRange(0, 3).Draw(t, "slow") == 0; part.Slow || rapid.Bool().Draw(t, "ends") {
			part.Ends = make([]simtime.Time, h.Channels)
			for i := range part.Ends {
				part.Ends[i] = simtime.Time(rapid.IntRange(0, 40).Draw(t, "end"))
			}
		}
	}
	return part
}
