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
	ID    oplog.ID     // its operation, if there is a log
	Op    memory.Op    // the channel: Read towards the PE, Write away from it
	Class fabric.Class // fabric.Comm goes first
	Fixed bool         // the path will not be changed by the caller: it need not be copied
	Path  []topology.LinkID
	Bytes memory.Bytes // if neither end is a region of memory
	From  Access
	To    Access
	Tail  simtime.Time // what the far end adds after the last byte

	At     simtime.Time // when it reaches the engine, if not at once
	Source int32        // the tile in TCM that it reads, or 0: it waits for that to be there
	Target int32        // the tile in TCM that it is a part of, or 0

	Order     Order     // of a composite: its own; 0 is the next in program order
	Unordered bool      // it touches only memory that others protect, such as queue slots
	Begun     sim.Event // called when it starts to read
	Done      sim.Event // called when the last byte is there

	Purpose  Purpose  // in traces,
	By       sim.Mark // whose doing it is, if not the present activity's,
	Receives sim.Mark // which message it takes out of its slot,
	Line     string   // and the kernel's line, if not the present one
}

// Access is one end of a request: which bytes of which memory. The zero value is
// the PE's own tiles and registers.
type Access struct {
	Memory memory.ID
	Region memory.Region
	Slice  fabric.SliceID // if the memory is HBM: whose channels serve it
}

// Bank is the access as the fabric serves it: that of an HBM slice, or none.
func (a Access) Bank() fabric.Bank {
	if a.Slice == 0 {
		return fabric.Bank{}
	}
	return fabric.Bank{Slice: a.Slice, Region: a.Region}
}

// Overlaps reports whether two accesses have a byte in common.
func (a *Access) Overlaps(b *Access) bool {
	return a.Region.Rows > 0 && a.Memory == b.Memory && a.Region.Overlaps(b.Region)
}

// size is how much the request moves.
func (r *Request) size() memory.Bytes {
	switch {
	case r.From.Region.Rows > 0:
		return r.From.Region.Bytes()
	case r.To.Region.Rows > 0:
		return r.To.Region.Bytes()
	}
	return r.Bytes
}

// DMA is a PE's DMA engine.
//
// A request reaches it when its data is there, has its descriptor formed, waits
// for what it must follow in the program, and queues for its channel. Descriptors
// are formed side by side.
type DMA struct {
	// Followed, if set, is told of an operation that had to wait for another to be
	// done with the same memory.
	Followed func(id, other oplog.ID)
	Usage    *Usage // of the PE, if it is wanted
	Trace    *Trace // likewise

	meter    usageMeter
	eng      *sim.Engine
	fab      *fabric.Fabric
	cfg      topology.DMA
	tiles    *Tiles
	target   sim.Target
	pool     []request // index 0 means none
	freeList int32
	inFlight int             // requests that have not ended
	program  []orderedAccess // ordered accesses that have not ended, in program order
	stalled  []int32         // requests that wait for some of those
	fences   []fence
	last     Order
	idle     sim.Cond
	channels [2]dmaChannel
	port     topology.TCM
	local    sim.Server           // copies within the TCM
	accesses sim.Pool[accessPair] // by request.ends; number 0 is none
	inline   [4]request           // of the pool, in the usual case all
}

// accessPair is the memory at the ends of a request.
type accessPair struct{ from, to Access }

// dmaChannel is one direction of the engine.
type dmaChannel struct {
	queues  [2][]int32 // requests that could start, by class
	started int        // requests outstanding
}

type request struct {
	path      []topology.LinkID
	bytes     memory.Bytes
	at        simtime.Time
	tail      simtime.Time
	begun     sim.Event
	done      sim.Event
	order     Order
	source    int32
	target    int32
	next      int32 // in the list of those that wait for a tile, or of unused ones
	ends      int32 // its accessPair
	op        memory.Op
	class     fabric.Class
	unordered bool
	id        oplog.ID
	waitedFor oplog.ID // what it had to wait for last

	pathCopy []topology.LinkID // for a path that is copied
}

const (
	evFormed    sim.Kind = iota // a request's descriptor is formed
	evArrived                   // a request's last byte is there
	evTailEnded                 // and what the far end adds is over
)

// Init makes d an idle engine. Without tiles, its requests are between memories
// only.
func (d *DMA) Init(eng *sim.Engine, fab *fabric.Fabric, cfg topology.DMA, tcm topology.TCM, tiles *Tiles) {
	d.eng, d.fab, d.cfg, d.port, d.tiles = eng, fab, cfg, tcm, tiles
	d.pool = d.inline[:1]
	d.accesses.Add(accessPair{})
	d.idle.What = "the end of its DMA transfers"
	d.target = eng.Register(d)
}

// Submit queues a request. It starts when fewer than the engine's outstanding
// requests are under way on its channel, and every earlier access to the bytes it
// touches has ended.
func (d *DMA) Submit(r *Request) {
	i := d.add(r)
	q := &d.pool[i]
	if !q.unordered && q.order == 0 {
		d.last++
		q.order = d.last
		d.program = append(d.program, orderedAccess{order: d.last, id: r.ID, from: r.From, to: r.To, request: i})
	}
	d.inFlight++
	if d.Trace != nil {
		d.Trace.recordSubmit(i, r, d.eng.Now(), d.eng.By)
	}
	if q.source != 0 && !d.tiles.addReader(q.source, i) {
		return // form is called when the tile is there
	}
	d.formDescriptor(i)
}

// CopyLocal copies n bytes within the TCM, from `at` on: it takes the set-up and
// one pass through the TCM's slower port, one copy after another. In traces it is
// released by an activity, takes a message out of its slot, and has a mark and a line.
func (d *DMA) CopyLocal(at simtime.Time, n memory.Bytes, by, message sim.Mark, line string) (end simtime.Time, mark sim.Mark) {
	at = max(at, d.eng.Now()) + d.cfg.Setup
	start, end := d.local.Serve(at, d.port.Overhead+slower(d.port.ReadBandwidth, d.port.WriteBandwidth).Serialize(n))
	if d.Trace != nil {
		mark = d.Trace.recordStage(&d.Trace.copies, Op{Receive.String(), line}, at, start, end, by, message)
	}
	return end, mark
}

// Arrive notes the arrival of a part of a tile, at an instant to come, by an activity.
func (d *DMA) Arrive(tile int32, at simtime.Time, by sim.Mark) { d.tiles.arrive(tile, at, by) }

// Drain waits for the end of every request submitted so far.
func (d *DMA) Drain(p *sim.Proc) {
	p.WaitFor(&d.idle, func() bool { return d.inFlight == 0 })
}

// waitReason is what a process waits for at an engine, for deadlock reports.
type waitReason string

func (w waitReason) String() string { return string(w) }

func (d *DMA) add(r *Request) int32 {
	i := d.freeList
	if i == 0 {
		i = int32(len(d.pool))
		d.pool = append(d.pool, request{})
	} else {
		d.freeList = d.pool[i].next
	}
	q := &d.pool[i]
	q.path = r.Path
	if !r.Fixed {
		q.pathCopy = append(q.pathCopy[:0], r.Path...)
		q.path = q.pathCopy
	}
	q.id, q.waitedFor = r.ID, 0
	q.bytes, q.at, q.tail, q.begun, q.done, q.order = r.size(), r.At, r.Tail, r.Begun, r.Done, r.Order
	q.source, q.target, q.op, q.class, q.unordered, q.ends = r.Source, r.Target, r.Op, r.Class, r.Unordered, 0
	if r.From.Region.Rows > 0 || r.To.Region.Rows > 0 {
		q.ends = d.accesses.Add(accessPair{r.From, r.To})
	}
	return i
}

// formDescriptor has the descriptor of request i formed, from when its source is there.
func (d *DMA) formDescriptor(i int32) {
	q := &d.pool[i]
	at := max(d.eng.Now(), q.at)
	if q.source != 0 {
		s := &d.tiles.slots[q.source]
		if d.Trace != nil && s.ready >= at && s.ready > q.at {
			d.Trace.requests[i].by = s.by
		}
		at = max(at, s.ready)
	}
	d.eng.At(at+d.cfg.Setup, d.target, evFormed, uint64(i))
}

// enqueue lets a request wait for its channel.
func (d *DMA) enqueue(i int32) {
	q := &d.pool[i]
	ch := &d.channels[channel(q.op)]
	if ch.started < d.cfg.Outstanding {
		d.start(ch, i)
		return
	}
	ch.queues[q.class] = append(ch.queues[q.class], i)
}

// channel returns the number of the channel that an operation goes over.
func channel(op memory.Op) int {
	if op == memory.Write {
		return 1
	}
	return 0
}

func (d *DMA) start(ch *dmaChannel, i int32) {
	q := &d.pool[i]
	ch.started++
	d.meter.begin(q.class, d.eng.Now())
	if d.Trace != nil {
		d.Trace.recordStart(i, d.eng.Now(), d.eng.By)
	}
	if !q.unordered {
		for k := range d.program {
			if e := &d.program[k]; e.request == i {
				e.started = true
				break
			}
		}
	}
	d.eng.Call(q.begun)
	if q.waitedFor != 0 && d.Followed != nil {
		d.Followed(q.id, q.waitedFor)
	}
	t := fabric.Transfer{
		Path: q.path, Bytes: q.bytes, Class: q.class,
		Done: sim.Event{Target: d.target, Kind: evArrived, Arg: uint64(i)},
	}
	if q.ends != 0 {
		ends := d.accesses.At(q.ends)
		t.Read, t.Write = ends.from.Bank(), ends.to.Bank()
	}
	d.fab.Send(&t)
}

// startQueued starts what waits for a channel, class comm first, and reports whether anything did.
func (d *DMA) startQueued(ch *dmaChannel) (started bool) {
	for class := range ch.queues {
		for len(ch.queues[class]) > 0 && ch.started < d.cfg.Outstanding {
			first := ch.queues[class][0]
			ch.queues[class] = slices.Delete(ch.queues[class], 0, 1)
			d.start(ch, first)
			started = true
		}
	}
	return started
}

// Handle is the engine's events.
func (d *DMA) Handle(kind sim.Kind, arg uint64) {
	i := int32(arg)
	switch kind {
	case evFormed:
		if d.mustFollow(i) {
			d.stalled = append(d.stalled, i)
			return
		}
		d.enqueue(i)
		d.setCause(i) // a read that has begun may be what a fence waits for
		d.passFences()
	case evArrived:
		d.setCause(i)
		if d.Trace != nil {
			d.Trace.requests[i].queued = d.fab.Waited()
		}
		ch := &d.channels[channel(d.pool[i].op)]
		ch.started--
		if tail := d.pool[i].tail; tail > 0 {
			d.eng.At(d.eng.Now()+tail, d.target, evTailEnded, arg)
		} else {
			d.finish(i)
		}
		if d.startQueued(ch) {
			d.passFences() // a read that has begun may be what one waits for
		}
	case evTailEnded:
		d.setCause(i)
		d.finish(i)
	}
}

// setCause notes that what happens now is the doing of request i.
func (d *DMA) setCause(i int32) {
	if d.Trace != nil {
		d.eng.By = d.Trace.requests[i].mark
	}
}

// finish is the finish of request i.
func (d *DMA) finish(i int32) {
	q := &d.pool[i]
	d.meter.end(q.class, d.eng.Now(), d.Usage)
	if d.Trace != nil {
		d.Trace.recordEnd(i, q.op, q.bytes, d.eng.Now())
	}
	loose, source, target, done := q.unordered, q.source, q.target, q.done
	if q.ends != 0 {
		d.accesses.Take(q.ends)
	}
	q.next = d.freeList
	d.freeList = i
	d.inFlight--
	if !loose {
		if at := slices.IndexFunc(d.program, func(e orderedAccess) bool { return e.request == i }); at >= 0 {
			d.program = slices.Delete(d.program, at, at+1)
		}
	}
	d.eng.Call(done)
	if source != 0 {
		d.tiles.endUse(source, d.eng.Now())
	}
	if target != 0 {
		d.tiles.arrive(target, d.eng.Now(), d.eng.By)
	}
	if !loose {
		d.resumeStalled()
	}
	if d.inFlight == 0 {
		d.idle.Broadcast()
		if d.tiles != nil {
			d.tiles.pipeline.wakeWaiter()
		}
	}
}
