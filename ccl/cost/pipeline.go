package cost

import (
	"cmp"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/simtime"
)

// pipeline computes the cost of pipeline s.
//
// Until the first segment has ended, every step takes the time of one message, and the
// other messages of the step follow. Each further segment takes the longest of three times.
// The first is the time until the next segment starts. If the next segment starts only when
// a segment has ended, this is the time of all steps; otherwise it is the time of s.Spacing
// steps. The second is the time of the segment's messages on the busiest link. The third is
// the work of a rank for these messages. The whole pipeline takes at least the time for
// which messages occupy the slots of a queue, one after another.
func (n *Network) pipeline(p *ccl.Plan, s *ccl.Pipeline) simtime.Time {
	c := pipeline{Network: n, Plan: p, Pipeline: s, phases: s.Phases(0)}
	if len(c.phases) == 0 {
		return 0
	}
	c.flows = c.phases[len(c.phases)-1].Flow + 1
	first, slowest, slots, waits, flights := c.steps()
	link, work, each := c.busiest(), simtime.Time(0), simtime.Time(0)
	sent, most := map[int]int{}, 0           // messages of a segment by channel, and on the busiest channel
	behind, after := make([]int, c.flows), 0 // messages of a segment behind the first of their step: by flow, and the maximum
	for _, f := range c.phases {
		each = n.handling(c.bytes(f))
		if _, busy := n.combining(mean(f), p.DType); f.Combines {
			each = max(each, busy)
		}
		work += count(f) * each
		sent[f.Channel] += f.Steps * f.Messages
		most = max(most, sent[f.Channel])
		behind[f.Flow] += f.Messages - 1
		after = max(after, behind[f.Flow])
	}
	steps, segments, room := simtime.Time(s.Steps), simtime.Time(s.Segments), simtime.Time(p.Slots)
	period := simtime.Time(s.Spacing) * slowest
	if s.Spacing == s.Steps {
		period = first
	}
	first += simtime.Time(after) * max(link/simtime.Time(most), each)
	first += simtime.Time(c.flows-1) * steps * each // messages of other flows
	if s.Segments == 1 && c.flows == 1 {            // a rank waits while other messages of it are in flight
		waits = waits * 3 / 4
		if len(sent) > 2 {
			waits /= 2
		}
	}
	total := max(first, link+slowest) + (segments-1)*max(period, link, work)
	return max(total, segments*slots/room-slots/simtime.Time(most), segments*flights, first+segments*waits/room)
}

// pipeline is the schedule of a pipeline together with the plan and the network, from which
// its cost is computed.
type pipeline struct {
	*Network
	*ccl.Plan
	*ccl.Pipeline
	phases []ccl.Phase // phases of rank 0, which represent all ranks
	flows  int
}

// mean returns the mean number of elements of the messages of phase f.
func mean(f ccl.Phase) int { return cmp.Or(f.Mean, f.Elems) }

// bytes returns the mean size in bytes of the messages of phase f.
func (c *pipeline) bytes(f ccl.Phase) int64 { return int64(mean(f) * c.DType.Size()) }

// count returns the number of messages that a rank sends in phase f, over all its steps.
func count(f ccl.Phase) simtime.Time { return simtime.Time(f.Steps * f.Messages) }

// steps computes the terms of the cost for one segment:
//
//   - first: the time of a segment by itself, with one message in each step.
//   - slowest: the longest time of a message that waits for all other messages to the same
//     rank in a step.
//   - slots: the time for which the slots of the busiest queue are in use.
//   - waits: the time for which the slots of all queues are in use, if some step has more
//     messages than may be sent ahead. Then a rank waits and delays everything else.
//   - flights: the time for which the DMA engine is in use.
//
// A block moves over slow links and fast links in turn, so a step takes the mean of all
// ranks. If there are several flows, a rank that waits for one of them delays the others.
// Then the time of a step is nearer to that of the slowest rank, and slots are in use for
// longer.
func (c *pipeline) steps() (first, slowest, slots, waits, flights simtime.Time) {
	mean, worst := make([]simtime.Time, len(c.phases)), make([]simtime.Time, len(c.phases))
	ranks := simtime.Time(0)
	for rank := range sample(c.Busy) {
		ranks++
		burst, use := map[int]simtime.Time{}, map[int]simtime.Time{} // by receiving rank, and by channel
		var flown, all simtime.Time
		crowded := false
		for k, f := range c.Phases(rank) {
			bytes := c.bytes(f)
			full := bytes
			if c.Segments == 1 { // the first message of the only segment is not shorter
				full = int64(f.Elems * c.DType.Size())
			}
			step := c.Alpha(rank, f.To, full)
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
		}
		flights = max(flights, flown)
		if crowded {
			waits = max(waits, all)
		}
	}
	through := make([]simtime.Time, c.flows)
	var longest simtime.Time
	for k, f := range c.phases {
		step := mean[k] / ranks
		if c.flows > 1 {
			step = (step + worst[k]) / 2
		}
		through[f.Flow] += simtime.Time(f.Steps) * step
		first, longest = max(first, through[f.Flow]), max(longest, step)
	}
	slots += slots * simtime.Time(c.flows-1) / 4
	if c.inbox {
		slots, waits = 0, 0
	}
	return first, slowest + longest, slots, waits, flights
}

// busiest computes how long the busiest link takes to carry the messages of one segment.
func (c *pipeline) busiest() simtime.Time {
	return c.Network.Busiest(func(add func(from, to int, bytes int64)) {
		for rank := range c.Pipeline.Ranks {
			for _, f := range c.Phases(rank) {
				add(rank, f.To, int64(count(f))*c.bytes(f))
			}
		}
	})
}
