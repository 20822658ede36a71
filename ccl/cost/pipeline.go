package cost

import (
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/simtime"
)

// pipeline returns the cost of a pipeline.
//
// Until the first segment has ended, every step takes as long as a message, and the other
// messages of the step come behind it. From then on a segment takes the longest of: its steps
// one after the other, or those until the next one begins; the messages on the busiest link;
// and what the rank has to do for them. The whole takes at least as long as the slots of a
// queue are in use by their messages, one after the other.
func (n *Network) pipeline(p *ccl.Plan, s *ccl.Pipeline) simtime.Time {
	c := pipeline{Network: n, Plan: p, Pipeline: s, flows: s.Flows(0)}
	first, slowest, slots, waits, flights := c.steps()
	link, work, each := c.busiest(), simtime.Time(0), simtime.Time(0)
	sent, most := map[int]int{}, 0 // messages of a segment by channel, and over the busiest
	behind := make([]int, len(c.flows))
	after := 0 // messages of a segment behind the first of their step
	for i, f := range c.phases(c.flows) {
		each = n.handling(c.bytes(f))
		if _, busy := n.combining(f.Elems, p.DType); f.Combines {
			each = max(each, busy)
		}
		work += count(f) * each
		sent[f.Channel] += f.Steps * f.Messages
		most = max(most, sent[f.Channel])
		behind[i] += f.Messages - 1
		after = max(after, behind[i])
	}
	steps, segments, room := simtime.Time(s.Steps), simtime.Time(s.Segments), simtime.Time(p.Slots)
	period := simtime.Time(s.Spacing) * slowest
	if s.Spacing == s.Steps {
		period = first
	}
	first += simtime.Time(after) * max(link/simtime.Time(most), each)
	first += simtime.Time(len(c.flows)-1) * steps * each // messages of other flows
	if s.Segments == 1 && len(c.flows) == 1 {            // a rank waits while others of its messages are in flight
		waits = waits * 3 / 4
		if len(sent) > 2 {
			waits /= 2
		}
	}
	total := max(first, link+slowest) + (segments-1)*max(period, link, work)
	return max(total, segments*slots/room-slots/simtime.Time(most), segments*flights, first+segments*waits/room)
}

// pipeline is a pipeline on a network.
type pipeline struct {
	*Network
	*ccl.Plan
	*ccl.Pipeline
	flows [][]ccl.Phase // of rank 0, which stand for those of all ranks
}

// phases returns the phases of some flows, with the number of the flow.
func (c *pipeline) phases(flows [][]ccl.Phase) func(func(flow int, f *ccl.Phase) bool) {
	return func(yield func(int, *ccl.Phase) bool) {
		for i, phases := range flows {
			for k := range phases {
				if !yield(i, &phases[k]) {
					return
				}
			}
		}
	}
}

// bytes returns the bytes of a message.
func (c *pipeline) bytes(f *ccl.Phase) int64 { return int64(f.Elems * c.DType.Size()) }

// count returns the messages of a phase.
func count(f *ccl.Phase) simtime.Time { return simtime.Time(f.Steps * f.Messages) }

// steps returns how long a segment takes alone, with one message in each step; how long a
// message takes at most, behind all that go to the same rank in a step; how long the slots of
// the busiest queue are in use for a segment, or those of all queues, if some step has more
// messages than may be sent ahead, so that a rank waits and delays everything else; and how
// long the DMA engine is.
//
// A block takes its turn over slow links and fast ones, so that a step takes the mean of all
// ranks. But where there are several flows, a rank that waits for one of them delays the
// others: then a step is nearer to the slowest, and slots are in use for longer.
func (c *pipeline) steps() (first, slowest, slots, waits, flights simtime.Time) {
	var mean, worst []simtime.Time // by phase
	ranks := simtime.Time(0)
	for rank := range sample(c.Busy) {
		ranks++
		burst, use := map[int]simtime.Time{}, map[int]simtime.Time{} // by rank and by channel
		var flown, all simtime.Time
		crowded := false
		k := 0
		for _, f := range c.phases(c.Flows(rank)) {
			if k == len(mean) {
				mean, worst = append(mean, 0), append(worst, 0)
			}
			bytes := c.bytes(f)
			step := c.Alpha(rank, f.To, bytes)
			if f.Combines {
				alone, _ := c.combining(f.Elems, c.DType)
				step += alone
			}
			mean[k], worst[k] = mean[k]+step, max(worst[k], step)
			own, trips := c.slowestLink(bytes), count(f)*c.roundTrip(rank, f.To, bytes)
			burst[f.To] += simtime.Time(f.Messages) * own
			slowest = max(slowest, burst[f.To]-own)
			use[f.Channel] += trips
			slots = max(slots, use[f.Channel])
			all += trips
			crowded = crowded || f.Messages > c.Ahead()
			flown += count(f) * c.flight(rank, f.To, bytes)
			k++
		}
		flights = max(flights, flown)
		if crowded {
			waits = max(waits, all)
		}
	}
	through, k := make([]simtime.Time, len(c.flows)), 0
	var longest simtime.Time
	for i, f := range c.phases(c.flows) {
		step := mean[k] / ranks
		if len(c.flows) > 1 {
			step = (step + worst[k]) / 2
		}
		through[i] += simtime.Time(f.Steps) * step
		first, longest = max(first, through[i]), max(longest, step)
		k++
	}
	slots += slots * simtime.Time(len(c.flows)-1) / 4
	if c.inbox {
		slots, waits = 0, 0
	}
	return first, slowest + longest, slots, waits, flights
}

// busiest returns how long the busiest link carries the messages of a segment.
func (c *pipeline) busiest() simtime.Time {
	return c.Network.Busiest(func(add func(from, to int, bytes int64)) {
		for rank := range c.Pipeline.Ranks {
			for _, f := range c.phases(c.Flows(rank)) {
				add(rank, f.To, int64(count(f))*c.bytes(f))
			}
		}
	})
}
