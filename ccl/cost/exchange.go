package cost

import (
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// exchange returns the cost of steps in each of which every rank sends messages to all others.
//
// A step takes the longest message, and the messages of others behind it. Messages are combined
// one after the other. Further segments take their share of the busiest link, or of a step.
func (n *Network) exchange(p *ccl.Plan, e *ccl.Exchange) simtime.Time {
	bytes := int64(e.Elems * p.DType.Size())
	combine, busy := n.combining(e.Elems, p.DType)
	each := n.handling(bytes)
	steps, pieces, others := simtime.Time(e.Steps), simtime.Time(e.Pieces), simtime.Time(p.Ranks-1)
	var longest, trip, flights simtime.Time
	nearest := simtime.Never
	for from := range sample(p.Ranks) {
		var flown simtime.Time
		for to := range p.Ranks {
			if to != from {
				alpha := n.Alpha(from, to, bytes)
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
	flights += flights / 4 // they wait for each other
	// Of the first messages as many as the DMA engine allows are in flight at once.
	messages, outstanding := others*pieces, simtime.Time(n.g.Spec().PE.DMA.Outstanding)
	if n.inbox {
		messages *= 2 // and notifications
	}
	begun := flights * max(0, messages-outstanding) / messages
	first := max(steps*longest, steps*(nearest+longest)/2+max(link, begun)) + simtime.Time(e.Combines)*others*combine
	first += steps * (others*pieces - 1) * 5 * n.dispatch()
	period := max(link, flights, steps*(longest+(pieces-1)*each), steps*pieces*others*each, simtime.Time(e.Combines)*pieces*others*busy)
	if !n.inbox {
		period = max(period, steps*pieces*trip/simtime.Time(p.Slots))
	}
	return first + simtime.Time(e.Segments-1)*period
}

// ringExchange returns the cost of an all-to-all round a ring: N-1 steps for the first blocks,
// and the blocks of the busiest link behind them.
func (n *Network) ringExchange(p *ccl.Plan, e *ccl.Exchange) simtime.Time {
	bytes := int64(e.Elems * p.DType.Size())
	var step, trip simtime.Time
	for rank := range sample(p.Ranks) {
		step = max(step, n.Alpha(rank, (rank+1)%p.Ranks, bytes))
		trip = max(trip, n.roundTrip(rank, (rank+1)%p.Ranks, bytes))
	}
	messages := p.Ranks * (p.Ranks - 1) / 2 * e.Segments * e.Pieces
	link := n.Busiest(func(add func(from, to int, bytes int64)) {
		for rank := range p.Ranks {
			add(rank, (rank+1)%p.Ranks, int64(messages)*bytes)
		}
	})
	// Groups of distances go round together, and each takes as many steps as its farthest.
	groups := tl.CDiv(p.Ranks-1, max(1, p.Ahead()/e.Pieces)) * e.Segments
	rounds := simtime.Time(groups*(p.Ranks-1)) * step
	return max(rounds, link, simtime.Time(messages)*max(n.handling(bytes), trip/simtime.Time(p.Slots))) + step
}
