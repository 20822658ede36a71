package ccl

import "cmp"

// woven is the cost of strands that are woven; of is those of a rank.
//
// Until the first segment is through, every step takes as long as a message does, and the
// others of the step come behind it. From then on a segment takes what is most: its
// steps one after the other, or the rounds until the next one begins; the messages of the
// busiest link; or what the rank has to do for them. All of it takes at least as long as
// the slots of a queue are in use by their messages, one after the other.
func (n *Network) woven(p *Plan, of func(rank int) *weave) Time {
	w := of(0)
	if len(w.strands) == 0 {
		return 0
	}
	c := weaving{Network: n, Plan: p, strands: w.strands, ranks: cmp.Or(w.busy, p.Ranks), of: of}
	first, slowest, slots, waits, flights := c.ways()
	link, work := c.busiest(), c.handled()
	sent, ways := c.sent()
	most := Time(sent)
	steps := Time(w.strands[0].steps())
	period := Time(w.spacing) * slowest
	if Time(w.spacing) == steps {
		period = first
	}
	first += Time(c.behind()) * max(link/most, work.each) // messages of a step
	first += Time(len(w.strands)-1) * steps * work.each   // and of other strands
	segments, room := Time(w.segments), Time(p.Slots)
	if w.segments == 1 && len(w.strands) == 1 { // it waits while others of its messages are under way
		waits = waits * 3 / 4
		if ways > 2 {
			waits /= 2
		}
	}
	total := max(first, link+slowest) + (segments-1)*max(period, link, work.segment)
	return max(total, segments*slots/room-slots/most, segments*flights, first+segments*waits/room)
}

// weaving is strands on a network.
type weaving struct {
	*Network
	*Plan
	strands []strand // of rank 0, which stand for all others'
	ranks   int      // that set the pace
	of      func(rank int) *weave
}

// legs is all legs of some strands.
func legs(strands []strand) func(func(strand int, l leg) bool) {
	return func(yield func(int, leg) bool) {
		for i, s := range strands {
			for _, l := range s.(legged).legs() {
				if !yield(i, l) {
					return
				}
			}
		}
	}
}

func (c *weaving) bytes(l leg) int64 { return int64(l.elems * c.DType.Size()) }

// ways is how long a segment takes alone, one message in each step; how long a message
// takes at most, behind all that go the same way in a round; how long the slots of the
// busiest queue are in use for a segment, or those of all queues, if some step has more
// messages than may be sent ahead, so that a rank waits and holds up all else; and how
// long the DMA engine is.
//
// A block takes its turn over slow ways and fast ones, so that a step takes the mean of
// all ranks. But where there are several strands a rank that waits for one of them holds
// up the others: then a step is nearer to the slowest, and slots are in use for longer.
func (c *weaving) ways() (first, slowest, slots, waits, flights Time) {
	var mean, worst []Time // by leg
	ranks := Time(0)
	for rank := range c.some(c.ranks) {
		ranks++
		burst, use := map[int]Time{}, map[int]Time{} // by way
		var flown, all Time
		crowded := false
		k := 0
		for _, l := range legs(c.of(rank).strands) {
			if k == len(mean) {
				mean, worst = append(mean, 0), append(worst, 0)
			}
			step := c.Alpha(rank, l.to, c.bytes(l))
			if l.combines {
				alone, _ := c.combining(l.elems, c.DType)
				step += alone
			}
			mean[k], worst[k] = mean[k]+step, max(worst[k], step)
			burst[l.to] += Time(l.messages) * c.own(c.bytes(l))
			slowest = max(slowest, burst[l.to]-c.own(c.bytes(l)))
			use[l.way] += Time(l.steps*l.messages) * c.trip(rank, l.to, c.bytes(l))
			slots = max(slots, use[l.way])
			all += Time(l.steps*l.messages) * c.trip(rank, l.to, c.bytes(l))
			crowded = crowded || l.messages > c.ahead()
			flown += Time(l.steps*l.messages) * c.flight(rank, l.to, c.bytes(l))
			k++
		}
		flights = max(flights, flown)
		if crowded {
			waits = max(waits, all)
		}
	}
	through, k := make([]Time, len(c.strands)), 0
	var longest Time
	for i, l := range legs(c.strands) {
		step := mean[k] / ranks
		if len(c.strands) > 1 {
			step = (step + worst[k]) / 2
		}
		through[i] += Time(l.steps) * step
		first, longest = max(first, through[i]), max(longest, step)
		k++
	}
	slots += slots * Time(len(c.strands)-1) / 4
	if c.inbox {
		slots, waits = 0, 0
	}
	return first, slowest + longest, slots, waits, flights
}

// busiest is how long the busiest link carries the messages of a segment.
func (c *weaving) busiest() Time {
	return c.Busiest(func(add func(from, to int, bytes int64)) {
		for rank := range c.Ranks {
			for _, l := range legs(c.of(rank).strands) {
				add(rank, l.to, int64(l.steps*l.messages)*c.bytes(l))
			}
		}
	})
}

// handled is how long a rank is busy with a segment, and with a message.
func (c *weaving) handled() (work struct{ segment, each Time }) {
	for _, l := range legs(c.strands) {
		work.each = c.handling(c.bytes(l))
		if _, busy := c.combining(l.elems, c.DType); l.combines {
			work.each = max(work.each, busy)
		}
		work.segment += Time(l.steps*l.messages) * work.each
	}
	return work
}

// sent returns the messages of a segment over the way that has most, and the number of
// ways over which a rank sends.
func (c *weaving) sent() (most, ways int) {
	sent := map[int]int{}
	for _, l := range legs(c.strands) {
		sent[l.way] += l.steps * l.messages
		most = max(most, sent[l.way])
	}
	return most, len(sent)
}

// behind is the messages of a segment that come behind the first one of their leg.
func (c *weaving) behind() (most int) {
	follow := make([]int, len(c.strands))
	for i, l := range legs(c.strands) {
		follow[i] += l.messages - 1
		most = max(most, follow[i])
	}
	return most
}
