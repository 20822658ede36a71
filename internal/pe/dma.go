package pe

import (
	"slices"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// Request is one transfer for a DMA engine.
type Request struct {
	Op    memory.Op    // the channel: Read towards the PE, Write away from it
	Class fabric.Class // fabric.Comm goes first
	Path  []topology.LinkID
	From  Access
	To    Access
	Done  sim.Event // posted when the last byte is there
}

// Access is one end of a request: which bytes of which memory.
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

func (a Access) overlaps(b Access) bool {
	return a.Memory == b.Memory && a.Region.Overlaps(b.Region)
}

// mustFollow reports whether r has to wait for the earlier request e: it reads
// what e writes, or writes what e reads or writes.
func (r *Request) mustFollow(e *Request) bool {
	return r.From.overlaps(e.To) || r.To.overlaps(e.From) || r.To.overlaps(e.To)
}

// DMA is a PE's DMA engine.
type DMA struct {
	eng      *sim.Engine
	fab      *fabric.Fabric
	cfg      topology.DMA
	target   sim.Target
	pool     []request
	unused   []int32
	program  []int32 // requests that have not ended, in program order
	drained  sim.Cond
	channels [2]dmaChannel
}

// dmaChannel is one direction of the engine.
type dmaChannel struct {
	queues   [2][]int32 // requests that have not started, by class
	started  int        // requests outstanding
	sequence sim.Server // forms one descriptor after another
}

type request struct {
	Request
	path   []topology.LinkID
	waiter *sim.Proc
}

const (
	evSetUp   sim.Kind = iota // a request's descriptor is formed: its data may go
	evArrived                 // a request's last byte is there
)

// NewDMA returns an idle engine.
func NewDMA(eng *sim.Engine, fab *fabric.Fabric, cfg topology.DMA) *DMA {
	d := &DMA{eng: eng, fab: fab, cfg: cfg, drained: sim.Cond{What: "the end of its DMA transfers"}}
	d.target = eng.Register(d)
	return d
}

// Submit queues a request. It starts when fewer than the engine's outstanding
// requests are under way on its channel, those of its class before it have
// started, and every earlier request whose bytes it touches has ended.
func (d *DMA) Submit(r Request) { d.submit(r, nil) }

// Do submits a request and waits for its end.
func (d *DMA) Do(p *sim.Proc, r Request) {
	d.submit(r, p)
	p.Park(transferEnd)
}

// Drain waits for the end of every request submitted so far.
func (d *DMA) Drain(p *sim.Proc) {
	p.WaitFor(&d.drained, func() bool { return len(d.program) == 0 })
}

// waitFor is what a process waits for at an engine, for deadlock reports.
type waitFor string

func (w waitFor) String() string { return string(w) }

const transferEnd waitFor = "the end of a DMA transfer"

func (d *DMA) submit(r Request, waiter *sim.Proc) {
	var i int32
	if n := len(d.unused); n > 0 {
		i = d.unused[n-1]
		d.unused = d.unused[:n-1]
	} else {
		i = int32(len(d.pool))
		d.pool = append(d.pool, request{})
	}
	q := &d.pool[i]
	q.path = append(q.path[:0], r.Path...)
	r.Path = q.path
	q.Request, q.waiter = r, waiter
	d.program = append(d.program, i)
	ch := d.channel(r.Op)
	ch.queues[r.Class] = append(ch.queues[r.Class], i)
	d.advance(ch)
}

func (d *DMA) channel(op memory.Op) *dmaChannel {
	if op == memory.Write {
		return &d.channels[1]
	}
	return &d.channels[0]
}

// advance starts what can be started on a channel.
func (d *DMA) advance(ch *dmaChannel) {
	for ch.started < d.cfg.Outstanding {
		i, ok := d.next(ch)
		if !ok {
			return
		}
		ch.started++
		_, formed := ch.sequence.Serve(d.eng.Now(), d.cfg.Setup)
		d.eng.At(formed, d.target, evSetUp, uint64(i))
	}
}

// next takes the first request that may start: of class comm, else of compute.
func (d *DMA) next(ch *dmaChannel) (int32, bool) {
	for class, q := range ch.queues {
		if len(q) > 0 && !d.stalled(q[0]) {
			first := q[0]
			ch.queues[class] = slices.Delete(q, 0, 1)
			return first, true
		}
	}
	return 0, false
}

// stalled reports whether request i has to wait for one before it in the program.
func (d *DMA) stalled(i int32) bool {
	for _, j := range d.program {
		if j == i {
			return false
		}
		if d.pool[i].mustFollow(&d.pool[j].Request) {
			return true
		}
	}
	return false
}

// Handle is the engine's events.
func (d *DMA) Handle(kind sim.Kind, arg uint64) {
	r := &d.pool[arg]
	switch kind {
	case evSetUp:
		d.fab.Send(fabric.Transfer{
			Path: r.path, Bytes: r.From.Region.Bytes(), Class: r.Class,
			Read: r.From.Bank(), Write: r.To.Bank(),
			Done: sim.Event{Target: d.target, Kind: evArrived, Arg: arg},
		})
	case evArrived:
		d.channel(r.Op).started--
		at := slices.Index(d.program, int32(arg))
		d.program = slices.Delete(d.program, at, at+1)
		if len(d.program) == 0 {
			d.drained.Broadcast()
		}
		d.eng.Post(d.eng.Now(), r.Done)
		if r.waiter != nil {
			r.waiter.Wake()
		}
		d.unused = append(d.unused, int32(arg))
		for i := range d.channels { // what waited for its bytes may be on either
			d.advance(&d.channels[i])
		}
	}
}
