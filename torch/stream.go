package torch

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
)

// stream is the operations of a rank that have not ended, in the order in which it
// asked for them. Each begins when those before it have ended, but for asynchronous
// ones that it has no tensor in common with.
type stream struct {
	ops  []*operation
	sent int   // of these
	last int32 // of its launches in the op log, from 1; 0 if all before is known to be over
}

// operation is something that takes simulated time: a launch, a copy, or a
// collective, which is in the streams of all its ranks and begins when it is its turn
// in each of them.
type operation struct {
	name    string
	streams []*stream // none for reads of the host, which wait for nothing but their tensor
	tensors []*Tensor // in use until it ends

	partial bool      // somebody has yet to call it
	forming []*worker // who, of the workers
	strict  []*stream // in which what comes after it waits for it: it is not asynchronous there
	message bool      // between two ranks: asynchronous, and sent with others
	send    func(done sim.Event) error
	begin   func(done sim.Event) error
	finish  func()       // at its end
	run     *machine.Run // while it is under way, if it is a program

	lanes    []lane       // of a message
	settings ccl.Settings // of its group
	boxed    bool         // in the outbox
	touches  []touch

	state   opState
	started bool                 // on the machine
	entered map[*stream]sim.Time // when it came to the front of each, of a collective
	number  int                  // by which events know it
	left    int                  // events until it ends
	waiters []*sim.Proc
}

type opState uint8

const (
	queued opState = iota
	sent           // its commands are on their way to the device
	begun
	ended
)

// ahead is how many operations of a stream the device's command queue holds: these
// are sent before their turn, so that the way from the host takes no time of its own.
const ahead = 64

// operations is those that have been sent, by number: the handler of their ends.
type operations struct {
	ctx    *Context
	target sim.Target
	all    []*operation
	unused []int
}

// newOperation is an operation of the calling rank's stream.
func (c *Context) newOperation(name string, tensors ...*Tensor) *operation {
	s := []*stream{&c.current.stream}
	return &operation{name: name, streams: s, strict: s, tensors: tensors}
}

// enqueue puts an operation at the end of its streams.
func (c *Context) enqueue(op *operation) {
	for _, x := range op.tensors {
		x.uses++
	}
	for _, s := range op.streams {
		s.ops = append(s.ops, op)
	}
	c.advance(op)
}

// advance sends and begins what can be, after a change of the operation's streams.
func (c *Context) advance(op *operation) {
	if len(op.streams) == 0 {
		c.step(op)
		return
	}
	for _, s := range op.streams {
		for i := 0; i < len(s.ops); i++ {
			next := s.ops[i]
			c.step(next)
			if i < len(s.ops) && s.ops[i] != next {
				i-- // it has ended
				continue
			}
			if next.state == queued && slices.Contains(next.strict, s) {
				break
			}
		}
	}
}

// step takes an operation as far as it may go now.
func (c *Context) step(op *operation) {
	if c.err != nil || op.partial {
		return
	}
	ready := sent
	if op.message { // it is sent with others, when its turn has come
		ready = ended
	}
	if op.state == queued && op.fits() && op.after(ready) {
		op.number = c.operations.add(op)
		op.state = sent
		for _, s := range op.streams {
			s.sent++
		}
		if op.send != nil {
			c.failed(op, op.send(c.operations.event(op)))
		}
	}
	if op.state == sent && op.after(ended) {
		c.start(op)
	}
}

// start begins an operation.
func (c *Context) start(op *operation) {
	op.state = begun
	op.left++          // so that it does not end while it begins
	if op.run == nil { // a program starts when its PEs are free
		c.starting(op)
	}
	c.failed(op, op.begin(c.operations.event(op)))
	c.operations.Handle(evEnd, uint64(op.number))
}

// after reports whether everything that the operation waits for has come as far as a
// state.
func (op *operation) after(state opState) bool {
	for _, s := range op.streams {
		for earlier := range op.before(s) {
			if earlier.state < state || earlier.boxed {
				return false
			}
		}
	}
	return true
}

// before is the operations of a stream that this one waits for.
func (op *operation) before(s *stream) iter.Seq[*operation] {
	return func(yield func(*operation) bool) {
		for _, earlier := range s.ops {
			if earlier == op || (slices.Contains(earlier.strict, s) || op.shares(earlier)) && !yield(earlier) {
				return
			}
		}
	}
}

// fits reports whether the command queues have room for the operation. Messages are not
// sent ahead.
func (op *operation) fits() bool {
	return op.message || !slices.ContainsFunc(op.streams, func(s *stream) bool { return s.sent >= ahead })
}

// shares reports whether two operations have a tensor in common, or two messages the
// same part of one.
func (op *operation) shares(other *operation) bool {
	if !op.message || !other.message {
		return slices.ContainsFunc(op.tensors, func(x *Tensor) bool { return slices.Contains(other.tensors, x) })
	}
	return slices.ContainsFunc(op.touches, func(t touch) bool { return slices.Contains(other.touches, t) })
}

// touch is one end of a message: a tensor, in a program without Spawn a part of it.
type touch struct {
	x    *Tensor
	part int
}

// failed ends the machine if an operation could not be sent or begun: what is behind
// it could never begin.
func (c *Context) failed(op *operation, err error) {
	if err != nil && c.culprit == nil {
		c.culprit = op
		c.m.Engine.Stop(err)
	}
}

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

const (
	evEnd      sim.Kind = iota // of something that an operation waits for
	evMessages                 // of this instant are all there
)

// Handle counts an end, and with the last of them the operation has ended.
func (o *operations) Handle(kind sim.Kind, arg uint64) {
	if kind == evMessages {
		o.ctx.exchange()
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
	if op.started {
		c.inFlight--
	}
	if op.finish != nil {
		op.finish()
	}
	c.release(op)
	for _, s := range op.streams {
		if n := len(s.ops); n > 0 {
			if s.ops = slices.DeleteFunc(s.ops, func(o *operation) bool { return o == op }); len(s.ops) < n {
				s.sent--
			}
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
	op.send, op.begin, op.finish, op.tensors, op.streams = nil, nil, nil, nil, nil // a tensor may keep it
}

// enter notes that a rank has come to the collective that is at the front of its
// stream, if one is.
func (c *Context) enter(s *stream) {
	if len(s.ops) == 0 || s.ops[0].entered == nil {
		return
	}
	if _, known := s.ops[0].entered[s]; !known {
		s.ops[0].entered[s] = c.Now()
	}
}

// spread is how far apart the ranks came to a collective.
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
	for _, s := range op.streams {
		note(s.last-1, s.last > 0)
		if slices.Contains(op.strict, s) {
			s.last = next + 1
		}
		for _, x := range op.tensors {
			last, known := c.lastUse[use{x, s}]
			note(last, known && last != next)
			c.lastUse[use{x, s}] = next
		}
	}
	return after
}

// use is the use of a tensor by the operations of a stream.
type use struct {
	x *Tensor
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

// await waits for an operation: a worker lets others go on meanwhile, the host drives
// the machine.
func (c *Context) await(op *operation) error {
	w := c.current
	for op.state != ended && c.err == nil {
		if w.proc != nil {
			op.waiters = append(op.waiters, w.proc)
			c.park(w, op)
			continue
		}
		c.awaited = op
		err := c.run()
		if c.lost.Load() != nil {
			return err
		}
		if err == nil && op.state != ended && c.awaited == op {
			c.err = misuse(op.name, "nothing is left that could end it")
		}
		c.awaited = nil
	}
	if op.state == ended {
		return nil
	}
	return c.reason()
}

// reason is why the machine has ended, for whoever waits for it.
func (c *Context) reason() error {
	if op := c.guilty(); op != nil {
		return fmt.Errorf("%s: %w", op.name, unwrap(c.err))
	}
	return unwrap(c.err)
}

// guilty is the operation that ended the machine, if one did: it failed, or nothing
// else was under way.
func (c *Context) guilty() *operation {
	if c.culprit != nil {
		return c.culprit
	}
	var under []*operation
	for _, op := range c.operations.all {
		if op == nil || op.state != begun {
			continue
		}
		if op.run != nil && op.run.Failed() {
			return op
		}
		under = append(under, op)
	}
	if len(under) == 1 && under[0].run != nil && c.ctx.Err() == nil {
		return under[0]
	}
	return nil
}

// Synchronize waits for everything that this rank has asked for.
func (c *Context) Synchronize() error {
	if err := c.operation("Synchronize"); err != nil {
		return err
	}
	s := &c.current.stream
	for len(s.ops) > 0 {
		if err := c.await(s.ops[len(s.ops)-1]); err != nil {
			return err
		}
	}
	if c.data != nil {
		return c.flush()
	}
	return c.err
}

// flush computes the values of what has happened.
func (c *Context) flush() error {
	if err := c.data.Flush(); err != nil && c.err == nil {
		c.err = err
	}
	return c.err
}
