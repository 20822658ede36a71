package pe

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// copyServer serves copies within the TCM, such as out of a queue slot, one after another.
// A copy takes one pass through the slower port of the TCM.
//
// The fragments of a large message arrive over a long time, and their copies are computed
// ahead, as a stream. Streams of several queues overlap. While they do, the server counts
// the work that they bring as a rate.
type copyServer struct {
	sim.Server
	overhead  simtime.Time
	bandwidth topology.BytesPerSec
	rate      int64        // work that the open streams bring, in units of 1/fullRate of the time
	since     simtime.Time // the time up to which the work of these streams is included in free
}

// fullRate is the rate of streams that keep a copyServer busy all the time.
const fullRate = 1 << 20

// time returns how long a copy of n bytes takes.
func (s *copyServer) time(n memory.Bytes) simtime.Time {
	return s.overhead + s.bandwidth.Serialize(n)
}

// freeAt returns when the server has done all work that is asked for until the time `at`.
func (s *copyServer) freeAt(at simtime.Time) simtime.Time {
	if s.rate == 0 || at <= s.since {
		return s.Free()
	}
	return max(s.Free(), s.since) + simtime.MulDiv(uint64(at-s.since), uint64(s.rate), fullRate)
}

// advance adds the work that streams bring until the time `at`.
func (s *copyServer) advance(at simtime.Time) {
	if s.rate != 0 {
		if free := s.freeAt(at); free > at {
			s.Hold(free)
		}
	}
	s.since = max(s.since, at)
}

// CopyStream is a sequence of copies within a TCM, of fragments of equal size that arrive at
// equal distances.
type CopyStream struct {
	Open bool // the stream has begun and not ended
	rate int64
	each simtime.Time // time of one copy
	end  simtime.Time // of the latest copy
}

// CopyLocal copies n bytes within the TCM, from the time `at` on. It returns the end of the
// copy and the copy's activity in the trace. A copy takes the set-up and one pass through
// the slower port of the TCM. Copies run one after another. `by` is the activity that
// released the copy. `message` is the Send whose message the copy takes out of a slot.
// `line` is the source line of the kernel.
func (d *DMA) CopyLocal(at simtime.Time, n memory.Bytes, by, message sim.Mark, line string) (end simtime.Time, mark sim.Mark) {
	at = max(at, d.eng.Now()) + d.cfg.Setup
	d.copies.advance(at)
	start, end := d.copies.Serve(at, d.copies.time(n))
	if d.Trace != nil {
		mark = d.recordCopy(at, start, end, by, message, line)
	}
	return end, mark
}

// recordCopy records a copy in the trace, which must exist, and returns its activity.
func (d *DMA) recordCopy(at, start, end simtime.Time, by, message sim.Mark, line string) sim.Mark {
	return d.Trace.recordStage(&d.Trace.copies, Op{Receive.String(), line}, at, start, end, by, message)
}

// BeginStream begins stream s, whose copies of n bytes are asked for once in each period. It
// follows all copies that have been asked for before.
func (d *DMA) BeginStream(s *CopyStream, n memory.Bytes, period simtime.Time) {
	*s = CopyStream{Open: true, each: d.copies.time(n), end: d.copies.Free()}
	if period > 0 {
		s.rate = int64(simtime.MulDiv(uint64(s.each), fullRate, uint64(period)))
	}
	d.copies.advance(d.eng.Now() + d.cfg.Setup)
	d.copies.rate += s.rate
}

// CopyAhead computes the next copy of stream s, which is asked for at the future time `at`.
// It returns the same as CopyLocal. Work that other streams bring until then delays the
// copy.
func (d *DMA) CopyAhead(s *CopyStream, at simtime.Time, by sim.Mark, line string) (end simtime.Time, mark sim.Mark) {
	at += d.cfg.Setup
	start := max(at, s.end)
	if d.copies.rate > s.rate {
		start = max(start, d.copies.freeAt(at)-s.each) // freeAt includes this copy
	}
	s.end = start + s.each
	if d.Trace != nil {
		mark = d.recordCopy(at, start, s.end, by, 0, line)
	}
	return s.end, mark
}

// CopyEvenly computes the next copies of stream s, which are asked for at the times `at`,
// at+step and so on, but not before the time `least`. It sets ends[i] to the end of copy i
// plus `delay`. It records nothing in a trace.
func (d *DMA) CopyEvenly(s *CopyStream, at, step, least, delay simtime.Time, ends []simtime.Time) {
	if d.copies.rate > s.rate { // other streams may delay the copies
		for i := range ends {
			end, _ := d.CopyAhead(s, max(least, at), 0, "")
			ends[i] = end + delay
			at += step
		}
		return
	}
	end := s.end
	for i := range ends {
		end = max(end, max(least, at)+d.cfg.Setup) + s.each
		ends[i] = end + delay
		at += step
	}
	s.end = end
}

// EndStream ends stream s now. The copy of the message's last fragment must follow.
func (d *DMA) EndStream(s *CopyStream) {
	at := d.eng.Now() + d.cfg.Setup
	d.copies.Hold(max(s.end, d.copies.freeAt(at)-s.each)) // the last fragment is not copied yet
	d.copies.since = at
	d.copies.rate -= s.rate
	*s = CopyStream{}
}
