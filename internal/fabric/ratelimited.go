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

// addRateLimited tries to serve t as a rate-limited train from the time `start` on and
// reports whether it did. It does not serve t if t arrives as fast as the link can send it,
// or if the rate-limited trains in service leave too little bandwidth.
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

// limitedWork returns how long other work of the link is delayed by rate-limited trains.
// The other work starts at the time `start` and would take the time `work` by itself. Only
// rate-limited trains of the given class or a higher class count. These trains have already
// been sent on to the next server, so the other work must wait for them.
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

// stretchService extends the service of t, which has just started, by the time that the
// link spends on rate-limited trains meanwhile. A train of class Comm is not delayed by
// rate-limited trains of class Compute. Their time is added to computeDelay instead, which
// delays later trains of class Compute.
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
