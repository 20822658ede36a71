package stream

import (
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
)

// operations is the table of the operations that have been sent and have not ended, by
// number. It handles the events by which operations end.
type operations struct {
	s      *Scheduler
	target sim.Target
	all    []*Operation
	unused []int
	later  []func() // functions that were passed to Later and not called yet, in order
}

const (
	evEnd   sim.Kind = iota // one of the events that must happen before an operation ends
	evLater                 // the first function of later is due
)

// add stores op in the table and returns the number of op.
func (o *operations) add(op *Operation) int {
	if n := len(o.unused); n > 0 {
		k := o.unused[n-1]
		o.unused, o.all[k] = o.unused[:n-1], op
		return k
	}
	o.all = append(o.all, op)
	return len(o.all) - 1
}

// event returns the event that must be posted once for each Expect of op.
func (o *operations) event(op *Operation) sim.Event {
	return sim.Event{Target: o.target, Arg: uint64(op.number)}
}

// Handle handles an event. For evEnd, it counts one event of the operation with number
// `arg`. If the operation waits for no further event, Handle ends the operation. For
// evLater, it calls the first function in o.later; `arg` is the activity in which Later was
// called.
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

// Ended counts one of the events that op waits for, and ends op if it is the last one.
func (s *Scheduler) Ended(op *Operation) { s.operations.Handle(evEnd, uint64(op.number)) }

// end marks op as ended, removes op from its streams, and lets the operations and ranks
// that waited for op continue.
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

// leave removes op from its streams and storages, and wakes the operations that wait for
// op.
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

// release records that op no longer uses its storages. If op was the last user of a storage
// that has been freed, release unmaps the storage.
func (s *Scheduler) release(op *Operation) {
	for _, x := range op.regions {
		if x.uses--; x.uses == 0 && x.freed {
			s.Failed(op, x.unmap())
		}
	}
}

// Starting records that op starts on the machine. It returns the numbers of the launches in
// the op log that op must come after.
func (s *Scheduler) Starting(op *Operation) (after []int32) {
	if s.inFlight == 0 {
		s.onIdle()
	}
	s.inFlight++
	op.started = true
	if !s.Machine.Log.Kept() || op.Run == nil {
		return nil
	}
	next := int32(len(s.Machine.Log.Launches)) // the number that the launch of op will have
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

// use identifies the operations of one stream that use one storage.
type use struct {
	x  *Storage
	in *Stream
}

// onIdle prepares for an operation that starts while no other operation is in flight. All
// later operations then come after all earlier ones. Therefore onIdle forgets which
// launches used which storages.
func (s *Scheduler) onIdle() {
	s.Machine.LogBarrier()
	s.main.stream.last = 0
	for _, r := range s.ranks {
		r.stream.last = 0
	}
	clear(s.lastUse)
}
