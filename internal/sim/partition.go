package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// A machine of several devices has a partition for each device, and each partition has events
// of its own. While the engine is split, no partition acts on another in less than the
// lookahead. So each partition can run by itself from a time t up to t plus the lookahead: a
// window. Its state stays in the processor cache for that long.
//
// Events of one partition at one time run in this order: those from other partitions, by the
// time at which they were scheduled, then by partition; then its own. Events that a partition
// schedules at one time keep their order. So results do not depend on the windows.
//
// Partition 0, the host, is different: an event of it may act on every partition at once. It
// runs when all partitions have reached its time.

// partition is what the engine knows about a partition besides its queue.
type partition struct {
	next    Time  // no event of the partition is earlier; never if there is none
	running int32 // processes that the host waits for, see Split
}

// Partition prepares the engine for partitions 1 to n. `lookahead` is the least time in which
// a partition acts on another. It must be called before the first event.
func (e *Engine) Partition(n int, lookahead Time) {
	e.lookahead = lookahead
	e.parts = make([]partition, n+1)
	e.queues = append(e.queues, make([]queue, n)...)
	e.queue = &e.queues[0]
}

// Lookahead returns the least time in which a partition acts on another; 0 if there are no
// partitions.
func (e *Engine) Lookahead() Time { return e.lookahead }

// Current returns the current partition; 0 unless the engine is split.
func (e *Engine) Current() int32 { return e.current }

// IsSplit reports whether the engine is split.
func (e *Engine) IsSplit() bool { return e.split }

// Split lets the partitions run by themselves, from now until `running` processes have called
// Leave in each of them, as the slice says by partition, or until the host calls Join. The
// current event must be one of the host. When the last process has called Leave, the engine
// calls `left` in the host's partition.
func (e *Engine) Split(running []int32, left Event) {
	e.split, e.left, e.latest, e.latestLeft = true, left, e.now, e.now
	for i := range e.parts {
		e.parts[i] = partition{next: never, running: running[i]}
	}
}

// Join ends a Split: all partitions have the time of the host again, and all events are in its
// queue. It does nothing if the engine is not split. The current event must be one of the
// host.
func (e *Engine) Join() {
	if !e.split {
		return
	}
	if e.current != 0 {
		panic(fmt.Sprintf("sim: partition %d acts on the host at %v", e.current, e.now))
	}
	e.split = false
	for i := 1; i < len(e.queues); i++ {
		for {
			at, ev, ok := e.queues[i].pop(noEvent)
			if !ok {
				break
			}
			e.queue.push(at, ev.Target, ev.Kind, ev.Arg)
		}
	}
}

// Leave counts a process of the current partition for which the host waits. The partition
// does not run ahead of the others when all of these have left. Leave reports whether the
// engine is split.
func (e *Engine) Leave() bool {
	if !e.split {
		return false
	}
	p := &e.parts[e.current]
	if p.running--; p.running == 0 {
		e.end = e.now
	}
	return true
}

// AtIn schedules a call of target's handler in partition `in` at time t. While the engine is
// split, t must be at least the lookahead from now if the current partition is another one.
func (e *Engine) AtIn(in int32, t Time, target Target, kind Kind, arg uint64) {
	if !e.split || in == e.current {
		e.At(t, target, kind, arg)
		return
	}
	if t < e.horizon && e.current != 0 || t < e.now {
		panic(fmt.Sprintf("sim: partition %d schedules an event of partition %d at %v, within the lookahead of %v", e.current, in, t, e.now))
	}
	sent := crossing{e.now, e.current, in, t, Event{target, kind, arg}}
	if e.current == 0 {
		e.deliver(&sent)
	} else {
		e.outbox = append(e.outbox, sent)
	}
}

// crossing is an event that a partition has scheduled for another one.
type crossing struct {
	sent     Time // when it was scheduled
	from, to int32
	at       Time
	event    Event
}

// deliver adds c to the queue of its partition.
func (e *Engine) deliver(c *crossing) {
	e.queues[c.to].push(keyOf(c.at)-1, c.event.Target, c.event.Kind, c.event.Arg)
	e.parts[c.to].next = min(e.parts[c.to].next, c.at)
}

// deliverAll delivers the events that the partitions have scheduled in a window for each
// other. The order does not depend on the windows, or on the order in which they ran.
func (e *Engine) deliverAll() {
	slices.SortStableFunc(e.outbox, func(a, b crossing) int {
		return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.from, b.from))
	})
	for i := range e.outbox {
		e.deliver(&e.outbox[i])
	}
	e.outbox = e.outbox[:0]
}

// PostIn schedules ev in partition `in` at time t, as AtIn does. It does nothing for the zero
// Event.
func (e *Engine) PostIn(in int32, t Time, ev Event) {
	if ev.Target != 0 {
		e.AtIn(in, t, ev.Target, ev.Kind, ev.Arg)
	}
}

// runWindow runs all partitions for a window. It returns false if the host's next event or
// timer comes first, or if no event up to the time `limit` is left; in the second case it joins
// the partitions.
func (e *Engine) runWindow(w *watch, limit Time) bool {
	first, running := never, int32(0)
	for i := range e.parts {
		first = min(first, e.parts[i].next)
		running += e.parts[i].running
	}
	host := e.queue.first()
	if len(e.timers) > 0 {
		host = min(host, e.timers[0].at+1) // a timer fires after all events of its instant
	}
	switch {
	case first > limit && host > limit: // the limit is before never
		e.now = max(e.now, e.latest)
		e.Join()
		return false
	case host <= first:
		return false
	}
	lookahead := e.lookahead
	if e.Vary != nil {
		lookahead = max(1, lookahead/Time(e.Vary(8)+1))
	}
	end := min(first+lookahead, host, limit+1)
	e.horizon, e.failure = end, end
	if e.runPartitions(w, end, true); e.err == nil {
		done := true // no process is left for which the host waits
		for i := range e.parts {
			done = done && e.parts[i].running <= 0
		}
		if done = done && running > 0; done {
			end = e.latestLeft
		}
		e.runPartitions(w, end, false)
		e.enter(0)
		e.deliverAll()
		if e.reportFailures(); e.err == nil && done {
			e.now, e.By = end, 0
			e.Join()
			e.Post(end, e.left)
		}
	}
	e.enter(0)
	return true
}

// runPartitions runs the partitions with events before the time `end`: those with processes
// for which the host waits, or the others.
func (e *Engine) runPartitions(w *watch, end Time, running bool) {
	skip := 0
	if e.Vary != nil {
		skip = e.Vary(len(e.parts) - 1)
	}
	for k := 1; k < len(e.parts) && e.err == nil; k++ {
		i := k
		if skip > 0 {
			i = 1 + (k-1+skip)%(len(e.parts)-1)
		}
		if p := &e.parts[i]; p.next < end && (p.running > 0) == running {
			e.enter(int32(i))
			e.end = min(end, e.failure)
			e.runPartition(w, p)
		}
	}
}

// enter makes partition i the current one.
func (e *Engine) enter(i int32) { e.current, e.queue = i, &e.queues[i] }

// runPartition runs the events of p, the current partition, before e.end.
func (e *Engine) runPartition(w *watch, p *partition) {
	waited := p.running > 0
	p.next = never
	for e.err == nil {
		if e.ran >= e.nextCheck && !e.check(w) {
			return
		}
		if e.woken.Len() > 0 {
			e.wake()
			continue
		}
		at, ev, ok := e.queue.pop(e.end<<1 - 1)
		if !ok {
			p.next = at >> 1
			break
		}
		e.now, e.By = at>>1, 0
		e.ran++
		e.handlers[ev.Target].Handle(ev.Kind, ev.Arg)
	}
	e.latest = max(e.latest, e.now)
	if waited && p.running == 0 {
		e.latestLeft = max(e.latestLeft, e.now)
	}
}

// failed is a process that has panicked in a window.
type failed struct {
	proc *Proc
	err  *PanicError
}

// failIn records that process p of the current partition panicked with err. The other
// partitions run up to this instant. reportFailures reports the earliest failure.
func (e *Engine) failIn(p *Proc, err *PanicError) {
	e.failures = append(e.failures, failed{p, err})
	e.failure = min(e.failure, e.now+1)
	e.end = min(e.end, e.failure)
}

// reportFailures ends the run if processes have panicked. The error is the earliest of theirs,
// in the first partition that has one.
func (e *Engine) reportFailures() {
	slices.SortStableFunc(e.failures, func(a, b failed) int { return cmp.Compare(a.proc.part, b.proc.part) })
	for _, f := range e.failures {
		if f.err.At+1 == e.failure {
			e.report(f.proc, f.err)
		}
	}
	e.failures = nil
}
