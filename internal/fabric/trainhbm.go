package fabric

import "github.com/kernbench/kernbench/internal/memory"

// throughMemory serves train i by the channels of an HBM slice. A read hands the
// flits on to the first link in trains that are cut where that link would run dry
// between two of them. It returns when the last flit is through.
func (m *trains) throughMemory(s *server, i int32) Time {
	t := m.all[i]
	msg := &m.messages[t.msg]
	left := &m.sources[t.msg].left[t.stage]
	if t.stage > 0 { // a write: behind it is nothing
		*left = max(*left, m.access(s, &t, m.sources[t.msg].ends, nil))
		if t.last {
			*left = max(*left, t.tail+m.cfg.HBM.BurstTime) // gap is rounded down
			m.finishAt(t.msg, max(*left, m.eng.Now()))
		}
		return *left
	}
	out := runs{trains: m, link: msg.stages[1], perFlit: m.server(msg.stages[1]).perFlit, run: t.before(0)}
	out.run.stage, out.run.asServed = 1, false
	floor := max(*left, m.eng.Now())
	*left = m.access(s, &t, nil, func(_ int64, through Time) { out.add(max(through, floor)) })
	*left = max(*left, floor)
	out.send(&out.even)
	out.run.last = t.last
	out.send(&out.run)
	return *left
}

// runs hands the flits of a read on to the first link, as trains. A run is flits
// that the link sends one after the other; where it would run dry a new one
// begins. Runs that follow each other evenly, as those of a link faster than the
// channels do, go as one train but for the last, which decides when it ends.
type runs struct {
	*trains
	link    stage // that it goes over
	perFlit Time  // of that
	run     train // the present one
	dry     Time  // when the link has sent it
	even    train // those before it that are alike, none if it has no flits
	each    int64 // flits in each of them
	period  Time  // from one to the next; 0 while there is only one
	latest  Time  // head of the last of them
}

// add takes the next flit, which is there at an instant.
func (r *runs) add(through Time) {
	if r.run.flits > 0 && through > r.dry {
		r.close()
	}
	if r.run.flits == 0 {
		r.run.head, r.dry = through, through
	}
	r.run.flits++
	r.run.tail = through
	r.dry += r.perFlit
}

// close ends the present run: it joins those before it if it is like them.
func (r *runs) close() {
	gap := r.run.head - r.latest
	if r.even.flits > 0 && r.run.flits == r.each && (r.period == 0 || gap == r.period) {
		r.even.flits += r.run.flits
		r.even.tail = r.run.tail
		r.period = gap
	} else {
		r.send(&r.even)
		r.even, r.each, r.period = r.run, r.run.flits, 0
	}
	r.latest = r.run.head
	r.run.first += r.run.flits
	r.run.flits = 0
}

func (r *runs) send(t *train) {
	if t.flits > 0 {
		r.arriveAt(t.head, r.trains.add(*t), r.link)
	}
}

// access takes train t through the channels of s's slice. ends is how far its
// message has written each of them, nil where only their time matters.
func (m *trains) access(s *server, t *train, ends []Time, visit func(k int64, through Time)) Time {
	msg, b := &m.messages[t.msg], &m.banks[t.msg]
	op, region := b.at(int(t.stage))
	from := Bytes(t.first) * m.cfg.Flit
	part := memory.PartialAccess{
		Op: op, Region: region, Flit: m.cfg.Flit,
		From: from, To: min(from+Bytes(t.flits)*m.cfg.Flit, msg.Bytes),
		At: b.begun, // all of a read is asked for at once
	}
	if op == memory.Write {
		part.At, part.Gap, part.Ends = t.head, t.gap(), ends
	}
	return s.slice.Serve(part, visit)
}
