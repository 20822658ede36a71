package stream

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// Stream is the list of a rank's operations that have not ended, in the order in which the
// rank requested the operations. An operation begins when all earlier operations of the
// stream have ended. It does not wait for an earlier asynchronous operation that uses other
// storages.
//
// An operation that cannot proceed waits either for one other operation or for space in the
// command queue of one stream. It is tried again when that operation has progressed or that
// queue has space: see step.
//
// A stream with calls set holds no operations of a rank. It numbers the collectives of one
// process group, which all ranks of the group call in the same order. The "order" of an
// operation is its rank's stream or, for a collective, the stream of its group: see
// Operation.order.
type Stream struct {
	ops           sequence
	strict        sequence         // operations that all later operations wait for
	ready         sequence         // operations that Wake has marked to be tried
	blocked       sequence         // operations with this stream as their order that wait for space in command queues
	blockedOrders map[*Stream]bool // orders with operations that wait for space in this stream's command queue
	sent          int              // number of operations in the device's command queue
	last          int32            // number of the stream's last launch in the op log, from 1; 0 if no launch of the stream may be in flight
	calls         bool             // whether this stream orders the collectives of a group; then only blocked is used
}

// init prepares the new stream s for use.
func (s *Stream) init() {
	s.ops.order, s.strict.order, s.ready.order, s.blocked.order = s, s, s, s
	s.blockedOrders = map[*Stream]bool{}
}

// NewCalls returns a stream that orders the collectives of one process group. All ranks of
// the group call these collectives in the same order.
func NewCalls() *Stream {
	s := &Stream{calls: true}
	s.init()
	return s
}

// place is the position of an operation in a stream.
type place struct {
	number int
	strict bool // whether later operations of the stream wait for the operation; false if it is asynchronous
}

// Operation is an action that takes simulated time: a launch, a copy, a collective or a
// message. A collective is in the streams of all its ranks and begins when its turn has
// come in each of these streams.
type Operation struct {
	Name         string
	Algorithm    string                     // the algorithm of a collective, such as "ring"; else ""
	Send         func(done sim.Event) error // sends the commands to the device before the turn of the operation; may be nil
	Begin        func(done sim.Event) error // begins the operation
	Finish       func()                     // is called when the operation has ended; may be nil
	Run          *machine.Run               // the run in progress, if the operation is a program
	MissingRanks []*Rank                    // ranks that have not called the operation yet
	Message      bool                       // whether it is a message between two ranks: asynchronous, sent together with other messages
	// AnySource reports whether this is a receive that accepts a message of any rank.
	AnySource bool

	streams []*Stream // the streams of the ranks that have called the operation; none for a read by the host
	regions []*Region // in use until the operation ends

	places  map[*Stream]place // positions by stream; for a collective of ranks, also in the stream of its group
	calls   *Stream           // the stream that orders the collectives of the group; nil unless this is a collective of ranks
	partial bool              // whether at least one rank has not called the operation yet

	ready      bool         // whether Wake has marked the operation to be tried
	dependents []*Operation // operations that wait for this one

	batched   bool // whether this is a message that waits to be sent with the other messages of the same instant
	endpoints []endpoint

	whole   *Operation // the operation that this one is a part of, or nil
	carrier *Operation // for a receive that Match has matched with a send: the send; else nil
	carries *Operation // for a send that Match has matched with a receive: the receive; else nil

	timer   *sim.Timer // stops the ranks when the operation times out; nil without a timeout
	failure error      // the error of an operation that was given up
	state   opState
	started bool                     // whether it has started on the machine
	entered map[*Stream]simtime.Time // for a collective: when it reached the front of each stream
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

// commandQueueLen is the number of operations of one stream that fit into the device's
// command queue. The host sends these operations before their turn, which hides the latency
// from the host to the device.
const commandQueueLen = 64

// NewOperation returns an operation for the rank's stream that uses the given regions.
// Enqueue appends the operation to the stream.
func (r *Rank) NewOperation(name string, regions ...*Region) *Operation {
	r.refuse(name)
	return &Operation{Name: name, streams: []*Stream{&r.stream}, places: map[*Stream]place{}, regions: regions}
}

// NewRead returns an operation that is in no stream and uses the given regions. It waits
// for no other operation.
func NewRead(name string, regions ...*Region) *Operation {
	return &Operation{Name: name, regions: regions}
}

// NewShared returns an operation that ranks call with Join and that no rank has called yet.
// For a collective under Spawn, `calls` is the stream of the process group's collectives,
// and `number` is the operation's place in it. For a message, and in a program without
// Spawn, `calls` is nil.
func NewShared(name string, calls *Stream, number int) *Operation {
	op := &Operation{Name: name, partial: true, entered: map[*Stream]simtime.Time{}, places: map[*Stream]place{}}
	if calls != nil {
		op.calls = calls
		op.places[calls] = place{number: number}
	}
	return op
}

// NewPart returns an operation for one part of another operation, such as one of several
// programs on the machine. `whole` is that other operation, or nil if the part belongs to
// several operations.
func NewPart(name string, whole *Operation) *Operation { return &Operation{Name: name, whole: whole} }

// refuse calls r.Refuse, which panics if the rank must not request the operation with the
// given name.
func (r *Rank) refuse(name string) {
	if r.Refuse != nil {
		r.Refuse(name)
	}
}

// Expect adds one to the number of events that must happen before op ends. Each of these
// events is either the event `done`, which Send and Begin receive, or a call of
// [Scheduler.Ended].
func (op *Operation) Expect() { op.left++ }

// HasEnded reports whether op has ended.
func (op *Operation) HasEnded() bool { return op.state == ended }

// Failure returns the error that GiveUp has recorded for op, or nil.
func (op *Operation) Failure() error { return op.failure }

// IsPartial reports whether at least one rank of op has not called op yet.
func (op *Operation) IsPartial() bool { return op.partial }

// In reports whether op is in the stream of rank r.
func (op *Operation) In(r *Rank) bool { return slices.Contains(op.streams, &r.stream) }

// Follow makes op belong to the streams of all ranks that call the operations in `list`. op
// is a part of these operations.
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

// callerStreams returns the streams of the ranks that call op. If op is a send that was
// matched with a receive, these include the streams of the receive.
func (op *Operation) callerStreams() []*Stream {
	if op.carries == nil {
		return op.streams
	}
	return slices.Concat(op.streams, op.carries.streams)
}

// Enqueue appends op to the rank's stream and tries to begin it. Later operations of the
// stream wait for op. An operation from NewRead is in no stream and begins at once. After a
// rank has failed, Enqueue does nothing, and op never begins.
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

// Join records that the rank calls op, an operation of several ranks. `uses` lists the
// regions that the rank reads or writes. If op is a message, `part` is the index of the
// part that the message uses in each of these regions, or AllParts.
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

// Complete records that all ranks have called op, so that op may begin when its streams
// advance next.
func (s *Scheduler) Complete(op *Operation) {
	op.partial = false
	s.Wake(op)
}

// MakeNoOp makes op do nothing when its turn comes. op can then begin even if some ranks
// have not called it. op need not be in a stream.
func (s *Scheduler) MakeNoOp(op *Operation) {
	op.partial = false
	op.Begin = func(sim.Event) error { return nil }
	if len(op.streams) > 0 {
		s.Wake(op)
		s.Advance(op)
	}
}

// Hold makes all later operations of the rank's stream wait for op.
func (r *Rank) Hold(op *Operation) { op.hold(&r.stream) }

// place appends op to the stream `in`.
func (s *Scheduler) place(op *Operation, in *Stream) {
	s.placements++
	op.places[in] = place{number: s.placements}
	in.ops.add(op)
}

// hold makes all later operations of the stream s wait for op, if op is in s.
func (op *Operation) hold(s *Stream) {
	if p, in := op.places[s]; in {
		op.places[s] = place{p.number, true}
		s.strict.add(op)
	}
}

// order returns the stream whose numbering decides which operations come before op: for a
// collective of ranks, the stream of its process group; otherwise the stream of the rank. A
// message has no such stream; order must not be called for it.
func (op *Operation) order() *Stream {
	if op.calls != nil {
		return op.calls
	}
	return op.streams[0]
}

// Wake marks ops, so that Advance tries to start each of these operations when Advance next
// reaches one of the streams of the operation.
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

// Advance tries all operations in the streams of op that Wake has marked. It takes the
// streams one after another, and the operations of each stream in order. If op is in no
// stream, Advance tries only op.
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

// step moves op as far as it can go now: from queued to sent to begun. If op cannot
// proceed, step registers op with the operation or the command queue that it waits for.
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

// wakeDependents calls Wake for all operations that wait for op.
func (s *Scheduler) wakeDependents(op *Operation) {
	s.Wake(op.dependents...)
	op.dependents = op.dependents[:0]
}

// SendPart sends the commands of op to the device. op is a part of other operations and has
// no place in a stream.
func (s *Scheduler) SendPart(op *Operation) error {
	op.number = s.operations.add(op)
	op.state = sent
	return op.Send(s.operations.event(op))
}

// Start begins op at the present instant.
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

// HoldForBatch records that op, a message, waits to be sent together with the other
// messages of the same instant.
func (op *Operation) HoldForBatch() { op.batched = true }

// ReleaseFromBatch records that op, a message, has been sent. If op is a send that was
// matched with a receive, the receive counts as sent, too. Operations that wait for the
// send or the receive may then proceed.
func (s *Scheduler) ReleaseFromBatch(op *Operation) {
	for _, end := range []*Operation{op, op.carries} {
		if end != nil {
			end.batched = false
			s.wakeDependents(end)
			s.Advance(end)
		}
	}
}

// Carry makes the operation `send` transfer the data of a message whose other end is the
// operation `receive`. The transfer begins when the turn of both operations has come, and
// both end together. Just before `receive` ends, the function `ended` is called.
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

// Match records that the operations `send` and `receive` are the two ends of one message.
// After that, neither operation waits for a call of another rank.
func Match(send, receive *Operation) {
	receive.carrier, send.carries = send, receive
	receive.MissingRanks, send.MissingRanks, receive.partial = nil, nil, false
}

// fits reports whether the command queue of each stream of op has space for op.
func (op *Operation) fits() bool {
	return !slices.ContainsFunc(op.streams, func(s *Stream) bool { return s.sent >= commandQueueLen })
}

// waitForCapacity registers op as waiting for space in the command queues of its streams.
func (op *Operation) waitForCapacity() {
	order := op.order()
	order.blocked.add(op)
	for _, s := range op.streams {
		s.blockedOrders[order] = true
	}
}

// admit takes the first operation of the stream `order` that waits for space in command
// queues. If the queues have space for this operation, admit wakes it. All operations with
// the same order are in the same streams, and so wait for space in the same queues.
// Therefore admit need not check the operations after the first.
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

// Failed stops the machine if err is not nil, because later operations could never begin.
// err is the result of sending or beginning op.
func (s *Scheduler) Failed(op *Operation, err error) {
	if err != nil && s.culprit == nil {
		s.culprit = op
		s.Machine.Engine.Stop(err)
	}
}

// Whole returns the operation that op is a part of, or op itself if it is no part.
func (op *Operation) Whole() *Operation { return cmp.Or(op.whole, op) }

// enter looks at the first operation of the stream `in`. If it is a collective, enter
// records the present time as the time at which the rank of the stream reached the
// collective, unless a time is already recorded.
func (s *Scheduler) enter(in *Stream) {
	if len(in.ops.ops) == 0 || in.ops.ops[0].entered == nil {
		return
	}
	if _, known := in.ops.ops[0].entered[in]; !known {
		in.ops.ops[0].entered[in] = s.Now()
	}
}

// Spread returns the time from the moment when the first rank reached the collective op to
// the moment when the last rank reached it.
func (op *Operation) Spread() simtime.Time {
	times := slices.Collect(maps.Values(op.entered))
	if len(times) == 0 {
		return 0
	}
	return slices.Max(times) - slices.Min(times)
}

// Waited returns how long rank r waited at the collective op until the last rank reached
// the collective. It does not count the time before `since`.
func (op *Operation) Waited(r *Rank, since simtime.Time) simtime.Time {
	own, ok := op.entered[&r.stream]
	if !ok {
		return 0
	}
	last := slices.Max(slices.Collect(maps.Values(op.entered)))
	return max(0, last-max(own, since))
}
