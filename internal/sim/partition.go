package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// A machine of several devices has a partition for each device, and each partition has events
// of its own. While the engine is split, no partition acts on another in less than the
// lookahead. So each partition can run by itself for a window: up to the next event of any other
// partition plus the lookahead. Its state stays in the processor cache for that long.
//
// Partitions of one colour act on each other only through partitions of the other colour, so in
// twice the lookahead. When one colour has run, the other can run for twice as long as the
// lookahead: until the lookahead after the first colour's time. So the colours run by turns.
//
// Events of one partition at one time run in this order: those from other partitions, by the
// time at which they were scheduled, then by partition; then its own. Events that a partition
// schedules at one time keep their order. So results do not depend on the windows.
//
// Partition 0, the host, is different: an event of it may act on every partition at once. It
// runs when all partitions have reached its time.
//
// Several threads can run the partitions, each its share. In a window, no partition reads what
// another one changes, so that the results do not depend on the threads either.

// partition is what the engine knows about a partition besides its queue.
type partition struct {
	next    Time       // no event of the partition is earlier; never if there is none
	until   Time       // it has run up to this time
	running int32      // processes that the host waits for, see Split
	inbox   []crossing // events from other partitions that are not in the queue yet
}

// Partition prepares the engine for partitions 1 to n, which `threads` threads run. `lookahead`
// is the least time in which a partition acts on another. `colours` has a colour, 0 or 1, for each
// partition and for the host, so that two partitions of one colour act on each other in twice the
// lookahead at least; nil if there are no such colours. Partition must be called before the first
// event and before any handler is registered.
func (e *Engine) Partition(n int, lookahead Time, colours []uint8, threads int) {
	e.lookahead, e.colours = lookahead, colours
	e.parts = make([]partition, n+1)
	e.queues = append(e.queues, make([]queue, n)...)
	e.queue = &e.queues[0]
	for len(e.engines) < min(threads, n) {
		e.engines = append(e.engines, &Engine{thread: e.thread, shared: e.shared, own: thread{handlers: slices.Clone(e.handlers)}})
	}
}

// Of returns the Engine of the thread that runs partition i.
func (e *Engine) Of(i int32) *Engine { return e.engines[e.ThreadOf(i)] }

// ThreadOf returns the number of the thread that runs partition i.
func (e *Engine) ThreadOf(i int32) int { return int(max(i-1, 0)) % len(e.engines) }

// Threads returns the Engines of the threads that run partitions. The first is that of the host.
func (e *Engine) Threads() []*Engine { return e.engines }

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
	e.split, e.left, e.failed = true, left, never
	for _, other := range e.engines {
		other.own.latest, other.own.latestLeft = e.now, e.now
	}
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
	for _, other := range e.engines[1:] {
		e.unusedIDs = append(e.unusedIDs, other.own.unusedIDs...)
		other.own.unusedIDs = other.own.unusedIDs[:0]
	}
	e.endWindow(never)
	for i := 1; i < len(e.queues); i++ {
		e.parts[i].receive(&e.queues[i], never)
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
	if t < e.parts[in].until || t < e.now {
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

// deliver passes c to its partition.
func (e *Engine) deliver(c *crossing) {
	p := &e.parts[c.to]
	p.inbox = append(p.inbox, *c)
	p.next = min(p.next, c.at)
}

// deliverAll delivers the events that the partitions have scheduled in a window for each
// other.
func (e *Engine) deliverAll() {
	for _, other := range e.engines {
		for i := range other.own.outbox {
			e.deliver(&other.own.outbox[i])
		}
		other.own.outbox = other.own.outbox[:0]
	}
}

// receive moves the events before the time `end` from the inbox of p to its queue q. All events
// from other partitions that are due before this time are in the inbox. So their order does not
// depend on the windows, or on the order in which the partitions ran.
func (p *partition) receive(q *queue, end Time) {
	due := slices.IndexFunc(p.inbox, func(c crossing) bool { return c.at < end })
	if due < 0 {
		return
	}
	slices.SortStableFunc(p.inbox, func(a, b crossing) int {
		return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.from, b.from))
	})
	later := p.inbox[:0]
	for _, c := range p.inbox {
		if c.at < end {
			q.push(keyOf(c.at)-1, c.event.Target, c.event.Kind, c.event.Arg)
		} else {
			later = append(later, c)
		}
	}
	p.inbox = later
}

// PostIn schedules ev in partition `in` at time t, as AtIn does. It does nothing for the zero
// Event.
func (e *Engine) PostIn(in int32, t Time, ev Event) {
	if ev.Target != 0 {
		e.AtIn(in, t, ev.Target, ev.Kind, ev.Arg)
	}
}

// group is a set of partitions that run together.
type group int

const (
	colour0 group = iota // partitions with processes for which the host waits, of colour 0
	colour1              // likewise, of colour 1
	others               // all other partitions
	nGroups
)

// groupOf returns the group of partition i.
func (e *Engine) groupOf(i int) group {
	switch {
	case e.parts[i].running <= 0:
		return others
	case e.colours != nil:
		return colour0 + group(e.colours[i])
	}
	return colour0
}

// firstEvents returns the time of the first event of each group.
func (e *Engine) firstEvents() (first [nGroups]Time) {
	for g := range first {
		first[g] = never
	}
	for i := 1; i < len(e.parts); i++ {
		g := e.groupOf(i)
		first[g] = min(first[g], e.parts[i].next)
	}
	return first
}

// windowOf returns the end of a window of a group, given the first events of all groups. The
// partitions that the host does not wait for do not run ahead of the others, since a launch ends
// with an event of those.
func (e *Engine) windowOf(g group, first [nGroups]Time) Time {
	own := e.lookahead
	if e.colours != nil && g != others {
		own *= 2
	}
	end := first[g] + own
	for h, at := range first {
		switch {
		case group(h) == g:
		case g == others:
			end = min(end, at)
		default:
			end = min(end, at+e.lookahead)
		}
	}
	return end
}

// runWindow runs each group of partitions for a window. It returns false if the host's next
// event or timer comes first, or if no event up to the time `limit` is left; in the second case
// it joins the partitions.
func (e *Engine) runWindow(limit Time) bool {
	host := e.queue.first()
	if len(e.timers) > 0 {
		host = min(host, e.timers[0].at+1) // a timer fires after all events of its instant
	}
	times := e.firstEvents()
	first := slices.Min(times[:])
	e.endWindow(first)
	switch {
	case first > e.failed:
		e.reportFailures()
		return true
	case first > limit && host > limit: // the limit is before never
		for _, other := range e.engines {
			e.now = max(e.now, other.own.latest)
		}
		e.Join()
		return false
	case host <= first:
		return false
	}
	left, ends := e.allLeft(), false // ends: the last process has left in this window
	for g := range nGroups {
		if ends = !left && e.allLeft(); ends {
			break
		}
		if g > 0 {
			times = e.firstEvents()
		}
		end := e.windowOf(g, times)
		if e.Vary != nil && end > times[g] {
			end = times[g] + max(1, (end-times[g])/Time(e.Vary(8)+1))
		}
		e.runGroup(g, min(end, host, limit+1, e.failed+1))
	}
	if !ends || e.err != nil || e.failed < never {
		return true
	}
	// The others reach the time at which the last process has left.
	end := Time(0)
	for _, other := range e.engines {
		end = max(end, other.own.latestLeft)
	}
	for e.err == nil {
		times = e.firstEvents()
		if times[others] >= end {
			break
		}
		e.runGroup(others, min(end, times[others]+e.lookahead))
	}
	if e.err == nil {
		e.now, e.By = end, 0
		e.Join()
		e.Post(end, e.left)
	}
	return true
}

// allLeft reports whether all processes have left for which the host waits.
func (e *Engine) allLeft() bool {
	return !slices.ContainsFunc(e.parts, func(p partition) bool { return p.running > 0 })
}

// endWindow tells the models that the partitions have reached a time.
func (e *Engine) endWindow(reached Time) {
	if e.WindowEnded != nil {
		e.WindowEnded(reached)
	}
}

// runGroup runs the events of a group before the time `end`.
func (e *Engine) runGroup(g group, end Time) {
	if e.err != nil {
		return
	}
	busy := false
	for i := 1; i < len(e.parts); i++ {
		if p := &e.parts[i]; e.groupOf(i) == g {
			p.until = max(p.until, end)
			busy = busy || p.next < end
		}
	}
	if !busy {
		return
	}
	w := window{group: g, end: end}
	if e.Vary != nil {
		w.skip = e.Vary(len(e.parts))
	}
	e.runThreads(w)
	e.deliverAll()
	for _, other := range e.engines {
		for _, f := range other.own.failures {
			e.failed = min(e.failed, f.err.At)
		}
	}
}

// window says which events the threads run: those of a group before the time `end`.
type window struct {
	group group
	end   Time
	skip  int // the number of partitions by which a thread rotates its share; only in tests
}

// runThreads runs window w with all threads.
func (e *Engine) runThreads(w window) {
	if len(e.engines) == 1 {
		e.runShare(0, w)
		e.enter(0)
		return
	}
	for _, other := range e.engines[1:] {
		other.thread = &other.own
	}
	e.helpers.start(e.engines)
	e.helpers.run(w)
	e.runShare(0, w)
	e.helpers.wait()
	e.enter(0)
	for _, other := range e.engines[1:] {
		if c := other.own.crash; c != nil {
			panic(c)
		}
		if e.err == nil {
			e.err = other.own.err
		}
		other.thread = e.thread
	}
}

// runShare runs window w for the partitions of thread number `thread`, which is that of e.
func (e *Engine) runShare(thread int, w window) {
	n, threads := len(e.parts)-1, len(e.engines)
	share := (n - thread + threads - 1) / threads
	for k := 0; k < share && e.err == nil; k++ {
		i := 1 + thread + (k+w.skip)%share*threads
		if p := &e.parts[i]; p.next < w.end && e.groupOf(i) == w.group {
			e.enter(int32(i))
			e.end = w.end
			e.runPartition(p)
		}
	}
}

// enter makes partition i the current one.
func (e *Engine) enter(i int32) { e.current, e.queue = i, &e.queues[i] }

// runPartition runs the events of p, the current partition, before e.end.
func (e *Engine) runPartition(p *partition) {
	running := p.running > 0
	p.receive(e.queue, e.end)
	p.next = never
	for e.err == nil {
		if e.ran >= e.nextCheck && !e.check() {
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
	for i := range p.inbox {
		p.next = min(p.next, p.inbox[i].at)
	}
	e.latest = max(e.latest, e.now)
	if running && p.running == 0 {
		e.latestLeft = max(e.latestLeft, e.now)
	}
}

// failed is a process that has panicked in a window.
type failed struct {
	proc *Proc
	err  *PanicError
}

// failIn records that process p of the current partition panicked with err. The partition runs
// to the end of this instant. reportFailures reports the earliest failure of all partitions.
func (e *Engine) failIn(p *Proc, err *PanicError) {
	e.failures = append(e.failures, failed{p, err})
	e.end = min(e.end, e.now+1)
}

// reportFailures ends the run if processes have panicked. The error is the earliest of theirs,
// in the first partition that has one.
func (e *Engine) reportFailures() {
	var all []failed
	for _, other := range e.engines {
		all = append(all, other.own.failures...)
		other.own.failures = nil
	}
	slices.SortStableFunc(all, func(a, b failed) int { return cmp.Compare(a.proc.part, b.proc.part) })
	for _, f := range all {
		if f.err.At == e.failed {
			e.report(f.proc, f.err)
		}
	}
}
