package fabric

import "github.com/kernbench/kernbench/internal/memory"

// passHBM serves train i at the channels of an HBM slice and returns when its last flit is
// read or written. A read also sends the flits to the first link, as trains. A new train
// starts wherever the link would become idle between two flits.
func (m *trains) passHBM(s *server, i int32) Time {
	t := m.all[i]
	msg := &m.messages[t.msg]
	left := &m.sources[t.msg].left[t.stage]
	if t.stage > 0 { // a write: the last stage
		*left = max(*left, m.access(s, &t, m.sources[t.msg].ends, nil))
		if t.last {
			*left = max(*left, t.tail+m.cfg.HBM.BurstTime) // gap is rounded down
			m.finishAt(t.msg, max(*left, m.eng.Now()))
		}
		return *left
	}
	out := runs{trains: m, link: msg.stages[1], perFlit: m.server(msg.stages[1]).perFlit, run: t.firstFlits(0)}
	out.run.stage, out.run.atSource = 1, false
	floor := max(*left, m.eng.Now())
	*left = m.access(s, &t, nil, func(_ int64, through Time) { out.add(max(through, floor)) })
	*left = max(*left, floor)
	out.send(&out.merged)
	out.run.last = t.last
	out.send(&out.run)
	return *left
}

// runs sends the flits of a read to the first link, as trains. A run is a sequence of flits
// that the link sends without a pause. Where the link would become idle, a new run starts.
// If the link is faster than the channels, runs of equal length follow at equal distances;
// these are merged into one train. The last run is never merged, because it determines the
// end of the transfer.
type runs struct {
	*trains
	link     stage // the first link
	perFlit  Time  // service time of a flit on the link
	run      train // the current run
	idleAt   Time  // when the link has sent the current run
	merged   train // the equal runs before the current one, without flits if there are none
	perRun   int64 // flits of each merged run
	period   Time  // distance of the heads of merged runs; 0 if there is only one run
	lastHead Time  // head of the last merged run
}

// add adds the next flit. `through` is the time at which the channels have read the flit
// completely.
func (r *runs) add(through Time) {
	if r.run.flits > 0 && through > r.idleAt {
		r.endRun()
	}
	if r.run.flits == 0 {
		r.run.head, r.idleAt = through, through
	}
	r.run.flits++
	r.run.tail = through
	r.idleAt += r.perFlit
}

// endRun ends the current run. If the run has the same length as the previous runs and
// follows them at the same distance, endRun merges it with them. If not, it sends the
// previous runs to the link as a train and keeps the current run.
func (r *runs) endRun() {
	gap := r.run.head - r.lastHead
	if r.merged.flits > 0 && r.run.flits == r.perRun && (r.period == 0 || gap == r.period) {
		r.merged.flits += r.run.flits
		r.merged.tail = r.run.tail
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
func (r *runs) send(t *train) {
	if t.flits > 0 {
		r.arriveAt(t.head, r.trains.add(*t), r.link)
	}
}

// access serves train t at the channels of the slice of s and returns when all of it is
// read or written. If visit is not nil, it is called for each flit k with the time at which
// that flit is complete. `ends` has the time at which each channel has written the earlier
// flits of the message; it is nil if only the occupancy of the channels matters.
func (m *trains) access(s *server, t *train, ends []Time, visit func(k int64, through Time)) Time {
	msg, b := &m.messages[t.msg], &m.banks[t.msg]
	op, region := b.accessAt(int(t.stage))
	from := Bytes(t.first) * m.cfg.Flit
	part := memory.PartialAccess{
		Op: op, Region: region, Flit: m.cfg.Flit,
		From: from, To: min(from+Bytes(t.flits)*m.cfg.Flit, msg.Bytes),
		At: b.begun, // a read requests all bytes at once
	}
	if op == memory.Write {
		part.At, part.Gap, part.Ends = t.head, t.gap(), ends
	}
	return s.slice.Serve(part, visit)
}
