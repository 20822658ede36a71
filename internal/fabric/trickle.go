package fabric

import (
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
)

// trickle is a train that arrives more slowly than the link could send it. It
// does not block the link: others use what it leaves over.
type trickle struct {
	until Time
	rate  int64 // of the link's bandwidth, in parts of wholeRate
	class Class
}

const wholeRate = 1 << 20

// trickles reports whether t, served from start on, can pass as a trickle: its
// flits come one by one, and the link has that much bandwidth to spare.
func (s *server) trickles(t *train, start Time) bool {
	gap := t.gap()
	if t.ghost || t.asServed || gap <= s.perFlit || start > t.head+s.perFlit {
		return false
	}
	rate := int64((s.perFlit*wholeRate + gap - 1) / gap)
	sum := rate
	s.slow = slices.DeleteFunc(s.slow, func(o trickle) bool { return o.until <= start })
	for _, o := range s.slow {
		sum += o.rate
	}
	if sum > wholeRate {
		return false
	}
	s.slow = append(s.slow, trickle{start + s.perFlit + t.tail - t.head, rate, t.class}) // all but its first flit
	return true
}

// background is what the trickles down to a class take of the link while it does
// other work from start on. They have gone on already, so the other work makes
// way.
func (s *server) background(start, work Time, class Class) (taken Time) {
	spare := int64(wholeRate)
	for _, o := range s.slow {
		if o.until > start && o.class <= class {
			spare -= o.rate
		}
	}
	for _, o := range s.slow {
		if o.until <= start || o.class > class {
			continue
		}
		share := sim.MulDiv(uint64(o.until-start), uint64(o.rate), wholeRate)
		if spare > 0 {
			share = min(share, sim.MulDiv(uint64(work), uint64(o.rate), uint64(spare)))
		}
		taken += share
	}
	return taken
}

// makeWay stretches the service of t, which has just begun, by what the trickles
// take. Comm goes before those of class Compute: that is owed to them, and later
// Compute pays for it.
func (s *server) makeWay(t *train) {
	if len(s.slow) == 0 || t.flits == 1 { // a single flit waits for at most one other, and has
		return
	}
	work := s.free - s.since
	taken := s.background(s.since, work, t.class)
	s.free += taken
	if t.class == Comm {
		s.lent = max(0, s.background(s.since, work, Compute)-taken)
		s.owed += s.lent
	}
}
