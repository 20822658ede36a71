package fabric

import (
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// rateLimited is a train that arrives more slowly than the link could send it. It does not
// block the link: other trains use the remaining bandwidth.
type rateLimited struct {
	until Time  // when its last flit has left
	rate  int64 // share of the link's bandwidth, in units of 1/fullRate
	class Class
}

const fullRate = 1 << 20

// addRateLimited adds t as a rate-limited train that is served from start on. It returns
// false if t is not rate-limited or the link has too little bandwidth left.
func (s *server) addRateLimited(t *train, start Time) bool {
	gap := t.gap()
	if t.residual || t.atSource || gap <= s.perFlit || start > t.head+s.perFlit {
		return false
	}
	rate := int64((s.perFlit*fullRate + gap - 1) / gap)
	sum := rate
	s.limited = slices.DeleteFunc(s.limited, func(o rateLimited) bool { return o.until <= start })
	for _, o := range s.limited {
		sum += o.rate
	}
	if sum > fullRate {
		return false
	}
	s.limited = append(s.limited, rateLimited{start + s.perFlit + t.tail - t.head, rate, t.class}) // without its first flit
	return true
}

// limitedWork returns how much time of the link the rate-limited trains of a class and of
// higher classes take while the link does other work from start on. These trains have moved
// on already, so the other work is delayed.
func (s *server) limitedWork(start, work Time, class Class) (taken Time) {
	spare := int64(fullRate)
	for _, o := range s.limited {
		if o.until > start && o.class <= class {
			spare -= o.rate
		}
	}
	for _, o := range s.limited {
		if o.until <= start || o.class > class {
			continue
		}
		share := simtime.MulDiv(uint64(o.until-start), uint64(o.rate), fullRate)
		if spare > 0 {
			share = min(share, simtime.MulDiv(uint64(work), uint64(o.rate), uint64(spare)))
		}
		taken += share
	}
	return taken
}

// stretchService extends the service of t, which has just started, by the time of the
// rate-limited trains. A train of class Comm is not delayed by rate-limited trains of class
// Compute; their time is added to computeDelay instead and delays later trains of class
// Compute.
func (s *server) stretchService(t *train) {
	if len(s.limited) == 0 || t.flits == 1 { // a single flit waits for at most one flit of another train, and has done so
		return
	}
	work := s.free - s.since
	taken := s.limitedWork(s.since, work, t.class)
	s.free += taken
	if t.class == Comm {
		s.servingDelay = max(0, s.limitedWork(s.since, work, Compute)-taken)
		s.computeDelay += s.servingDelay
	}
}
