package cost

import (
	"cmp"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// exchange computes the cost of a schedule in which every rank sends messages to all other
// ranks in each step.
//
// A step takes as long as its longest message and the messages of other ranks that wait
// behind that message. Received messages are combined one after another. Each segment after
// the first takes the time of its messages on the busiest link, or the time of a step if
// that is longer.
func (n *Network) exchange(p *ccl.Plan, e *ccl.Exchange) simtime.Time {
	full, bytes := exchangeBytes(p, e)
	combine, busy := n.combining(e.Elems, p.DType)
	each := n.handling(bytes)
	steps, pieces, others := simtime.Time(e.Steps), simtime.Time(e.Pieces), simtime.Time(p.Ranks-1)
	var longest, trip, flights simtime.Time
	nearest := simtime.Never
	for from := range sample(p.Ranks) {
		var flown simtime.Time
		for to := range p.Ranks {
			if to != from {
				alpha := n.Alpha(from, to, full)
				longest, nearest = max(longest, alpha), min(nearest, alpha)
				trip = max(trip, n.roundTrip(from, to, bytes))
				flown += n.flight(from, to, bytes)
			}
		}
		flights = max(flights, steps*pieces*flown)
	}
	link := n.Busiest(func(add func(from, to int, bytes int64)) {
		for from := range p.Ranks {
			for to := range p.Ranks {
				if to != from {
					add(from, to, int64(e.Steps*e.Pieces)*bytes)
				}
			}
		}
	})
	flights += flights / 4 // messages in flight wait for each other
	// The first messages do not wait: as many are in flight at once as the DMA engine
	// allows.
	messages, outstanding := others*pieces, simtime.Time(n.g.Spec().PE.DMA.Outstanding)
	if n.inbox {
		messages *= 2 // each message has a notification
	}
	waiting := flights * max(0, messages-outstanding) / messages
	first := max(steps*longest, steps*(nearest+longest)/2+max(link, waiting)) + simtime.Time(e.Combines)*others*combine
	first += steps * (others*pieces - 1) * 5 * n.dispatch()
	period := max(link, flights, steps*(longest+(pieces-1)*each), steps*pieces*others*each, simtime.Time(e.Combines)*pieces*others*busy)
	if !n.inbox {
		period = max(period, steps*pieces*trip/simtime.Time(p.Slots))
	}
	return first + simtime.Time(e.Segments-1)*period
}

// exchangeBytes returns the size in bytes of the first message of a segment of e, and the
// mean size of all messages. Over several segments, the first messages have the mean size.
func exchangeBytes(p *ccl.Plan, e *ccl.Exchange) (first, mean int64) {
	size := p.DType.Size()
	first, mean = int64(e.Elems*size), int64(cmp.Or(e.Mean, e.Elems)*size)
	if e.Segments > 1 {
		first = mean
	}
	return first, mean
}

// ringExchange computes the cost of an all-to-all around a ring of N ranks. The cost is one
// step plus the longest of three times: the N-1 steps of each group of messages, the time
// of the busiest link, and the time in which a rank handles its messages.
func (n *Network) ringExchange(p *ccl.Plan, e *ccl.Exchange) simtime.Time {
	full, bytes := exchangeBytes(p, e)
	var step, trip simtime.Time
	for rank := range sample(p.Ranks) {
		step = max(step, n.Alpha(rank, (rank+1)%p.Ranks, full))
		trip = max(trip, n.roundTrip(rank, (rank+1)%p.Ranks, bytes))
	}
	messages := p.Ranks * (p.Ranks - 1) / 2 * e.Segments * e.Pieces
	link := n.Busiest(func(add func(from, to int, bytes int64)) {
		for rank := range p.Ranks {
			add(rank, (rank+1)%p.Ranks, int64(messages)*bytes)
		}
	})
	// Groups of distances travel together, and each group takes as many steps as its
	// longest distance.
	groups := tl.CDiv(p.Ranks-1, max(1, p.Ahead()/e.Pieces)) * e.Segments
	rounds := simtime.Time(groups*(p.Ranks-1)) * step
	return max(rounds, link, simtime.Time(messages)*max(n.handling(bytes), trip/simtime.Time(p.Slots))) + step
}
