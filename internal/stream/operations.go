package stream

import (
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
)

// operations is those that have been sent, by number: the handler of their ends.
type operations struct {
	s      *Scheduler
	target sim.Target
	all    []*Operation
	unused []int
	later  []func() // see Later
}

const (
	evEnd   sim.Kind = iota // of something that an operation waits for
	evLater                 // the first of later is due
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

// event is what is called at each end that an operation waits for.
func (o *operations) event(op *Operation) sim.Event {
	return sim.Event{Target: o.target, Arg: uint64(op.number)}
}

// Handle counts an end, and with the last of them the operation has ended.
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

// Ended counts one of the ends that an operation waits for.
func (s *Scheduler) Ended(op *Operation) { s.operations.Handle(evEnd, uint64(op.number)) }

// end takes an operation out of its streams and lets what waited for it go on.
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
		for order := range in.short {
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
	op.Send, op.Begin, op.Finish, op.regions, op.touches, op.streams = nil, nil, nil, nil, nil, nil // a storage may keep it
	op.places, op.behind, op.carrier, op.carries = nil, nil, nil, nil
}

// leave takes an operation out of its streams and wakes those that wait for it.
func (s *Scheduler) leave(op *Operation) {
	for _, in := range op.streams {
		if in.ops.remove(op) {
			in.strict.remove(op)
			in.ready.remove(op)
		}
	}
	if len(op.places) > 0 && !op.Message {
		op.order().room.remove(op)
		for _, x := range op.regions {
			x.users.remove(op)
		}
	}
	for _, t := range op.touches {
		t.users.removeMessage(op, t)
	}
	s.passed(op)
}

// release lets an operation's storages go.
func (s *Scheduler) release(op *Operation) {
	for _, x := range op.regions {
		if x.uses--; x.uses == 0 && x.freed {
			s.Failed(op, x.unmap())
		}
	}
}

// Starting is called when an operation starts to do something to the machine. It is the
// launches of the log that it comes after.
func (s *Scheduler) Starting(op *Operation) (after []int32) {
	if s.inFlight == 0 {
		s.quiet()
	}
	s.inFlight++
	op.started = true
	if s.Machine.Log == nil || op.Run == nil {
		return nil
	}
	next := int32(len(s.Machine.Log.Launches)) // its own number
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

// use is the use of a storage by the operations of a stream.
type use struct {
	x  *Storage
	in *Stream
}

// quiet is called when nothing is under way: what comes is ordered after all that was,
// and the log may be begun anew.
func (s *Scheduler) quiet() {
	if s.Values != nil && !s.KeepsLog && len(s.Machine.Log.Ops) > longLog {
		if err := s.Values.Flush(); err != nil {
			s.Machine.Engine.Stop(err)
			return
		}
		s.Machine.Log.Reset()
		s.compute()
	}
	s.Machine.LogBarrier()
	s.main.stream.last = 0
	for _, r := range s.ranks {
		r.stream.last = 0
	}
	clear(s.lastUse)
}
