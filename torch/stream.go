package torch

import (
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// stream is the operations of a rank that have not ended, in the order in which it
// asked for them. Each begins when those before it have ended, but for asynchronous
// ones that it has no tensor in common with.
//
// An operation that cannot go on waits for one other operation, or for room in one
// stream, and is tried again when that has changed: see step.
type stream struct {
	ops    sequence
	strict sequence         // those that all later operations wait for
	ready  sequence         // those to try when the stream has changed
	room   sequence         // those that wait for room in command queues, of this order
	short  map[*stream]bool // the orders whose operations wait for room, also in this stream
	sent   int              // number of operations whose commands the device has
	last   int32            // of its launches in the op log, from 1; 0 if all before is known to be over
	calls  bool             // the order of a group's calls: it has room alone
}

// init makes a stream ready for use.
func (s *stream) init() {
	s.ops.of, s.strict.of, s.ready.of, s.room.of = s, s, s, s
	s.short = map[*stream]bool{}
}

// place is where an operation is in a stream.
type place struct {
	number int
	strict bool // later operations of the stream wait for it: it is not asynchronous there
}

// operation is something that takes simulated time: a launch, a copy, or a
// collective, which is in the streams of all its ranks and begins when it is its turn
// in each of them.
type operation struct {
	name    string
	streams []*stream // none for reads of the host, which wait for nothing but their tensor
	tensors []*Tensor // in use until it ends

	places  map[*stream]place // also in the calls of its group, of a collective of workers
	calls   *stream           // the calls of its group, of a collective of workers
	partial bool              // some rank has yet to call it
	forming []*Rank           // these ranks, of the workers
	message bool              // between two ranks: asynchronous, and sent with others
	send    func(done sim.Event) error
	begin   func(done sim.Event) error
	finish  func()       // at its end
	run     *machine.Run // while it is under way, if it is a program

	ready  bool         // to be tried when a stream of it has changed
	behind []*operation // that wait for this one

	members  []int        // of a collective, the rank in the world of each target; of a message, of its two ends
	lanes    []lane       // of a message
	settings ccl.Settings // of its group
	boxed    bool         // in the outbox
	touches  []touch

	of        *operation // that this one is a part of, if it is one of several programs
	source    int        // of a message: the rank of the world that sends it
	anySource bool       // a receive that was asked for without a source
	carrier   *operation // of a receive that was matched later: the send
	carries   *operation // of a send: such a receive

	timer   *sim.Timer // ends the workers, if the group has a timeout
	failure error      // of a barrier that some rank has not come to
	state   opState
	started bool                     // on the machine
	entered map[*stream]simtime.Time // when it came to the front of each, of a collective
	stats   Stats                    // of a collective that has ended
	number  int                      // by which events know it
	left    int                      // events until it ends
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

// newOperation returns an operation of the calling rank's stream.
func (r *Rank) newOperation(name string, tensors ...*Tensor) *operation {
	r.notCoalescing(name)
	return &operation{name: name, streams: []*stream{&r.stream}, places: map[*stream]place{}, tensors: tensors}
}

// notCoalescing checks that the worker is not within Coalescing, which takes collectives
// alone.
func (r *Rank) notCoalescing(name string) {
	refuse(r.coalescing != nil, "Coalescing", "%s is not a collective: do it before or after", name)
}

// enqueue puts an operation at the end of its stream, if it has one. Later operations of
// the stream wait for it. It never begins if a worker has failed.
func (r *Rank) enqueue(op *operation) {
	r.notCoalescing(op.name)
	if r.stopping {
		return
	}
	for _, x := range op.tensors {
		x.uses++
	}
	for _, s := range op.streams {
		r.place(op, s)
		op.hold(s)
		for _, x := range op.tensors {
			x.users.add(op)
		}
	}
	r.wake(op)
	r.advance(op)
}

// place puts an operation at the end of a stream.
func (c *Context) place(op *operation, s *stream) {
	c.placed++
	op.places[s] = place{number: c.placed}
	s.ops.add(op)
}

// hold makes later operations of a stream wait for this one.
func (op *operation) hold(s *stream) {
	if p, in := op.places[s]; in {
		op.places[s] = place{p.number, true}
		s.strict.add(op)
	}
}

// order returns the stream that says which operations come before this one: the calls of
// the group, of a collective of workers. Messages have no such stream.
func (op *operation) order() *stream {
	if op.calls != nil {
		return op.calls
	}
	return op.streams[0]
}

// wake has an operation tried when a stream of it changes, or has changed.
func (c *Context) wake(ops ...*operation) {
	for _, op := range ops {
		if !op.ready {
			op.ready = true
			for _, s := range op.streams {
				s.ready.add(op)
			}
		}
	}
}

// advance tries the operations that may go on, after a change of op or of its streams: in
// the order of these streams, and in each stream by place.
func (c *Context) advance(op *operation) {
	if len(op.streams) == 0 {
		c.step(op)
		return
	}
	for _, s := range op.streams {
		for from := 0; ; {
			i := s.ready.search(from)
			if i == len(s.ready.ops) {
				break
			}
			next := s.ready.ops[i]
			from = next.places[s].number + 1
			s.ready.remove(next)
			if next.ready { // it was not tried in another stream
				next.ready = false
				c.step(next)
			}
		}
	}
}

// step takes an operation as far as it may go now.
func (c *Context) step(op *operation) {
	c.looks++
	if c.err != nil || op.partial {
		return
	}
	ready := sent
	if op.message { // it is sent with others, when its turn has come
		ready = ended
	} else if op.state == queued && len(op.streams) > 0 {
		if !op.fits() {
			op.waitForRoom()
			return
		}
		defer c.admit(op.order())
	}
	if op.state == queued && c.after(op, ready) {
		op.number = c.operations.add(op)
		op.state = sent
		for _, s := range op.streams {
			s.sent++
		}
		if !op.message {
			c.passed(op)
		}
		if op.send != nil {
			c.failed(op, op.send(c.operations.event(op)))
		}
	}
	if op.state == sent && c.after(op, ended) {
		c.start(op)
	}
}

// passed wakes the operations that wait for this one.
func (c *Context) passed(op *operation) {
	c.wake(op.behind...)
	op.behind = op.behind[:0]
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

// fits reports whether the command queues have room for the operation.
func (op *operation) fits() bool {
	return !slices.ContainsFunc(op.streams, func(s *stream) bool { return s.sent >= ahead })
}

// waitForRoom puts an operation among those that wait for room.
func (op *operation) waitForRoom() {
	order := op.order()
	order.room.add(op)
	for _, s := range op.streams {
		s.short[order] = true
	}
}

// admit wakes the next operation of an order that waits for room, if there is room. The
// operations of an order are in the same streams.
func (c *Context) admit(order *stream) {
	if len(order.room.ops) == 0 || !order.room.ops[0].fits() {
		return
	}
	next := order.room.ops[0]
	if order.room.remove(next); len(order.room.ops) == 0 {
		for _, s := range next.streams {
			delete(s.short, order)
		}
	}
	c.wake(next)
}

// failed ends the machine if an operation could not be sent or begun: what is behind
// it could never begin.
func (c *Context) failed(op *operation, err error) {
	if err != nil && c.culprit == nil {
		c.culprit = op
		c.m.Engine.Stop(err)
	}
}
