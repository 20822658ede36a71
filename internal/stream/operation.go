package stream

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// Stream is the operations of a rank that have not ended, in the order in which the rank
// requested them. An operation begins when all earlier operations of the stream have ended,
// except asynchronous ones that use other storages.
//
// An operation that cannot proceed waits either for one other operation or for space in the
// command queue of one stream. It is tried again when that changes: see step.
type Stream struct {
	ops           sequence
	strict        sequence         // operations that all later operations wait for
	ready         sequence         // operations to try when the stream has changed
	blocked       sequence         // operations of this order that wait for space in command queues
	blockedOrders map[*Stream]bool // orders with operations that wait for space in this stream's command queue
	sent          int              // number of operations in the device's command queue
	last          int32            // number of its last launch in the op log, from 1; 0 if none may be in flight
	calls         bool             // this is the order of a group's calls; only blocked is used
}

// init prepares a new stream for use.
func (s *Stream) init() {
	s.ops.order, s.strict.order, s.ready.order, s.blocked.order = s, s, s, s
	s.blockedOrders = map[*Stream]bool{}
}

// NewCalls returns a stream that holds the order of a group's calls, which is the same in
// the streams of all ranks of the group.
func NewCalls() *Stream {
	s := &Stream{calls: true}
	s.init()
	return s
}

// place is the position of an operation in a stream.
type place struct {
	number int
	strict bool // whether later operations of the stream wait for it; false if it is asynchronous
}

// Operation is an action that takes simulated time: a launch, a copy or a collective. A
// collective is in the streams of all its ranks and begins when its turn has come in each
// of them.
type Operation struct {
	Name         string
	Algorithm    string                     // of a collective, such as "ring"
	Send         func(done sim.Event) error // sends its commands to the device ahead of its turn; may be nil
	Begin        func(done sim.Event) error // begins the operation
	Finish       func()                     // is called when the operation has ended; may be nil
	Run          *machine.Run               // the run in progress, if the operation is a program
	MissingRanks []*Rank                    // ranks that have not called the operation yet
	Message      bool                       // between two ranks: asynchronous, sent with other messages
	// AnySource marks a receive without a given source.
	AnySource bool

	streams []*Stream // none for reads by the host, which wait only for their storage
	regions []*Region // in use until the operation ends

	places  map[*Stream]place // of a collective of ranks, also in the order of its group's calls
	calls   *Stream           // the order of its group's calls; nil unless it is a collective of ranks
	partial bool              // whether some rank has not called it yet

	ready      bool         // to be tried when one of its streams has changed
	dependents []*Operation // operations that wait for this one

	batched   bool // a message that waits to be sent with others of the same instant
	endpoints []endpoint

	whole   *Operation // the operation that this one is a part of, or nil
	carrier *Operation // of a receive that was matched to a send later: the send
	carries *Operation // of such a send: the receive

	timer   *sim.Timer // stops the ranks when the operation times out; nil without a timeout
	failure error      // the error of an operation that was given up
	state   opState
	started bool                     // whether it has started on the machine
	entered map[*Stream]simtime.Time // of a collective: when it reached the front of each stream
	number  int                      // identifies the operation in events
	left    int                      // number of events that are outstanding until it ends
	waiters []*sim.Proc
	activity
}

type opState uint8

const (
	queued opState = iota
	sent           // its commands have been sent to the device
	begun
	ended
)

// commandQueueLen is the number of operations of a stream that the device's command queue
// holds. These operations are sent ahead of their turn, which hides the latency from the
// host to the device.
const commandQueueLen = 64

// NewOperation returns an operation for the rank's stream.
func (r *Rank) NewOperation(name string, regions ...*Region) *Operation {
	r.refuse(name)
	return &Operation{Name: name, streams: []*Stream{&r.stream}, places: map[*Stream]place{}, regions: regions}
}

// NewRead returns an operation that is in no stream. It waits for no other operation.
func NewRead(name string, regions ...*Region) *Operation {
	return &Operation{Name: name, regions: regions}
}

// NewShared returns an operation that several ranks call and that no rank has called yet.
// calls is the order of the group's calls and number the operation's place in it. calls is
// nil for messages.
func NewShared(name string, calls *Stream, number int) *Operation {
	op := &Operation{Name: name, partial: true, entered: map[*Stream]simtime.Time{}, places: map[*Stream]place{}}
	if calls != nil {
		op.calls = calls
		op.places[calls] = place{number: number}
	}
	return op
}

// NewPart returns an operation for one of the programs that the operation whole consists
// of.
func NewPart(name string, whole *Operation) *Operation { return &Operation{Name: name, whole: whole} }

// refuse panics if the rank must not request an operation now.
func (r *Rank) refuse(name string) {
	if r.Refuse != nil {
		r.Refuse(name)
	}
}

// Expect adds one event to the events that must happen before the operation ends. Each such
// event is posted as the event that Send and Begin receive, or counted by
// [Scheduler.Ended].
func (op *Operation) Expect() { op.left++ }

// HasEnded reports whether the operation has ended.
func (op *Operation) HasEnded() bool { return op.state == ended }

// Failure returns the error of an operation that was given up, or nil.
func (op *Operation) Failure() error { return op.failure }

// IsPartial reports whether some rank has not called the operation yet.
func (op *Operation) IsPartial() bool { return op.partial }

// In reports whether the operation is in the stream of a rank.
func (op *Operation) In(r *Rank) bool { return slices.Contains(op.streams, &r.stream) }

// Follow puts an operation that is part of others into the streams of all ranks that call
// one of list.
func (op *Operation) Follow(list ...*Operation) {
	op.streams = nil
	for _, m := range list {
		for _, s := range m.callerStreams() {
			if !slices.Contains(op.streams, s) {
				op.streams = append(op.streams, s)
			}
		}
	}
}

// callerStreams returns the streams of the ranks that call the operation.
func (op *Operation) callerStreams() []*Stream {
	if op.carries == nil {
		return op.streams
	}
	return slices.Concat(op.streams, op.carries.streams)
}

// Enqueue appends an operation to its stream, if it has one. Later operations of the stream
// wait for it. If a rank has failed, the operation never begins.
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

// Join adds the rank to an operation that several ranks call. uses are the regions that the
// rank reads or writes. For a message, part is the part of their storages that the message
// uses, or AllParts.
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
			op.endpoints = append(op.endpoints, endpoint{x, part})
		} else {
			x.users.add(op)
		}
	}
	for _, t := range op.endpoints {
		t.users.addMessage(op, t)
	}
}

// Complete marks that all ranks have called the operation, so that it can be tried.
func (s *Scheduler) Complete(op *Operation) {
	op.partial = false
	s.Wake(op)
}

// MakeNoOp makes an operation do nothing when its turn comes. The operation may be in a
// stream.
func (s *Scheduler) MakeNoOp(op *Operation) {
	op.partial = false
	op.Begin = func(sim.Event) error { return nil }
	if len(op.streams) > 0 {
		s.Wake(op)
		s.Advance(op)
	}
}

// Hold makes later operations of the rank wait for this one.
func (r *Rank) Hold(op *Operation) { op.hold(&r.stream) }

// place appends an operation to a stream.
func (s *Scheduler) place(op *Operation, in *Stream) {
	s.placements++
	op.places[in] = place{number: s.placements}
	in.ops.add(op)
}

// hold makes later operations of the stream wait for this one.
func (op *Operation) hold(s *Stream) {
	if p, in := op.places[s]; in {
		op.places[s] = place{p.number, true}
		s.strict.add(op)
	}
}

// order returns the stream that determines which operations come before this one. For a
// collective of ranks that is the order of the group's calls. Messages have no such stream.
func (op *Operation) order() *Stream {
	if op.calls != nil {
		return op.calls
	}
	return op.streams[0]
}

// Wake marks operations to be tried when one of their streams is advanced next.
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

// Advance tries the operations that may proceed after op or its streams have changed. It
// takes the streams of op one after another, and the operations of each stream in order.
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
			if next.ready { // not yet tried through another stream
				next.ready = false
				s.step(next)
			}
		}
	}
}

// step moves an operation through its states as far as possible now.
func (s *Scheduler) step(op *Operation) {
	s.Inspections++
	if s.err != nil || op.partial {
		return
	}
	ready := sent
	if op.Message { // messages are sent together, when their turn has come
		ready = ended
	} else if op.state == queued && len(op.streams) > 0 {
		if !op.fits() {
			op.waitForCapacity()
			return
		}
		defer s.admit(op.order())
	}
	if op.state == queued && s.awaitEarlier(op, ready) {
		op.number = s.operations.add(op)
		op.state = sent
		for _, s := range op.streams {
			s.sent++
		}
		if !op.Message {
			s.wakeDependents(op)
		}
		if op.Send != nil {
			s.Failed(op, op.Send(s.operations.event(op)))
		}
	}
	if op.state == sent && s.awaitEarlier(op, ended) {
		s.Start(op)
	}
}

// wakeDependents wakes the operations that wait for op.
func (s *Scheduler) wakeDependents(op *Operation) {
	s.Wake(op.dependents...)
	op.dependents = op.dependents[:0]
}

// SendPart sends an operation that is part of others and has no stream of its own.
func (s *Scheduler) SendPart(op *Operation) error {
	op.number = s.operations.add(op)
	op.state = sent
	return op.Send(s.operations.event(op))
}

// Start begins an operation.
func (s *Scheduler) Start(op *Operation) {
	op.state = begun
	s.traceBegin(op)
	op.left++          // keeps the operation from ending while it begins
	if op.Run == nil { // a program starts later, when its PEs are free
		s.Starting(op)
	}
	s.Failed(op, op.Begin(s.operations.event(op)))
	s.Ended(op)
}

// HoldForBatch marks a message as waiting to be sent together with other messages of the
// same instant.
func (op *Operation) HoldForBatch() { op.batched = true }

// ReleaseFromBatch marks a message and the receive that it carries as sent. Operations that
// wait for either of them may proceed.
func (s *Scheduler) ReleaseFromBatch(op *Operation) {
	for _, end := range []*Operation{op, op.carries} {
		if end != nil {
			end.batched = false
			s.wakeDependents(end)
			s.Advance(end)
		}
	}
}

// Carry makes a send transfer the data of a receive that it was matched with. The send
// begins when the receive's turn has come, and the receive ends together with the send.
// ended is called just before the receive ends.
func (s *Scheduler) Carry(send, receive *Operation, ended func()) {
	receive.Begin = func(sim.Event) error {
		receive.left++
		receive.batched = true // until the message has been sent
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

// Match records that a send belongs to a receive. No other rank needs to call either of
// them.
func Match(send, receive *Operation) {
	receive.carrier, send.carries = send, receive
	receive.MissingRanks, send.MissingRanks, receive.partial = nil, nil, false
}

// fits reports whether the command queues of all its streams have space for the operation.
func (op *Operation) fits() bool {
	return !slices.ContainsFunc(op.streams, func(s *Stream) bool { return s.sent >= commandQueueLen })
}

// waitForCapacity registers the operation as waiting for space in a command queue.
func (op *Operation) waitForCapacity() {
	order := op.order()
	order.blocked.add(op)
	for _, s := range op.streams {
		s.blockedOrders[order] = true
	}
}

// admit wakes the next operation of an order that waits for space in the command queues, if
// there is space. All operations of an order are in the same streams.
func (s *Scheduler) admit(order *Stream) {
	if len(order.blocked.ops) == 0 || !order.blocked.ops[0].fits() {
		return
	}
	next := order.blocked.ops[0]
	if order.blocked.remove(next); len(order.blocked.ops) == 0 {
		for _, s := range next.streams {
			delete(s.blockedOrders, order)
		}
	}
	s.Wake(next)
}

// Failed stops the machine if err, the result of sending or beginning op, is not nil. Later
// operations could never begin.
func (s *Scheduler) Failed(op *Operation, err error) {
	if err != nil && s.culprit == nil {
		s.culprit = op
		s.Machine.Engine.Stop(err)
	}
}

// Whole returns the operation that op is a part of, or op itself.
func (op *Operation) Whole() *Operation { return cmp.Or(op.whole, op) }

// enter records the current time as the time when a rank reached the collective at the
// front of its stream, if there is one.
func (s *Scheduler) enter(in *Stream) {
	if len(in.ops.ops) == 0 || in.ops.ops[0].entered == nil {
		return
	}
	if _, known := in.ops.ops[0].entered[in]; !known {
		in.ops.ops[0].entered[in] = s.Now()
	}
}

// Spread returns the time between the first and the last rank that reached a collective.
func (op *Operation) Spread() simtime.Time {
	times := slices.Collect(maps.Values(op.entered))
	if len(times) == 0 {
		return 0
	}
	return slices.Max(times) - slices.Min(times)
}

// Waited returns how long the rank waited for the last other rank to reach a collective.
// The wait starts when the rank has reached the collective, and not before since.
func (op *Operation) Waited(r *Rank, since simtime.Time) simtime.Time {
	own, ok := op.entered[&r.stream]
	if !ok {
		return 0
	}
	last := slices.Max(slices.Collect(maps.Values(op.entered)))
	return max(0, last-max(own, since))
}
