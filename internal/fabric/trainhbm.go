package fabric

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/simtime"
)

// passSlice serves train i at the channels of an HBM slice, from the time `start` on. The
// accesses of successive trains to a slice overlap: a channel that is free serves the next
// train already.
func (m *trains) passSlice(s *server, i int32, start Time) {
	t := m.all.At(i)
	a := service{flitRange: t.flitRange, since: start, rate: int32(s.spareRate(&t.flitRange, start)), pace: s.perFlit, next: t.stage + 1}
	work := Time(a.flits) * s.perFlit
	var taken Time // by rate-limited writes
	if a.rate == fullRate && a.flits > 1 {
		taken = s.limitedWork(start, work, a.class, true)
	}
	if a.stage > 0 {
		m.write(s, &a, taken)
	} else {
		m.read(s, &a, taken)
	}
	s.slice.Occupy(taken)
	a.taken = taken
	if a.rate < fullRate {
		a.until = start + s.perFlit
	} else {
		a.until = min(start+work+taken, a.left)
	}
	s.free = a.until
	m.messages.At(a.msg).progressAt(a.stage).left = a.left
	if a.refill {
		m.refillAt(a.msg, s.free)
	}
	m.drop(i)
	s.addService(&a)
}

// write writes the train of service a, which arrives at the end of its path. It sets a.left
// to the time at which all flits are written. Rate-limited writes delay the train by the
// time `taken`.
func (m *trains) write(s *server, a *service, taken Time) {
	b := &m.messages.At(a.msg).banks
	b.endsSaved = append(b.endsSaved[:0], b.ends...)
	done := s.slice.Serve(m.partOf(a, &a.flitRange, b.ends), nil)
	late := a.since + Time(a.flits)*s.perFlit + taken + m.cfg.HBM.BurstTime // if all flits have arrived
	a.left = max(m.messages.At(a.msg).progressAt(a.stage).left, done, min(done+taken, late))
	if a.last {
		a.left = max(a.left, a.end+m.cfg.HBM.BurstTime) // arrivals in between are rounded
		m.finishAt(a.msg, max(a.left, m.eng.Now()))
	}
}

// read reads the train of service a at the start of its path and sends the flits to the
// first link as trains. A new train starts wherever the link would become idle between two
// flits. read sets a.left to the time at which all flits are read. Rate-limited writes delay
// the last train by the time `taken`.
func (m *trains) read(s *server, a *service, taken Time) {
	out := &m.reading
	*out = runs{trains: m, perFlit: m.server(m.messages.At(a.msg).stages[1]).perFlit, run: a.firstFlits(0), firstHead: simtime.Never}
	out.run.stage, out.run.atSource = 1, false
	out.delay, out.fed = m.skipFirst(s, a)
	out.next = a.next
	out.floor = max(m.messages.At(a.msg).progressAt(a.stage).left, m.eng.Now())
	a.left = max(s.slice.Serve(m.partOf(a, &a.flitRange, nil), out), out.floor) + taken
	out.send(&out.merged)
	out.run.last, out.run.short = a.last, a.short
	if a.short && out.run.flits > 1 {
		out.run.tail = out.before
	}
	out.run.tail += taken
	out.run.end += taken
	out.send(&out.run)
	a.forwarded, a.forwardedAt = out.sent, out.sentAt
	m.observeFirst(a, out.firstHead)
}

// groupFlits returns the number of flits of one burst on each channel of slice s.
func (m *trains) groupFlits(s *server) int64 {
	return int64((Bytes(s.slice.Channels)*s.slice.Burst + m.cfg.Flit - 1) / m.cfg.Flit)
}

// readBy returns an upper bound for the number of flits of a that are read by now: one
// group of bursts, and one more for each burst time since the start of the service.
func (m *trains) readBy(s *server, a *service, now Time) int64 {
	group := m.groupFlits(s)
	if a.round != 0 {
		return group + int64((now-a.since)/a.pace)
	}
	return group * (1 + int64((now-a.since)/max(1, s.slice.BurstTime)))
}

// cutSlice reduces the HBM access of service a, which has been cut, to the remaining flits.
// It returns the time at which these flits are read or written. `whole` is the train before
// the cut.
func (m *trains) cutSlice(s *server, a *service, whole *flitRange) Time {
	var ends []Time
	if a.stage > 0 {
		b := &m.messages.At(a.msg).banks
		ends = b.ends
		copy(ends, b.endsSaved)
	}
	s.slice.Occupy(-a.taken)
	done := s.slice.Cut(m.partOf(a, whole, nil), m.partOf(a, &a.flitRange, ends), m.eng.Now())
	a.taken = simtime.MulDiv(uint64(a.taken), uint64(a.flits), uint64(whole.flits))
	s.slice.Occupy(a.taken)
	done += a.taken
	left := min(a.left, max(done, a.since))
	if a.round != 0 {
		s.shortenRound(a.round, Time(whole.flits-a.flits)*s.perFlit)
		return min(a.left, a.since+Time(a.flits)*a.pace)
	}
	if a.rate == fullRate {
		until := min(a.since+Time(a.flits)*s.perFlit+a.taken, left)
		if s.free == a.until {
			s.free = until
		}
		a.until = until
	}
	return left
}

// runs sends the flits of a read to the first link, as trains. A run is a sequence of flits
// that the link sends without a pause. Where the link would become idle, a new run starts.
// If the link is faster than the channels, runs of equal length follow at equal distances;
// these are merged into one train. The last run is never merged, because it determines the
// end of the transfer.
type runs struct {
	*trains
	sent      int32      // the train that was sent last; 0 if none
	sentAt    Time       // when that train arrives
	next      int32      // index of the first server that no train skips
	delay     Time       // how long a flit takes to that server
	fed       *linkState // the first link if the slice feeds it, else nil
	firstHead Time       // when the first flit is read
	floor     Time       // no flit starts before this time
	perFlit   Time       // service time of a flit on the link
	run       flitRange  // the current run
	before    Time       // arrival of the last flit but one of the current run
	idleAt    Time       // when the link has sent the current run
	merged    flitRange  // the equal runs before the current one, without flits if there are none
	perRun    int64      // flits of each merged run
	period    Time       // distance of the heads of merged runs; 0 if there is only one run
	lastHead  Time       // head of the last merged run
}

// Flit adds the next flit. `done` is the time at which the channels have read the flit
// completely.
func (r *runs) Flit(done Time) {
	done = max(done, r.floor)
	if r.run.flits > 0 && done > r.idleAt {
		r.endRun()
	}
	if r.run.flits == 0 {
		r.run.head, r.idleAt = done, done
	}
	r.run.flits++
	r.before = r.run.tail
	r.run.tail, r.run.end = done, done
	r.idleAt += r.perFlit
}

// Groups adds n groups of `flits` flits each, which follow the previous flits. The channels
// read one group in each period.
func (r *runs) Groups(n, flits int64, period Time) {
	if Time(flits)*r.perFlit >= period {
		r.run.flits += n * flits
		r.run.tail += Time(n) * period
		r.run.end = r.run.tail
		r.idleAt += Time(n*flits) * r.perFlit
		return
	}
	r.endRun()
	if r.perRun != flits || r.period != 0 && r.period != period {
		r.send(&r.merged)
		r.merged, r.perRun = r.run, flits
		r.merged.head = r.lastHead + period
	}
	r.merged.flits += n * flits
	r.lastHead += Time(n) * period
	r.merged.tail, r.merged.end = r.lastHead, r.lastHead
	r.period = period
	r.run.first += n * flits
}

// endRun ends the current run. If the run has the same length as the previous runs and
// follows them at the same distance, endRun merges it with them. If not, it sends the
// previous runs to the link as a train and keeps the current run.
func (r *runs) endRun() {
	gap := r.run.head - r.lastHead
	if r.merged.flits > 0 && r.run.flits == r.perRun && (r.period == 0 || gap == r.period) {
		r.merged.flits += r.run.flits
		r.merged.tail, r.merged.end = r.run.tail, r.run.end
		r.period = gap
	} else {
		r.send(&r.merged)
		r.merged, r.perRun, r.period = r.run, r.run.flits, 0
	}
	r.lastHead = r.run.head
	r.run.first += r.run.flits
	r.run.flits = 0
}

// send sends a train to the link. It does nothing for a train without flits.
func (r *runs) send(t *flitRange) {
	if t.flits == 0 {
		return
	}
	r.firstHead = min(r.firstHead, t.head)
	i := r.trains.add(t, r.sentAt)
	r.all.At(i).earlier = r.sent
	start := t.head
	if r.fed != nil {
		start = r.startFed(t, max(start, r.fed.free), r.perFlit)
		r.fed.free = start + Time(t.flits)*r.perFlit
	}
	r.skipTo(r.next, r.delay, r.fed, &r.all.At(i).flitRange, start)
	r.sent, r.sentAt = r.forward(i)
}

// partOf returns the HBM access of train t, which is the train of service a or a part of
// that train. `ends` has the time at which each channel has written the earlier flits of the
// message. It is nil for a read.
func (m *trains) partOf(a *service, t *flitRange, ends []Time) memory.PartialAccess {
	op, region := m.messages.At(t.msg).banks.accessAt(int(t.stage))
	from := Bytes(t.first) * m.cfg.Flit
	part := memory.PartialAccess{
		Op: op, Region: region, Flit: m.cfg.Flit,
		From: from, To: min(from+Bytes(t.flits)*m.cfg.Flit, m.messages.At(t.msg).Bytes),
		At: a.since, // a read requests all bytes at once
	}
	if op == memory.Write {
		part.At, part.Gap, part.LastAt, part.Ends, part.Slow = t.head, t.gap(), t.end, ends, a.rate < fullRate
	}
	return part
}
