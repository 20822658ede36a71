package pe

import (
	"slices"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Request is one transfer for a DMA engine.
type Request struct {
	ID    oplog.ID     // the operation in the op log; 0 without a log
	Op    memory.Op    // the channel: Read towards the PE, Write away from it
	Class fabric.Class // fabric.Comm goes first
	Queue int32        // requests with the same number leave in order; 0 is none
	More  bool         // continues the previous request of its queue, so that both count as one outstanding request
	Fixed bool         // the caller will not change Path, so that it need not be copied
	Path  []topology.LinkID
	Bytes memory.Bytes // the size, if neither From nor To is a region of memory
	From  Access
	To    Access
	Tail  simtime.Time // the delay that the far end adds after the last byte

	Remote *Remote // nil if the request stays within the SIP of the engine; Submit copies it

	At     simtime.Time // when it reaches the engine; a past time means now
	Source int32        // the tile in TCM that it reads and waits for; 0 is none
	Target int32        // the tile in TCM that it writes a part of; 0 is none

	Order     Order     // the place that Hold returned; 0 takes the next place in program order
	Unordered bool      // takes no place in program order: for queue slots and signals
	Begun     sim.Event // called when it starts to read
	Done      sim.Event // called when the last byte has arrived and Tail has passed
	Notice    int64     // as the field of the same name of a fabric.Transfer
	Arriving  sim.Kind  // the Arriving event of the transfer has this kind, and Target and Arg of Done

	// For traces:
	Purpose  Purpose
	By       sim.Mark // the activity that released it; 0 is the current activity
	Receives sim.Mark // the Send whose message it takes out of a slot
	Line     string   // the kernel's line; empty is the current line
}

// Access is one end of a request: bytes of a memory. The zero value stands for the tiles
// and registers of the PE.
type Access struct {
	Memory memory.ID
	Region memory.Region
	Slice  fabric.SliceID // the HBM slice; 0 if the memory is not HBM
}

// Bank converts the access into the form that the fabric uses for an access to an HBM
// slice. For other memories it returns the zero value.
func (a Access) Bank() fabric.Bank {
	if a.Slice == 0 {
		return fabric.Bank{}
	}
	return fabric.Bank{Slice: a.Slice, Region: a.Region}
}

// Overlaps reports whether accesses a and b have a byte of memory in common.
func (a *Access) Overlaps(b *Access) bool {
	return a.Region.Rows > 0 && a.Memory == b.Memory && a.Region.Overlaps(b.Region)
}

// size returns the number of bytes that the request moves.
func (r *Request) size() memory.Bytes {
	switch {
	case r.From.Region.Rows > 0:
		return r.From.Region.Bytes()
	case r.To.Region.Rows > 0:
		return r.To.Region.Bytes()
	}
	return r.Bytes
}

// DMA is the DMA engine of a PE.
//
// A request reaches the engine when the tile that it reads, if any, is ready in TCM. The
// engine then forms the descriptor of the request; descriptors are formed in parallel. The
// request then waits for earlier accesses of the program to the same memory, and at last
// for its channel.
//
// The fields that every request uses come first. They are in few cache lines: a DMA starts 24
// bytes before a line, as part of a machine.PE.
type DMA struct {
	Trace *Trace // nil without a trace
	Usage *Usage // nil if usage is not recorded
	eng   *sim.Engine

	fab      *fabric.Fabric
	tiles    *Tiles
	cfg      *topology.DMA
	pool     []request // requests by number; 0 is none
	freeList int32     // the first unused request; 0 is none
	target   sim.Target
	inFlight int // requests that have not ended

	program  []orderedAccess // ordered accesses that have not ended, in program order
	channels [2]dmaChannel
	meter    usageMeter

	copies copyServer // copies within the TCM
	last   Order      // the last place that was taken
	// Followed, unless nil, is called with an operation and the earlier operation that it
	// waited for because both use the same memory.
	Followed func(id, other oplog.ID)

	inline [4]request // initial storage of pool

	fences  []fence      // events that wait for some of the accesses in program
	stalled []int32      // requests that wait for some of the accesses in program
	ends    []accessPair // by request; only for requests with such an end
	remotes []remote     // by request; only for requests to or from other SIPs
	SIP     int32        // the SIP of the engine
	Remotes *Remotes     // of the thread that runs the SIP; may be nil if no request concerns other SIPs

	destinations []destination // other SIPs that the engine has written to
	ids          []operations  // by request; only if Followed is set
	idle         sim.Cond
	queues       [2][2][]int32       // requests that wait for a channel, by channel and class
	paths        [][]topology.LinkID // copies of paths, by request
}

// operations has the operation of a request, and the one that it waited for last; 0 is none.
type operations struct{ own, waitedFor oplog.ID }

// accessPair holds the two ends of a request. An end that is not a region of memory has no
// meaning.
type accessPair struct{ from, to Access }

// dmaChannel is one direction of the engine.
type dmaChannel struct {
	started int32 // outstanding requests
	waiting int32 // requests in queues
}

// request is a Request that the engine has accepted. It takes two cache lines.
type request struct {
	path   []topology.LinkID
	bytes  memory.Bytes
	done   sim.Event
	source int32
	target int32
	next   int32 // the next request that waits for the same tile, or the next in freeList
	queue  int32

	at        simtime.Time
	tail      simtime.Time
	begun     sim.Event
	order     Order
	notice    int64
	arriving  sim.Kind
	op        memory.Op
	class     fabric.Class
	reads     bool // From is a region of memory
	writes    bool // To is a region of memory
	unordered bool
	placed    bool // has a place of its own in program
	more      bool
	followed  bool // waited for an earlier access
	remote    bool // has an entry in remotes
}

const (
	evFormed       sim.Kind = iota // the descriptor of a request is formed
	evArriving                     // the first flits of a request have arrived
	evArrived                      // the last byte of a request has arrived
	evTailEnded                    // the Tail of a request has passed
	evReadBegun                    // the request of a read has arrived at a memory in another SIP
	evLeft                         // the last byte of a request has left the SIP
	evReleased                     // the engine knows that the last byte has left another SIP
	evAcknowledged                 // the acknowledgement of a write to another SIP has arrived
)

// Init initializes d as an idle engine. `tiles` may be nil if no request has a Source or a
// Target.
func (d *DMA) Init(eng *sim.Engine, fab *fabric.Fabric, cfg *topology.DMA, tcm *topology.TCM, tiles *Tiles) {
	d.eng, d.fab, d.cfg, d.tiles = eng, fab, cfg, tiles
	d.copies.overhead, d.copies.bandwidth = tcm.Overhead, slower(tcm.ReadBandwidth, tcm.WriteBandwidth)
	d.pool = d.inline[:1]
	d.idle.What = "the end of its DMA transfers"
	d.target = eng.Register(d)
}

// Submit passes request r to the engine. The request starts when three conditions hold. The
// tile that it reads, if any, is ready. Every earlier access that conflicts with it has
// ended, unless r.Unordered is set. Its channel has fewer than the maximum number of
// outstanding requests.
func (d *DMA) Submit(r *Request) {
	i := d.add(r)
	q := &d.pool[i]
	if !q.unordered && q.order == 0 {
		d.addAccess(i, q)
	}
	d.inFlight++
	if d.Trace != nil {
		d.Trace.recordSubmit(i, r, d.eng.Now(), d.eng.By)
	}
	if q.source != 0 && !d.tiles.addReader(i, q) {
		return // formDescriptor is called when the time of the tile is known
	}
	d.formDescriptor(i, q)
}

// Arrive records that a part of the given tile will be in TCM at the future time `at`. `by`
// is the activity that brings it there.
func (d *DMA) Arrive(tile int32, at simtime.Time, by sim.Mark) { d.tiles.arrive(tile, at, by) }

// Drain parks p until all submitted requests have ended.
func (d *DMA) Drain(p *sim.Proc) {
	p.WaitFor(&d.idle, func() bool { return d.inFlight == 0 })
}

// waitReason says what a process waits for at an engine, in reports of deadlocks.
type waitReason string

func (w waitReason) String() string { return string(w) }

// add copies r into the pool of requests and returns its number there.
func (d *DMA) add(r *Request) int32 {
	if d.freeList == 0 {
		d.growPool()
	}
	i := d.freeList
	q := &d.pool[i]
	d.freeList = q.next
	q.path = r.Path
	if !r.Fixed {
		q.path = d.copyPath(i, r.Path)
	}
	q.bytes, q.at, q.done, q.source, q.target, q.queue = r.Bytes, r.At, r.Done, r.Source, r.Target, r.Queue
	q.op, q.class, q.unordered, q.placed, q.more, q.followed = r.Op, r.Class, r.Unordered, false, r.More, false
	q.tail, q.begun, q.order, q.notice, q.arriving = r.Tail, r.Begun, r.Order, r.Notice, r.Arriving
	if q.remote = r.Remote != nil; q.remote {
		d.addRemote(i, r)
	}
	if d.Followed != nil {
		d.addOperation(i, r.ID)
	}
	if q.reads, q.writes = r.From.Region.Rows > 0, r.To.Region.Rows > 0; q.reads || q.writes {
		q.bytes = r.size()
		d.addEnds(i, r)
	}
	return i
}

// growPool adds an unused request to the pool.
//
//go:noinline
func (d *DMA) growPool() {
	d.freeList = int32(len(d.pool))
	d.pool = append(d.pool, request{})
}

// copyPath returns a copy of `path` that is valid until request i ends.
//
//go:noinline
func (d *DMA) copyPath(i int32, path []topology.LinkID) []topology.LinkID {
	for len(d.paths) <= int(i) {
		d.paths = append(d.paths, nil)
	}
	d.paths[i] = append(d.paths[i][:0], path...)
	return d.paths[i]
}

// addOperation stores the operation of request i.
func (d *DMA) addOperation(i int32, id oplog.ID) {
	for len(d.ids) <= int(i) {
		d.ids = append(d.ids, operations{})
	}
	d.ids[i] = operations{own: id}
}

// addEnds stores the ends of request i, which is r.
func (d *DMA) addEnds(i int32, r *Request) {
	for len(d.ends) <= int(i) {
		d.ends = append(d.ends, accessPair{})
	}
	ends := &d.ends[i]
	if r.From.Region.Rows > 0 {
		ends.from = r.From
	}
	if r.To.Region.Rows > 0 {
		ends.to = r.To
	}
}

// remove adds request i, which is q, to the unused requests.
func (d *DMA) remove(i int32, q *request) {
	q.next = d.freeList
	d.freeList = i
}

// formDescriptor starts to form the descriptor of request i, which is q, when the tile that
// the request reads, if any, is ready.
func (d *DMA) formDescriptor(i int32, q *request) {
	at := max(d.eng.Now(), q.at)
	if q.source != 0 {
		s := &d.tiles.slots[q.source]
		if d.Trace != nil && s.ready >= at && s.ready > q.at {
			d.Trace.requests[i].by = d.tiles.mark(q.source).ready
		}
		at = max(at, s.ready)
	}
	d.eng.At(at+d.cfg.Setup, d.target, evFormed, uint64(i))
}

// enqueue starts request i if its channel has capacity, else adds it to the queue of the
// channel.
func (d *DMA) enqueue(i int32) {
	q := &d.pool[i]
	n := channel(q.op)
	ch := &d.channels[n]
	if q.more || int(ch.started) < d.cfg.Outstanding {
		d.start(ch, i)
		return
	}
	ch.waiting++
	d.queues[n][q.class] = append(d.queues[n][q.class], i)
}

// channel returns the number of the channel for op: 0 for reads, 1 for writes.
func channel(op memory.Op) int {
	if op == memory.Write {
		return 1
	}
	return 0
}

// start counts request i as outstanding on channel ch and sends its data over the fabric. The
// request of a read from another SIP travels there first.
func (d *DMA) start(ch *dmaChannel, i int32) {
	q := &d.pool[i]
	if !q.more {
		ch.started++
	}
	d.meter.begin(q.class, d.eng.Now())
	if d.Trace != nil {
		d.Trace.recordStart(i, d.eng.Now(), d.eng.By)
	}
	if q.remote {
		d.startRemote(i, q)
		return
	}
	if q.placed {
		d.placeOf(i).settled = !q.writes
	}
	d.send(i)
}

// send sends the data of request i over the fabric.
func (d *DMA) send(i int32) {
	q := &d.pool[i]
	if q.begun.Target != 0 || q.followed {
		d.begin(i)
	}
	var t fabric.Transfer
	d.setTransfer(&t, i, q)
	d.fab.Send(&t)
}

// begin tells that request i begins to read.
func (d *DMA) begin(i int32) {
	q := &d.pool[i]
	d.eng.Call(q.begun)
	if q.followed && d.Followed != nil {
		if o := &d.ids[i]; o.waitedFor != 0 {
			d.Followed(o.own, o.waitedFor)
		}
	}
}

// startQueued starts waiting requests of channel number n, class comm first, until the
// channel has no more capacity. It reports whether any request started.
func (d *DMA) startQueued(n int) (started bool) {
	ch := &d.channels[n]
	for class := range d.queues[n] {
		queue := &d.queues[n][class]
		for len(*queue) > 0 && int(ch.started) < d.cfg.Outstanding {
			ch.waiting--
			first := (*queue)[0]
			*queue = slices.Delete(*queue, 0, 1)
			d.start(ch, first)
			started = true
		}
	}
	return started
}

// Handle continues a request after its descriptor is formed, its last byte has arrived or
// its Tail has passed.
func (d *DMA) Handle(kind sim.Kind, arg uint64) {
	i := int32(arg)
	switch kind {
	case evFormed:
		if len(d.program) > 0 && d.mustFollow(i) {
			d.stalled = append(d.stalled, i)
			return
		}
		d.enqueue(i)
		if d.setCause(i); len(d.program) > 0 {
			d.passFences() // a fence may wait for the start of this read
		}
	case evArriving:
		d.setCause(i)
		q := &d.pool[i]
		d.eng.Call(sim.Event{Target: q.done.Target, Kind: q.arriving, Arg: q.done.Arg})
	case evArrived:
		d.setCause(i)
		if d.Trace != nil {
			d.Trace.requests[i].queued = d.fab.Waited()
		}
		q := &d.pool[i]
		n := channel(q.op)
		if !q.more {
			d.channels[n].started--
		}
		if q.tail > 0 {
			d.eng.At(d.eng.Now()+q.tail, d.target, evTailEnded, arg)
		} else {
			d.finish(i)
		}
		d.startNext(n)
	case evTailEnded:
		d.setCause(i)
		d.finish(i)
	default:
		d.handleRemote(kind, i)
	}
}

// startNext starts waiting requests of channel number n.
func (d *DMA) startNext(n int) {
	if d.channels[n].waiting > 0 && d.startQueued(n) {
		d.passFences() // a fence may wait for the start of a read
	}
}

// setCause records for the trace that request i is the cause of everything that happens
// next.
func (d *DMA) setCause(i int32) {
	if d.Trace != nil {
		d.eng.By = d.Trace.requests[i].mark
	}
}

// finish ends request i and resumes everything that waits for it.
func (d *DMA) finish(i int32) {
	q := &d.pool[i]
	if q.remote {
		d.Remotes.requests.Put(d.remotes[i].number)
	}
	if d.Trace != nil {
		d.Trace.recordEnd(&d.Trace.requests[i], q.op, q.bytes, d.eng.Now())
	}
	d.meter.end(q.class, d.eng.Now(), d.Usage)
	ordered, source, target, done := !q.unordered, q.source, q.target, q.done
	d.remove(i, q)
	d.inFlight--
	if q.placed {
		d.removeAccess(i)
	}
	d.eng.Call(done)
	if source != 0 {
		d.tiles.endUse(source, d.eng.Now())
	}
	if target != 0 {
		d.tiles.arrive(target, d.eng.Now(), d.eng.By)
	}
	if ordered {
		d.resumeStalled()
	}
	d.endIdle()
}

// endIdle wakes the processes that wait until the engine is idle, if it is.
func (d *DMA) endIdle() {
	if d.inFlight == 0 {
		d.idle.Broadcast()
		if d.tiles != nil {
			d.tiles.pipeline.wakeWaiter()
		}
	}
}
