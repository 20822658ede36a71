package ccl

import (
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// straight is the cost of steps in each of which every rank sends messages to all others,
// in pieces of at most a chunk of the largest block; combines of them add up what comes.
//
// A step takes the longest way, and the others' messages behind that; adding up is one
// after the other. Further segments take their share of the busiest link, or of a step.
func (n *Network) straight(p *Plan, steps, combines, largest int) Time {
	c := newCut(p, largest)
	if c.pieces == 0 {
		return 0
	}
	elems := tl.CDiv(largest, c.segments*c.pieces)
	bytes := int64(elems * p.DType.Size())
	alone, busy := n.combining(elems, p.DType)
	each := n.handling(bytes)
	var longest, trip, flights Time
	nearest := simtime.Never
	for from := range n.some(p.Ranks) {
		var flown Time
		for to := range p.Ranks {
			if to != from {
				alpha := n.Alpha(from, to, bytes)
				longest, nearest = max(longest, alpha), min(nearest, alpha)
				trip = max(trip, n.trip(from, to, bytes))
				flown += n.flight(from, to, bytes)
			}
		}
		flights = max(flights, Time(steps*c.pieces)*flown)
	}
	others := Time(p.Ranks - 1)
	link := n.Busiest(func(add func(from, to int, bytes int64)) {
		for from := range p.Ranks {
			for to := range p.Ranks {
				if to != from {
					add(from, to, int64(steps*c.pieces)*bytes)
				}
			}
		}
	})
	flights += flights / 4 // they wait for each other
	// At first so many messages are under way at once.
	messages, few := (p.Ranks-1)*c.pieces, n.g.Spec().PE.DMA.Outstanding
	if n.inbox {
		messages *= 2 // and notifications
	}
	begun := flights * Time(max(0, messages-few)) / Time(messages)
	first := max(Time(steps)*longest, Time(steps)*(nearest+longest)/2+max(link, begun)) + Time(combines)*others*alone
	first += Time(steps) * (others*Time(c.pieces) - 1) * 5 * n.dispatch()
	period := max(link, flights, Time(steps)*(longest+Time(c.pieces-1)*each), Time(steps*c.pieces)*others*each, Time(combines*c.pieces)*others*busy)
	if !n.inbox {
		period = max(period, Time(steps*c.pieces)*trip/Time(p.Slots))
	}
	return first + Time(c.segments-1)*period
}

func directCost(p *Plan, n *Network) Time {
	switch {
	case p.Collective.Rooted():
		return n.climbed(p, func(rank int) branch { return star(p, rank).branch() })
	case p.Collective == AllReduce:
		return n.straight(p, 2, 1, tl.CDiv(p.Count(0), p.Ranks))
	case p.Collective == ReduceScatter:
		return n.straight(p, 1, 1, p.Largest())
	case p.Collective == SendRecv:
		return n.messages(p)
	}
	return n.straight(p, 1, 0, p.Largest())
}

// messages is the cost of single messages: the longest of them alone, or those of the
// busiest link.
func (n *Network) messages(p *Plan) (t Time) {
	for _, m := range p.Messages {
		t = max(t, n.Alpha(m.From, m.To, int64(m.Count*p.DType.Size())))
	}
	return max(t, n.Busiest(func(add func(from, to int, bytes int64)) {
		for _, m := range p.Messages {
			add(m.From, m.To, int64(m.Count*p.DType.Size()))
		}
	}))
}

// relayed is the cost of an all-to-all on a ring: N-1 steps for the first blocks, and the
// busiest link's blocks behind them.
func (n *Network) relayed(p *Plan) Time {
	largest := p.Largest()
	c := newCut(p, largest)
	if c.pieces == 0 {
		return 0
	}
	bytes := int64(tl.CDiv(largest, c.segments*c.pieces) * p.DType.Size())
	var step, trip Time
	for rank := range n.some(p.Ranks) {
		step = max(step, n.Alpha(rank, (rank+1)%p.Ranks, bytes))
		trip = max(trip, n.trip(rank, (rank+1)%p.Ranks, bytes))
	}
	messages := p.Ranks * (p.Ranks - 1) / 2 * c.segments * c.pieces
	link := n.Busiest(func(add func(from, to int, bytes int64)) {
		for rank := range p.Ranks {
			add(rank, (rank+1)%p.Ranks, int64(messages)*bytes)
		}
	})
	// Groups of distances go round together, and each takes as many steps as its farthest.
	groups := tl.CDiv(p.Ranks-1, max(1, p.ahead()/c.pieces)) * c.segments
	rounds := Time(groups*(p.Ranks-1)) * step
	return max(rounds, link, Time(messages)*max(n.handling(bytes), trip/Time(p.Slots))) + step
}
