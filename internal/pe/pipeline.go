package pe

import (
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
)

// Unit is an engine that computes.
type Unit uint8

// The computing engines.
const (
	GEMM Unit = iota
	MATH
	numUnits
)

// Command is one operation of a computing engine on tiles: its operands are
// fetched from TCM into registers, it runs, and its result is stored to TCM.
type Command struct {
	Op     // in traces
	ID     oplog.ID
	Unit   Unit
	At     simtime.Time // when it reaches the scheduler
	By     sim.Mark     // who gave it, if somebody traces
	Args   [3]int32     // tiles; 0 is none
	Result int32        // a tile
	Fetch  simtime.Time // how long each stage takes
	Run    simtime.Time
	Store  simtime.Time
}

// Pipeline is the fetch/store unit, the GEMM and the MATH engine of a PE. Each is
// a serial server; commands begin in program order, a composite with all its steps
// being one. So the time of a command follows by arithmetic as soon as the times
// of its operands are known, and only transfers take events.
type Pipeline struct {
	// Scheduled, if set, is told when a command's operands are fetched from and when
	// its result is there, once that is known.
	Scheduled func(id oplog.ID, start, end simtime.Time)
	Usage     *Usage // of the PE, if it is wanted
	Trace     *Trace // likewise

	Fetch, Store sim.Server
	Units        [numUnits]sim.Server

	eng        *sim.Engine
	target     sim.Target
	tiles      *Tiles
	dma        *DMA
	pending    sim.FIFO[queued]
	began      [numUnits]simtime.Time // when the unit's last command began to run
	composites sim.Pool[*Composite]
	waiter     *sim.Proc
}

// queued is a command or a composite that waits for its operands.
type queued struct {
	Command
	composite *Composite
}

// Init makes p idle engines around a TCM.
func (p *Pipeline) Init(eng *sim.Engine, tiles *Tiles, dma *DMA) {
	p.eng, p.tiles, p.dma = eng, tiles, dma
	tiles.dma, tiles.pipeline = dma, p
	p.target = eng.Register(p)
}

// Push hands a command to the scheduler.
func (p *Pipeline) Push(c *Command) {
	c.By = p.eng.By
	if p.Trace != nil {
		c.Line = p.Trace.Line
	}
	for _, t := range c.Args {
		if t != 0 {
			p.tiles.slots[t].uses++
		}
	}
	if p.pending.Len() == 0 && p.schedule(c) {
		return
	}
	p.pending.Push(queued{Command: *c})
}

// Await parks a process, whose clock is at now, until something of the PE's has got
// on. It is for conditions that the process tests again.
func (p *Pipeline) Await(proc *sim.Proc, on waitReason, now simtime.Time) {
	p.waiter = proc
	proc.ParkFrom(on, now)
	p.waiter = nil
}

func (p *Pipeline) wakeWaiter() {
	if p.waiter != nil {
		p.waiter.Wake()
	}
}

// run settles what can be settled, from the front of the queue.
func (p *Pipeline) run() {
	for p.pending.Len() > 0 {
		if q := p.pending.Front(); q.composite != nil {
			if !q.composite.advance() {
				break
			}
		} else if !p.schedule(&q.Command) {
			break
		}
		p.pending.Pop()
	}
	p.wakeWaiter()
}

// schedule works out when a command runs, if its operands are known.
func (p *Pipeline) schedule(c *Command) bool {
	at := max(c.At, p.began[c.Unit]) // one set of registers is fetched while the other is in use
	for _, t := range c.Args {
		if t == 0 {
			continue
		}
		ready := p.tiles.slots[t].ready
		if ready == simtime.Never {
			return false
		}
		at = max(at, ready)
	}
	var by, fetch, store sim.Mark
	if p.Trace != nil {
		by = p.releasedBy(c, at)
	}
	start, fetched := p.Fetch.Serve(at, c.Fetch)
	began, done := p.Units[c.Unit].Serve(fetched, c.Run)
	p.began[c.Unit] = began
	storing, end := p.Store.Serve(done, c.Store)
	if p.Trace != nil {
		fetch, store = p.Trace.recordCommand(c, by, at, start, fetched, began, done, storing, end)
	}
	for _, t := range c.Args {
		if t != 0 {
			p.tiles.slots[t].uses--
			p.tiles.markBusy(t, fetched, fetch)
		}
	}
	if p.Scheduled != nil {
		p.Scheduled(c.ID, start, end)
	}
	if p.Usage != nil {
		p.Usage.Compute.Add(start, end)
	}
	p.tiles.resolve(c.Result, end, store)
	return true
}

// Drain waits until all that was handed to the engines has ended.
func (p *Pipeline) Drain(proc *sim.Proc) {
	for p.pending.Len() > 0 || p.dma.inFlight > 0 {
		p.Await(proc, "the end of its commands", proc.Now())
	}
	if end := max(p.Store.Free(), p.dma.local.Free()); end > proc.Now() {
		proc.SleepUntil(end)
	}
}
