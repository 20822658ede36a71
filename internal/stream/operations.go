package stream

import (
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
)

// operations is the table of the operations that have been sent, by number. It handles the
// events that end them.
type operations struct {
	s      *Scheduler
	target sim.Target
	all    []*Operation
	unused []int
	later  []func() // functions that Later has posted, in order
}

const (
	evEnd   sim.Kind = iota // one of the events that an operation waits for
	evLater                 // the first function of later is due
)

func (o *operations) add(op *Operation) int {
	if n := len(o.unused); n > 0 {
		k := o.unused[n-1]
		o.unused, o.all[k] = o.unused[:n-1], op
		return k
	}
	o.all = append(o.all, op)
	return len(o.all) - 1
}

// event returns the event to post for each Expect of an operation.
func (o *operations) event(op *Operation) sim.Event {
	return sim.Event{Target: o.target, Arg: uint64(op.number)}
}

// Handle counts one event of an operation and ends the operation with the last one. For
// evLater it calls the next function of later.
func (o *operations) Handle(kind sim.Kind, arg uint64) {
	if kind == evLater {
		due := o.later[0]
		o.s.Machine.Engine.By = sim.Mark(arg)
		o.later = o.later[1:]
		due()
		return
	}
	op := o.all[arg]
	if op.left--; op.left > 0 {
		return
	}
	o.all[arg] = nil
	o.unused = append(o.unused, int(arg))
	o.s.end(op)
}

// Ended counts one of the events that an operation waits for.
func (s *Scheduler) Ended(op *Operation) { s.operations.Handle(evEnd, uint64(op.number)) }

// end removes an operation from its streams, and lets the operations and ranks that waited
// for it continue.
func (s *Scheduler) end(op *Operation) {
	op.state = ended
	s.traceEnd(op)
	op.timer.Stop()
	if op.started {
		s.inFlight--
	}
	if op.Finish != nil {
		op.Finish()
	}
	s.release(op)
	for _, in := range op.streams {
		if _, placed := op.places[in]; placed {
			in.sent--
		}
	}
	s.leave(op)
	for _, in := range op.streams {
		for order := range in.blockedOrders {
			s.admit(order)
		}
		s.enter(in)
	}
	for _, p := range op.waiters {
		p.Wake()
	}
	if s.awaited == op {
		s.Machine.Engine.Pause()
	}
	if len(op.streams) > 0 {
		s.Advance(op)
	}
	// A storage may keep a pointer to op: free the memory that op refers to.
	op.Send, op.Begin, op.Finish, op.regions, op.endpoints, op.streams = nil, nil, nil, nil, nil, nil
	op.places, op.dependents, op.carrier, op.carries = nil, nil, nil, nil
}

// leave removes an operation from its streams and storages, and wakes the operations that
// wait for it.
func (s *Scheduler) leave(op *Operation) {
	for _, in := range op.streams {
		if in.ops.remove(op) {
			in.strict.remove(op)
			in.ready.remove(op)
		}
	}
	if len(op.places) > 0 && !op.Message {
		op.order().blocked.remove(op)
		for _, x := range op.regions {
			x.users.remove(op)
		}
	}
	for _, t := range op.endpoints {
		t.users.removeMessage(op, t)
	}
	s.wakeDependents(op)
}

// release ends an operation's use of its storages. It unmaps storages that were freed in
// the meantime.
func (s *Scheduler) release(op *Operation) {
	for _, x := range op.regions {
		if x.uses--; x.uses == 0 && x.freed {
			s.Failed(op, x.unmap())
		}
	}
}

// Starting is called when an operation starts on the machine. It returns the launches of
// the op log that the operation comes after.
func (s *Scheduler) Starting(op *Operation) (after []int32) {
	if s.inFlight == 0 {
		s.onIdle()
	}
	s.inFlight++
	op.started = true
	if s.Machine.Log == nil || op.Run == nil {
		return nil
	}
	next := int32(len(s.Machine.Log.Launches)) // the number of the operation's own launch
	note := func(last int32, known bool) {
		if known && !slices.Contains(after, last) {
			after = append(after, last)
		}
	}
	whole := op.Whole()
	for _, in := range op.streams {
		note(in.last-1, in.last > 0)
		if whole.places[in].strict {
			in.last = next + 1
		}
		for _, x := range whole.regions {
			last, known := s.lastUse[use{x.Storage, in}]
			note(last, known && last != next)
			s.lastUse[use{x.Storage, in}] = next
		}
	}
	return after
}

// use identifies the use of a storage by the operations of a stream.
type use struct {
	x  *Storage
	in *Stream
}

// onIdle is called when no operation is in flight. Everything that follows is ordered after
// everything before, so the op log may be cleared.
func (s *Scheduler) onIdle() {
	if s.Values != nil && !s.KeepsLog && len(s.Machine.Log.Ops) > longLog {
		if err := s.Values.Flush(); err != nil {
			s.Machine.Engine.Stop(err)
			return
		}
		s.Machine.Log.Reset()
		s.startExecutor()
	}
	s.Machine.LogBarrier()
	s.main.stream.last = 0
	for _, r := range s.ranks {
		r.stream.last = 0
	}
	clear(s.lastUse)
}
