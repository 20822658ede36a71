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
		*left = max(*left, m.access(s, &t, nil))
		if t.last {
			m.finishAt(t.msg, max(*left, m.eng.Now()))
		}
		return *left
	}
	link := m.server(msg.stages[1])
	run := t.before(0)
	run.stage, run.asServed = 1, false
	var dry Time // when the link has sent the run so far
	floor := max(*left, m.eng.Now())
	*left = m.access(s, &t, func(k int64, through Time) {
		through = max(through, floor)
		if run.flits > 0 && through > dry {
			m.eng.At(run.head, m.target, evArrive, uint64(m.add(run)))
			run.first += run.flits
			run.flits = 0
		}
		if run.flits == 0 {
			run.head, dry = through, through
		}
		run.flits++
		run.tail = through
		dry += link.perFlit
	})
	*left = max(*left, floor)
	run.last = t.last
	m.eng.At(run.head, m.target, evArrive, uint64(m.add(run)))
	return *left
}

// access takes train t through the channels of s's slice.
func (m *trains) access(s *server, t *train, visit func(k int64, through Time)) Time {
	msg := &m.messages[t.msg]
	op, region := msg.bank(int(t.stage))
	head, gap := t.head, t.gap()
	if op == memory.Read {
		head, gap = msg.begun, 0 // all of it was asked for at once
	}
	from := Bytes(t.first) * m.cfg.Flit
	to := min(from+Bytes(t.flits)*m.cfg.Flit, msg.Bytes)
	return s.slice.Serve(op, region, from, to, m.cfg.Flit, head, gap, visit)
}
