package stream

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// Stream is operations that have not ended, in the order in which a rank asked for them. Each
// begins when those before it have ended, but for asynchronous ones that it has no storage in
// common with.
//
// An operation that cannot go on waits for one other operation, or for room in one
// stream, and is tried again when that has changed: see step.
type Stream struct {
	ops    sequence
	strict sequence         // those that all later operations wait for
	ready  sequence         // those to try when the stream has changed
	room   sequence         // those that wait for room in command queues, of this order
	short  map[*Stream]bool // the orders whose operations wait for room, also in this stream
	sent   int              // number of operations whose commands the device has
	last   int32            // of its launches in the op log, from 1; 0 if all before is known to be over
	calls  bool             // the order of a group's calls: it has room alone
}

// init makes a stream ready for use.
func (s *Stream) init() {
	s.ops.of, s.strict.of, s.ready.of, s.room.of = s, s, s, s
	s.short = map[*Stream]bool{}
}

// NewCalls returns the order of the calls of a group of ranks, which is that in all their
// streams.
func NewCalls() *Stream {
	s := &Stream{calls: true}
	s.init()
	return s
}

// place is where an operation is in a stream.
type place struct {
	number int
	strict bool // later operations of the stream wait for it: it is not asynchronous there
}

// Operation is something that takes simulated time: a launch, a copy, or a collective, which
// is in the streams of all its ranks and begins when it is its turn in each of them.
type Operation struct {
	Name      string
	Algorithm string                     // of a collective
	Send      func(done sim.Event) error // sends its commands to the device, before its turn
	Begin     func(done sim.Event) error // begins it
	Finish    func()                     // is called at its end
	Run       *machine.Run               // while it is under way, if it is a program
	Forming   []*Rank                    // that have yet to call it
	Message   bool                       // between two ranks: asynchronous, and sent with others
	// AnySource marks a receive that was asked for without a source.
	AnySource bool

	streams []*Stream // none for reads of the host, which wait for nothing but their storage
	regions []*Region // in use until it ends

	places  map[*Stream]place // also in the calls of its group, of a collective of ranks
	calls   *Stream           // the calls of its group, of a collective of ranks
	partial bool              // some rank has yet to call it

	ready  bool         // to be tried when a stream of it has changed
	behind []*Operation // that wait for this one

	boxed   bool // a message that waits for others of the same instant
	touches []touch

	of      *Operation // that this one is a part of, if it is one of several programs
	carrier *Operation // of a receive that was matched later: the send
	carries *Operation // of a send: such a receive

	timer   *sim.Timer // ends the ranks, if the operation has a timeout
	failure error      // of an operation that was given up
	state   opState
	started bool                     // on the machine
	entered map[*Stream]simtime.Time // when it came to the front of each, of a collective
	number  int                      // by which events know it
	left    int                      // events until it ends
	waiters []*sim.Proc
	activity
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

// NewOperation returns an operation of the rank's stream.
func (r *Rank) NewOperation(name string, regions ...*Region) *Operation {
	r.refuse(name)
	return &Operation{Name: name, streams: []*Stream{&r.stream}, places: map[*Stream]place{}, regions: regions}
}

// NewRead returns an operation that is in no stream: it waits for nothing.
func NewRead(name string, regions ...*Region) *Operation {
	return &Operation{Name: name, regions: regions}
}

// NewShared returns an operation that several ranks call, and that none has called. Its place
// among the calls of a group is known beforehand, if it has one: messages have none.
func NewShared(name string, calls *Stream, number int) *Operation {
	op := &Operation{Name: name, partial: true, entered: map[*Stream]simtime.Time{}, places: map[*Stream]place{}}
	if calls != nil {
		op.calls = calls
		op.places[calls] = place{number: number}
	}
	return op
}

// NewPart returns an operation that is one of several programs of another.
func NewPart(name string, of *Operation) *Operation { return &Operation{Name: name, of: of} }

// refuse panics if the rank may not ask for an operation now.
func (r *Rank) refuse(name string) {
	if r.Refuse != nil {
		r.Refuse(name)
	}
}

// Expect adds an event to those that the operation ends with. Each calls the event that Send
// and Begin are given, or [Scheduler.Ended].
func (op *Operation) Expect() { op.left++ }

// HasEnded reports whether the operation has ended.
func (op *Operation) HasEnded() bool { return op.state == ended }

// Failure returns the error of an operation that was given up.
func (op *Operation) Failure() error { return op.failure }

// IsPartial reports whether some rank has yet to call the operation.
func (op *Operation) IsPartial() bool { return op.partial }

// In reports whether the operation is in the stream of a rank.
func (op *Operation) In(r *Rank) bool { return slices.Contains(op.streams, &r.stream) }

// Follow has a part of operations begin for the ranks that call these.
func (op *Operation) Follow(list ...*Operation) {
	op.streams = nil
	for _, m := range list {
		for _, s := range m.parties() {
			if !slices.Contains(op.streams, s) {
				op.streams = append(op.streams, s)
			}
		}
	}
}

// parties returns the streams of the ranks that call an operation.
func (op *Operation) parties() []*Stream {
	if op.carries == nil {
		return op.streams
	}
	return slices.Concat(op.streams, op.carries.streams)
}

// Enqueue puts an operation at the end of its stream, if it has one. Later operations of
// the stream wait for it. It never begins if a rank has failed.
func (r *Rank) Enqueue(op *Operation) {
	r.refuse(op.Name)
	if r.stopping {
		return
	}
	for _, x := range op.regions {
		x.uses++
	}
	for _, s := range op.streams {
		r.place(op, s)
		op.hold(s)
		for _, x := range op.regions {
			x.users.add(op)
		}
	}
	r.Wake(op)
	r.Advance(op)
}

// Join adds the rank to an operation that several ranks call, with the regions that the rank
// uses in it, and those of them that it writes. Of a message, part is what it uses of their
// storages, or AllParts.
func (r *Rank) Join(op *Operation, uses []*Region, part int) {
	if !slices.Contains(op.streams, &r.stream) {
		op.streams = append(op.streams, &r.stream)
		r.place(op, &r.stream)
	}
	r.enter(&r.stream)
	for _, x := range uses {
		x.uses++
		op.regions = append(op.regions, x)
		if op.Message {
			op.touches = append(op.touches, touch{x, part})
		} else {
			x.users.add(op)
		}
	}
	for _, t := range op.touches {
		t.users.addMessage(op, t)
	}
}

// Complete has an operation tried, now that all ranks have called it.
func (s *Scheduler) Complete(op *Operation) {
	op.partial = false
	s.Wake(op)
}

// Void makes nothing of an operation that may be in a stream.
func (s *Scheduler) Void(op *Operation) {
	op.partial = false
	op.Begin = func(sim.Event) error { return nil }
	if len(op.streams) > 0 {
		s.Wake(op)
		s.Advance(op)
	}
}

// Hold makes later operations of the rank wait for this one.
func (r *Rank) Hold(op *Operation) { op.hold(&r.stream) }

// place puts an operation at the end of a stream.
func (s *Scheduler) place(op *Operation, in *Stream) {
	s.placed++
	op.places[in] = place{number: s.placed}
	in.ops.add(op)
}

// hold makes later operations of a stream wait for this one.
func (op *Operation) hold(s *Stream) {
	if p, in := op.places[s]; in {
		op.places[s] = place{p.number, true}
		s.strict.add(op)
	}
}

// order returns the stream that says which operations come before this one: the calls of
// the group, of a collective of ranks. Messages have no such stream.
func (op *Operation) order() *Stream {
	if op.calls != nil {
		return op.calls
	}
	return op.streams[0]
}

// Wake has operations tried when a stream of them changes, or has changed.
func (s *Scheduler) Wake(ops ...*Operation) {
	for _, op := range ops {
		if !op.ready {
			op.ready = true
			for _, s := range op.streams {
				s.ready.add(op)
			}
		}
	}
}

// Advance tries the operations that may go on, after a change of op or of its streams: in
// the order of these streams, and in each stream by place.
func (s *Scheduler) Advance(op *Operation) {
	if len(op.streams) == 0 {
		s.step(op)
		return
	}
	for _, in := range op.streams {
		for from := 0; ; {
			i := in.ready.search(from)
			if i == len(in.ready.ops) {
				break
			}
			next := in.ready.ops[i]
			from = next.places[in].number + 1
			in.ready.remove(next)
			if next.ready { // it was not tried in another stream
				next.ready = false
				s.step(next)
			}
		}
	}
}

// step takes an operation as far as it may go now.
func (s *Scheduler) step(op *Operation) {
	s.Looks++
	if s.err != nil || op.partial {
		return
	}
	ready := sent
	if op.Message { // it is sent with others, when its turn has come
		ready = ended
	} else if op.state == queued && len(op.streams) > 0 {
		if !op.fits() {
			op.waitForRoom()
			return
		}
		defer s.admit(op.order())
	}
	if op.state == queued && s.after(op, ready) {
		op.number = s.operations.add(op)
		op.state = sent
		for _, s := range op.streams {
			s.sent++
		}
		if !op.Message {
			s.passed(op)
		}
		if op.Send != nil {
			s.Failed(op, op.Send(s.operations.event(op)))
		}
	}
	if op.state == sent && s.after(op, ended) {
		s.Start(op)
	}
}

// passed wakes the operations that wait for this one.
func (s *Scheduler) passed(op *Operation) {
	s.Wake(op.behind...)
	op.behind = op.behind[:0]
}

// SendPart sends an operation that is part of others, and in no stream of its own.
func (s *Scheduler) SendPart(op *Operation) error {
	op.number = s.operations.add(op)
	op.state = sent
	return op.Send(s.operations.event(op))
}

// Start begins an operation.
func (s *Scheduler) Start(op *Operation) {
	op.state = begun
	s.traceBegin(op)
	op.left++          // so that it does not end while it begins
	if op.Run == nil { // a program starts when its PEs are free
		s.Starting(op)
	}
	s.Failed(op, op.Begin(s.operations.event(op)))
	s.Ended(op)
}

// Box notes that a message waits for others of the same instant.
func (op *Operation) Box() { op.boxed = true }

// Unbox lets what waits for a message, or for the receive that it carries, be sent.
func (s *Scheduler) Unbox(op *Operation) {
	for _, end := range []*Operation{op, op.carries} {
		if end != nil {
			end.boxed = false
			s.passed(end)
			s.Advance(end)
		}
	}
}

// Carry has a send carry a receive that it was matched with: it begins when the turn of the
// receive has come, and the receive ends with it. ended is called before that.
func (s *Scheduler) Carry(send, receive *Operation, ended func()) {
	receive.Begin = func(sim.Event) error {
		receive.left++
		receive.boxed = true // until the message is sent
		send.partial = false
		s.Wake(send)
		s.Advance(send)
		return nil
	}
	send.Finish = func() {
		ended()
		s.Ended(receive)
	}
	s.Wake(receive)
	s.Advance(receive)
}

// Match notes that a send is for a receive: no other rank has to call either.
func Match(send, receive *Operation) {
	receive.carrier, send.carries = send, receive
	receive.Forming, send.Forming, receive.partial = nil, nil, false
}

// fits reports whether the command queues have room for the operation.
func (op *Operation) fits() bool {
	return !slices.ContainsFunc(op.streams, func(s *Stream) bool { return s.sent >= ahead })
}

// waitForRoom puts an operation among those that wait for room.
func (op *Operation) waitForRoom() {
	order := op.order()
	order.room.add(op)
	for _, s := range op.streams {
		s.short[order] = true
	}
}

// admit wakes the next operation of an order that waits for room, if there is room. The
// operations of an order are in the same streams.
func (s *Scheduler) admit(order *Stream) {
	if len(order.room.ops) == 0 || !order.room.ops[0].fits() {
		return
	}
	next := order.room.ops[0]
	if order.room.remove(next); len(order.room.ops) == 0 {
		for _, s := range next.streams {
			delete(s.short, order)
		}
	}
	s.Wake(next)
}

// Failed ends the machine if an operation could not be sent or begun: what is behind
// it could never begin.
func (s *Scheduler) Failed(op *Operation, err error) {
	if err != nil && s.culprit == nil {
		s.culprit = op
		s.Machine.Engine.Stop(err)
	}
}

// Whole returns the operation that an operation is a part of, or is.
func (op *Operation) Whole() *Operation { return cmp.Or(op.of, op) }

// enter notes that a rank has come to the collective that is at the front of its
// stream, if one is.
func (s *Scheduler) enter(in *Stream) {
	if len(in.ops.ops) == 0 || in.ops.ops[0].entered == nil {
		return
	}
	if _, known := in.ops.ops[0].entered[in]; !known {
		in.ops.ops[0].entered[in] = s.Now()
	}
}

// Spread returns how far apart the ranks came to a collective.
func (op *Operation) Spread() simtime.Time {
	times := slices.Collect(maps.Values(op.entered))
	if len(times) == 0 {
		return 0
	}
	return slices.Max(times) - slices.Min(times)
}

// Waited returns how long a rank that had come to a collective, and had ended what was before,
// waited for the last of the others to come.
func (op *Operation) Waited(r *Rank, since simtime.Time) simtime.Time {
	own, ok := op.entered[&r.stream]
	if !ok {
		return 0
	}
	last := slices.Max(slices.Collect(maps.Values(op.entered)))
	return max(0, last-max(own, since))
}
