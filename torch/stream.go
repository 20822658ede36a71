package torch

import (
	"iter"
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

	partial bool             // somebody has yet to call it
	forming []*worker        // who, of the workers
	strict  map[*stream]bool // in which what comes after it waits for it: it is not asynchronous there
	message bool             // between two ranks: asynchronous, and sent with others
	looks   int              // for what it waits for
	apart   glance           // who found last that it has no tensor in common with this one
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

// newOperation is an operation of the calling rank's stream.
func (c *Context) newOperation(name string, tensors ...*Tensor) *operation {
	s := &c.current.stream
	return &operation{name: name, streams: []*stream{s}, strict: map[*stream]bool{s: true}, tensors: tensors}
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
			if next.state == queued && next.strict[s] {
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

// glance is one of an operation's looks at those before it.
type glance struct {
	op     *operation
	number int
}

// after reports whether everything that the operation waits for has come as far as a
// state.
func (op *operation) after(state opState) bool {
	op.looks++
	for _, s := range op.streams {
		for _, earlier := range s.ops {
			if earlier == op {
				break
			}
			switch {
			case earlier.state >= state && !earlier.boxed:
			case earlier.strict[s]:
				return false
			case earlier.apart == glance{op, op.looks}: // it is in another stream too
			case op.shares(earlier):
				return false
			default:
				earlier.apart = glance{op, op.looks}
			}
		}
	}
	return true
}

// before is the operations of a stream that this one waits for.
func (op *operation) before(s *stream) iter.Seq[*operation] {
	return func(yield func(*operation) bool) {
		for _, earlier := range s.ops {
			if earlier == op || (earlier.strict[s] || op.shares(earlier)) && !yield(earlier) {
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
		for _, x := range other.tensors {
			x.marked = other
		}
		return slices.ContainsFunc(op.tensors, func(x *Tensor) bool { return x.marked == other })
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
