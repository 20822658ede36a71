package exec

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/oplog"
)

// epoch identifies a sequence of actions of a component; another component knows either all
// or none of these actions. Each PE is a component. In addition, each PE has one component
// for each composite and receive that it has in flight at the same time.
type epoch struct {
	component int32
	number    uint32 // from 1
}

// clock is a vector clock: for each component, the last epoch that is known to have
// happened.
type clock []uint32

// knows reports whether epoch e is known to have happened.
func (c *clock) knows(e epoch) bool {
	return int(e.component) < len(*c) && (*c)[e.component] >= e.number
}

// learn records that epoch e, and all earlier epochs of its component, have happened.
func (c *clock) learn(e epoch) {
	if short := int(e.component) + 1 - len(*c); short > 0 {
		*c = append(*c, make([]uint32, short)...)
	}
	(*c)[e.component] = max((*c)[e.component], e.number)
}

// join adds to c everything that the vector clock d knows.
func (c *clock) join(d clock) {
	for i, n := range d {
		if n > 0 {
			c.learn(epoch{int32(i), n})
		}
	}
}

// stamp is the vector clock of a PE at a send, a notification or the end of a task. base
// is everything that the PE knew, and is shared by several stamps; own is the epoch of the
// PE.
type stamp struct {
	base clock
	own  epoch
}

// thread is the state of a PE: a sequence of operations with a vector clock.
type thread struct {
	round      int // the round in which the other fields are valid
	own        epoch
	clock      clock
	base       clock      // a copy of clock for stamps, nil if clock has changed since
	inFlight   []*asyncOp // operations that have not ended for the PE
	blocked    []*asyncOp // operations that the PE waits for before its next operation
	freeEpochs []epoch    // the last epochs of components that no operation uses
}

// asyncOp is an operation that a PE starts and waits for later: a composite, a receive, a
// WaitSignal, or a TaskBegin with the task ends that it follows.
type asyncOp struct {
	id    oplog.ID
	pe    int32
	from  []oplog.Operand // the sends, notifications or TaskEnds that it waits for
	last  epoch           // the epoch of its last access, if it has any
	view  clock           // what comes before its accesses; nil for what its PE knew at the issue
	write []oplog.Access  // the memory that a receive writes
}

// order derives which operations of a log happen before which, one operation after
// another, and collects the races.
type order struct {
	log          *oplog.Log
	now          oplog.ID          // the current operation
	waiters      []int32           // by ID - 1: the number of operations that wait for a send, notification or TaskEnd
	hasWait      []bool            // by ID - 1: a Wait names the operation
	launched     []bool            // by launch: it has begun
	predecessors map[int32][]int32 // by launch that has not begun: the launches that come before it
	pes          map[int32]bool    // the PEs that issue operations
	threads      map[int32]*thread

	// A round begins at an operation that comes after everything before it and before
	// everything after it. The fields below describe the current round.
	round      int
	roundStart oplog.ID // the operation at which the round begins
	components int32
	stamps     map[oplog.ID]stamp
	accesses   []access // all accesses to memory
	pages      map[pageKey]*page

	unsent   map[oplog.ID][]*asyncOp // receives to memory, by their send, which has not been issued
	reported map[[2]int32]bool       // pairs of lines that have been reported
	races    []Race
}

func newOrder(log *oplog.Log) *order {
	o := &order{
		log: log, waiters: make([]int32, len(log.Ops)), hasWait: make([]bool, len(log.Ops)), launched: make([]bool, len(log.Launches)), predecessors: map[int32][]int32{},
		pes: map[int32]bool{}, threads: map[int32]*thread{}, unsent: map[oplog.ID][]*asyncOp{}, reported: map[[2]int32]bool{},
	}
	o.barrier()
	return o
}

// scan checks the references and memory accesses of all operations. It also records which
// operations are named by a Wait, and how many operations wait for each send, notification
// and TaskEnd.
func (o *order) scan() error {
	for i := range o.log.Ops {
		op := &o.log.Ops[i]
		if op.PE >= 0 {
			o.pes[op.PE] = true
		}
		for x := range operands(op) {
			if x.From < 0 || int(x.From) > len(o.log.Ops) {
				return fmt.Errorf("%s refers to operation %d, the last is %d; correct what made the log", o.log.Describe(op.ID), x.From, len(o.log.Ops))
			}
			if err := checkAccessSize(x.Mem); err != nil {
				return fmt.Errorf("%s: %w; correct what made the log", o.log.Describe(op.ID), err)
			}
			switch {
			case x.From == 0:
			case op.Kind == oplog.Wait:
				o.hasWait[x.From-1] = true
			case op.Kind == oplog.Recv || op.Kind == oplog.WaitSignal || op.Kind == oplog.TaskBegin:
				o.waiters[x.From-1]++
			}
		}
		if err := checkAccessSize(op.Mem); err != nil && op.PE >= 0 {
			return fmt.Errorf("%s: %w; correct what made the log", o.log.Describe(op.ID), err)
		}
	}
	return nil
}

// checkAccessSize returns an error if an access in mem is invalid, or if the accesses have
// more bytes in total than a value may have.
func checkAccessSize(mem []oplog.Access) error {
	n, err := memBytes(mem)
	if err == nil && n > maxBytes {
		err = fmt.Errorf("it touches %d bytes of memory, more than the %d that it may", n, maxBytes)
	}
	return err
}

// barrier records that everything logged before the current operation happens before
// everything logged after it. It starts a new round and drops the state of the previous
// round, except receives whose sends have not been issued.
func (o *order) barrier() {
	o.round++
	o.roundStart = o.now
	o.components = 0
	o.stamps = map[oplog.ID]stamp{}
	o.accesses = o.accesses[:0]
	o.pages = map[pageKey]*page{}
}

// thread returns the state of the given PE. A round is the part of the log between two
// barriers; the first call for a PE in a round resets the state of the PE.
func (o *order) thread(pe int32) *thread {
	t := o.threads[pe]
	if t == nil {
		t = &thread{}
		o.threads[pe] = t
	}
	if t.round == o.round {
		return t
	}
	ended := func(k *asyncOp) bool { return k.resolved(o.roundStart) }
	*t = thread{
		round: o.round, own: o.newComponent(), clock: t.clock[:0],
		inFlight: slices.DeleteFunc(t.inFlight, ended), blocked: slices.DeleteFunc(t.blocked, ended), freeEpochs: t.freeEpochs[:0],
	}
	t.clock.learn(t.own)
	return t
}

// newComponent adds a component, which stands for a PE or an operation in flight, and
// returns its first epoch.
func (o *order) newComponent() epoch {
	o.components++
	return epoch{o.components - 1, 1}
}

// resolved reports whether everything that operation k waits for was issued at or before
// the operation `by`.
func (k *asyncOp) resolved(by oplog.ID) bool {
	for i := range k.from {
		if k.from[i].From > by {
			return false
		}
	}
	return true
}

// release records what the PE knows at operation id, which is a send, a notification or a
// TaskEnd, as the stamp of the operation. It then begins a new epoch of the PE, because the
// stamp does not cover what the PE does later. If nothing waits for operation id, release
// does nothing.
func (o *order) release(t *thread, id oplog.ID) {
	if o.waiters[id-1] == 0 {
		return
	}
	if t.base == nil {
		t.base = slices.Clone(t.clock)
	}
	o.stamps[id] = stamp{t.base, t.own}
	t.advance()
}

// advance begins a new epoch of the PE, of which no other component knows yet.
func (t *thread) advance() {
	t.own.number++
	t.clock.learn(t.own)
}

// acquire adds the stamp of operation id to c. The stamp is everything that the PE of the
// operation knew when the operation was stamped. If c knows the epoch of the stamp, c
// already knows the rest of the stamp, too.
func (o *order) acquire(c *clock, id oplog.ID) {
	s, ok := o.stamps[id]
	if !ok { // stamped before this round
		return
	}
	if !c.knows(s.own) {
		c.join(s.base)
		c.learn(s.own)
	}
}

// finish records that a PE has waited for the end of its operation k: everything that the
// PE does later comes after k and after everything that k waited for.
func (o *order) finish(t *thread, k *asyncOp) {
	for i := range k.from {
		if from := k.from[i].From; from > 0 {
			o.acquire(&t.clock, from)
			if o.waiters[from-1]--; o.waiters[from-1] == 0 { // nothing else waits for it
				delete(o.stamps, from)
			}
		}
	}
	t.clock.join(k.view)
	if k.last.number > 0 {
		t.clock.learn(k.last)
		t.freeEpochs = append(t.freeEpochs, k.last)
	}
	t.base = nil
	t.inFlight = slices.DeleteFunc(t.inFlight, func(other *asyncOp) bool { return other == k })
}

// finishAll calls finish for those operations in flight of a PE for which all sends,
// notifications and TaskEnds that they wait for have been issued.
func (o *order) finishAll(t *thread) {
	for _, k := range slices.Clone(t.inFlight) {
		if k.resolved(o.now - 1) {
			o.finish(t, k)
		}
	}
}

// orderAfter records that a later access comes after access b, because the hardware keeps
// their order. The two accesses overlap and belong to different operations of the same PE.
// The later access belongs to operation k, or to the PE itself if k is nil.
func orderAfter(t *thread, k *asyncOp, b *access) {
	view := viewOf(t, k)
	if k != nil { // earlier accesses of k keep the view they had
		k.view = slices.Clone(*view)
		view = &k.view
	}
	view.join(b.view)
	view.learn(b.epoch)
	t.base = nil
}

// assignEpochs assigns n consecutive epochs to operation k, one for each of its accesses.
// The epochs belong to an unused component of the PE or, if there is none, to a new
// component.
func (o *order) assignEpochs(t *thread, k *asyncOp, n uint32) {
	if len(t.freeEpochs) == 0 {
		e := o.newComponent()
		t.freeEpochs = append(t.freeEpochs, epoch{e.component, 0})
	}
	last := len(t.freeEpochs) - 1
	k.last = epoch{t.freeEpochs[last].component, t.freeEpochs[last].number + n}
	t.freeEpochs = t.freeEpochs[:last]
}
