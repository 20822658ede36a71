package exec

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/oplog"
)

// epoch is a stretch of what a component does, in one piece for all others. The
// components are PEs, and for each PE as many more as it has composites and
// receives under way at a time.
type epoch struct {
	component int32
	number    uint32 // from 1
}

// clock is what is known to have happened: of each component, up to which epoch.
type clock []uint32

func (c *clock) knows(e epoch) bool {
	return int(e.component) < len(*c) && (*c)[e.component] >= e.number
}

func (c *clock) learn(e epoch) {
	if short := int(e.component) + 1 - len(*c); short > 0 {
		*c = append(*c, make([]uint32, short)...)
	}
	(*c)[e.component] = max((*c)[e.component], e.number)
}

func (c *clock) join(d clock) {
	for i, n := range d {
		if n > 0 {
			c.learn(epoch{int32(i), n})
		}
	}
}

// stamp is what is known where a PE sends, notifies or ends a task: everything that it knew,
// which many stamps share, and its own epoch.
type stamp struct {
	base clock
	own  epoch
}

// thread is a PE.
type thread struct {
	round   int // in which the rest is valid
	own     epoch
	clock   clock
	base    clock   // copy of clock for stamps, nil if it has changed
	tasks   []*task // under way
	blocked []*task // that the PE waits for before it goes on
	unused  []epoch // the last ones of components without a task
}

// task is something a PE started and waits for later: a composite, a receive, the
// return of WaitSignal, or the ends that a TaskBegin comes after.
type task struct {
	id    oplog.ID
	pe    int32
	from  []oplog.Operand // sends, notifications or TaskEnds that it waits for
	last  epoch           // of its accesses, if it has any
	view  clock           // what comes before these; nil for what its PE knew at its issue
	write []oplog.Access  // of a receive
}

// order decides what happens before what, operation by operation.
type order struct {
	log      *oplog.Log
	now      oplog.ID          // the operation looked at
	named    []int32           // by ID - 1: how many will wait for a send, notification or TaskEnd
	waited   []bool            // by ID - 1: there is a Wait for it
	launched []bool            // by launch
	after    map[int32][]int32 // by launch that has not begun: those that come before it
	pes      map[int32]bool    // that do anything
	threads  map[int32]*thread

	// Since everything was last ordered, after operation began:
	round      int
	began      oplog.ID
	components int32
	stamps     map[oplog.ID]stamp
	all        []access // where memory was touched
	pages      map[pageKey]*page

	unsent   map[oplog.ID][]*task // receives to memory, by the send that is to come
	reported map[[2]int32]bool
	races    []Race
}

func newOrder(log *oplog.Log) *order {
	o := &order{
		log: log, named: make([]int32, len(log.Ops)), waited: make([]bool, len(log.Ops)), launched: make([]bool, len(log.Launches)), after: map[int32][]int32{},
		pes: map[int32]bool{}, threads: map[int32]*thread{}, unsent: map[oplog.ID][]*task{}, reported: map[[2]int32]bool{},
	}
	o.barrier()
	return o
}

// scan looks ahead for who waits for what, and checks the log.
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
			if err := touchable(x.Mem); err != nil {
				return fmt.Errorf("%s: %w; correct what made the log", o.log.Describe(op.ID), err)
			}
			switch {
			case x.From == 0:
			case op.Kind == oplog.Wait:
				o.waited[x.From-1] = true
			case op.Kind == oplog.Recv || op.Kind == oplog.WaitSignal || op.Kind == oplog.TaskBegin:
				o.named[x.From-1]++
			}
		}
		if err := touchable(op.Mem); err != nil && op.PE >= 0 {
			return fmt.Errorf("%s: %w; correct what made the log", o.log.Describe(op.ID), err)
		}
	}
	return nil
}

// touchable checks that memory is no more than a PE can touch.
func touchable(mem []oplog.Access) error {
	n, err := memBytes(mem)
	if err == nil && n > maxBytes {
		err = fmt.Errorf("it touches %d bytes of memory, more than the %d that it may", n, maxBytes)
	}
	return err
}

// barrier orders everything so far before everything to come, and so forgets it,
// except for what waits for sends to come.
func (o *order) barrier() {
	o.round++
	o.began = o.now
	o.components = 0
	o.stamps = map[oplog.ID]stamp{}
	o.all = o.all[:0]
	o.pages = map[pageKey]*page{}
}

// thread returns a PE, at the beginning of the round if the PE has done nothing in it.
func (o *order) thread(pe int32) *thread {
	t := o.threads[pe]
	if t == nil {
		t = &thread{}
		o.threads[pe] = t
	}
	if t.round == o.round {
		return t
	}
	over := func(k *task) bool { return k.resolved(o.began) }
	*t = thread{
		round: o.round, own: o.component(), clock: t.clock[:0],
		tasks: slices.DeleteFunc(t.tasks, over), blocked: slices.DeleteFunc(t.blocked, over), unused: t.unused[:0],
	}
	t.clock.learn(t.own)
	return t
}

func (o *order) component() epoch {
	o.components++
	return epoch{o.components - 1, 1}
}

// resolved says whether all that a task waits for was issued up to an operation.
func (k *task) resolved(by oplog.ID) bool {
	for i := range k.from {
		if k.from[i].From > by {
			return false
		}
	}
	return true
}

// release stamps a send, a notification or a TaskEnd, and begins an epoch that it does not
// cover.
func (o *order) release(t *thread, id oplog.ID) {
	if o.named[id-1] == 0 {
		return
	}
	if t.base == nil {
		t.base = slices.Clone(t.clock)
	}
	o.stamps[id] = stamp{t.base, t.own}
	t.advance()
}

// advance begins an epoch of which nobody knows.
func (t *thread) advance() {
	t.own.number++
	t.clock.learn(t.own)
}

// acquire makes a clock know what was known at a stamp. Who knows the epoch of a
// stamp knows the rest of it.
func (o *order) acquire(c *clock, id oplog.ID) {
	s, ok := o.stamps[id]
	if !ok { // it was before the round began
		return
	}
	if !c.knows(s.own) {
		c.join(s.base)
		c.learn(s.own)
	}
}

// finish is a PE's wait for a task to end.
func (o *order) finish(t *thread, k *task) {
	for i := range k.from {
		if from := k.from[i].From; from > 0 {
			o.acquire(&t.clock, from)
			if o.named[from-1]--; o.named[from-1] == 0 { // the last that waited for it
				delete(o.stamps, from)
			}
		}
	}
	t.clock.join(k.view)
	if k.last.number > 0 {
		t.clock.learn(k.last)
		t.unused = append(t.unused, k.last)
	}
	t.base = nil
	t.tasks = slices.DeleteFunc(t.tasks, func(other *task) bool { return other == k })
}

// finishAll is a PE's wait for all its tasks that can have ended.
func (o *order) finishAll(t *thread) {
	for _, k := range slices.Clone(t.tasks) {
		if k.resolved(o.now - 1) {
			o.finish(t, k)
		}
	}
}

// follow orders an access of a PE, or of one of its tasks, behind that of another
// task of the same PE: they overlap, and the hardware keeps the order.
func follow(t *thread, k *task, b *access) {
	view := viewOf(t, k)
	if k != nil { // its earlier accesses keep the view they had
		k.view = slices.Clone(*view)
		view = &k.view
	}
	view.join(b.view)
	view.learn(b.epoch)
	t.base = nil
}

// begin gives a task epochs of its own for n accesses, one after another: a component
// that no task is using, or a new one.
func (o *order) begin(t *thread, k *task, n uint32) {
	if len(t.unused) == 0 {
		e := o.component()
		t.unused = append(t.unused, epoch{e.component, 0})
	}
	last := len(t.unused) - 1
	k.last = epoch{t.unused[last].component, t.unused[last].number + n}
	t.unused = t.unused[:last]
}
