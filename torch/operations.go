package torch

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
)

// operations is those that have been sent, by number: the handler of their ends.
type operations struct {
	ctx    *Context
	target sim.Target
	all    []*operation
	unused []int
}

const (
	evEnd      sim.Kind = iota // of something that an operation waits for
	evMessages                 // of this instant are all there
	evMatch                    // receives from any source
)

func (o *operations) add(op *operation) int {
	if n := len(o.unused); n > 0 {
		k := o.unused[n-1]
		o.unused, o.all[k] = o.unused[:n-1], op
		return k
	}
	o.all = append(o.all, op)
	return len(o.all) - 1
}

// event is what is called at each end that an operation waits for.
func (o *operations) event(op *operation) sim.Event {
	return sim.Event{Target: o.target, Arg: uint64(op.number)}
}

// Handle counts an end, and with the last of them the operation has ended.
func (o *operations) Handle(kind sim.Kind, arg uint64) {
	switch kind {
	case evMessages:
		o.ctx.m.Engine.By = sim.Mark(arg)
		o.ctx.exchange()
		return
	case evMatch:
		o.ctx.m.Engine.By = sim.Mark(arg)
		o.ctx.match()
		return
	}
	op := o.all[arg]
	if op.left--; op.left > 0 {
		return
	}
	o.all[arg] = nil
	o.unused = append(o.unused, int(arg))
	o.ctx.end(op)
}

// end takes an operation out of its streams and lets what waited for it go on.
func (c *Context) end(op *operation) {
	op.state = ended
	c.traceEnd(op)
	op.timer.Stop()
	if op.started {
		c.inFlight--
	}
	if op.finish != nil {
		op.finish()
	}
	c.release(op)
	for _, s := range op.streams {
		if _, in := op.places[s]; in {
			s.sent--
		}
	}
	c.leave(op)
	for _, s := range op.streams {
		for order := range s.short {
			c.admit(order)
		}
		c.enter(s)
	}
	for _, p := range op.waiters {
		p.Wake()
	}
	if c.awaited == op {
		c.m.Engine.Pause()
	}
	if len(op.streams) > 0 {
		c.advance(op)
	}
	op.send, op.begin, op.finish, op.tensors, op.touches, op.streams = nil, nil, nil, nil, nil, nil // a tensor may keep it
	op.places, op.behind, op.carrier, op.carries = nil, nil, nil, nil
}

// leave takes an operation out of its streams and wakes those that wait for it.
func (c *Context) leave(op *operation) {
	for _, s := range op.streams {
		if s.ops.remove(op) {
			s.strict.remove(op)
			s.ready.remove(op)
		}
	}
	if len(op.places) > 0 && !op.message {
		op.order().room.remove(op)
		for _, x := range op.tensors {
			x.users.remove(op)
		}
	}
	for _, t := range op.touches {
		t.x.users.removeMessage(op, t)
	}
	c.passed(op)
}

// enter notes that a rank has come to the collective that is at the front of its
// stream, if one is.
func (c *Context) enter(s *stream) {
	if len(s.ops.ops) == 0 || s.ops.ops[0].entered == nil {
		return
	}
	if _, known := s.ops.ops[0].entered[s]; !known {
		s.ops.ops[0].entered[s] = c.Now()
	}
}

// spread returns how far apart the ranks came to a collective.
func (op *operation) spread() Time {
	times := slices.Collect(maps.Values(op.entered))
	if len(times) == 0 {
		return 0
	}
	return slices.Max(times) - slices.Min(times)
}

// release lets an operation's tensors go.
func (c *Context) release(op *operation) {
	for _, x := range op.tensors {
		if x.uses--; x.uses == 0 && x.freed {
			c.failed(op, x.unmap())
		}
	}
}

// starting is called when an operation starts to do something to the machine. It is the
// launches of the log that it comes after.
func (c *Context) starting(op *operation) (after []int32) {
	if c.inFlight == 0 {
		c.quiet()
	}
	c.inFlight++
	op.started = true
	if c.m.Log == nil || op.run == nil {
		return nil
	}
	next := int32(len(c.m.Log.Launches)) // its own number
	note := func(last int32, known bool) {
		if known && !slices.Contains(after, last) {
			after = append(after, last)
		}
	}
	whole := op.whole()
	for _, s := range op.streams {
		note(s.last-1, s.last > 0)
		if whole.places[s].strict {
			s.last = next + 1
		}
		for _, x := range whole.tensors {
			last, known := c.lastUse[use{x.storage, s}]
			note(last, known && last != next)
			c.lastUse[use{x.storage, s}] = next
		}
	}
	return after
}

// whole returns the operation that an operation is a part of, or is.
func (op *operation) whole() *operation { return cmp.Or(op.of, op) }

// use is the use of a storage by the operations of a stream.
type use struct {
	x *storage
	s *stream
}

// quiet is called when nothing is under way: what comes is ordered after all that was,
// and the log may be begun anew.
func (c *Context) quiet() {
	if c.data != nil && !c.options.KeepLog && !c.options.Race && len(c.m.Log.Ops) > longLog {
		if err := c.data.Flush(); err != nil {
			c.m.Engine.Stop(err)
			return
		}
		c.m.Log.Reset()
		c.compute()
	}
	c.m.Boundary()
	c.driver.stream.last = 0
	for _, w := range c.workers {
		w.stream.last = 0
	}
	clear(c.lastUse)
}
