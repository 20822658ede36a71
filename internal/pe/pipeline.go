package pe

import (
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
)

// Unit is a compute engine.
type Unit uint8

// The compute engines.
const (
	GEMM Unit = iota
	MATH
	numUnits
)

// Command is one operation of a compute engine on tiles. Its operands are fetched from TCM
// to registers, the engine runs, and the result is stored to TCM.
type Command struct {
	Op     // the name and line in traces
	ID     oplog.ID
	Unit   Unit
	At     simtime.Time // when it reaches the scheduler
	By     sim.Mark     // the activity that pushed it, in a trace
	Args   [3]int32     // tiles; 0 is none
	Result int32        // a tile
	Fetch  simtime.Time // how long each stage takes
	Run    simtime.Time
	Store  simtime.Time
}

// Pipeline is the fetch/store unit and the GEMM and MATH engines of a PE. Each is a serial
// server. Commands start in program order; a composite with all of its steps counts as one
// command. The times of a command therefore follow by arithmetic when the times of its
// operands are known, and only transfers need events.
type Pipeline struct {
	pending sim.FIFO[queued]
	waiter  *sim.Proc // the process in Await; nil if there is none
	tiles   *Tiles
	eng     *sim.Engine
	Trace   *Trace // nil without a trace

	Fetch, Store sim.Server
	Units        [numUnits]sim.Server

	began [numUnits]simtime.Time // when the last command of each unit started to run
	Usage *Usage                 // nil if usage is not recorded
	// Scheduled, unless nil, is called when the times of a command are known: `start` is
	// the start of its fetch and `end` is the end of its store.
	Scheduled func(id oplog.ID, start, end simtime.Time)

	dma        *DMA
	target     sim.Target
	composites sim.Pool[*Composite]
}

// queued is a command or a composite that waits for its operands.
type queued struct {
	Command
	composite *Composite
}

// Init initializes p as idle engines and connects them with `tiles` and `dma`.
func (p *Pipeline) Init(eng *sim.Engine, tiles *Tiles, dma *DMA) {
	p.eng, p.tiles, p.dma = eng, tiles, dma
	tiles.dma, tiles.pipeline = dma, p
	p.target = eng.Register(p)
}

// Push passes command c to the scheduler, which starts commands in program order.
func (p *Pipeline) Push(c *Command) {
	c.By = p.eng.By
	if p.Trace != nil {
		c.Line = p.Trace.Line
	}
	if p.pending.Len() == 0 && p.schedule(c) {
		return
	}
	p.enqueue(c)
}

// enqueue adds c to the commands that wait.
//
//go:noinline
func (p *Pipeline) enqueue(c *Command) {
	p.addUses(c, 1)
	p.pending.Push(queued{Command: *c})
}

// addUses adds n to the number of readers of each operand of c whose end is not known yet.
func (p *Pipeline) addUses(c *Command, n int32) {
	for _, t := range c.Args {
		if t != 0 {
			p.tiles.slots[t].uses += n
		}
	}
}

// Await parks proc, whose clock is at the time `now`, until an engine of the PE has made
// progress. The process must then test its condition again. `on` says what the process
// waits for.
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

// run computes the times of pending commands in program order. It stops at the first
// command whose operands have no known time yet.
func (p *Pipeline) run() {
	for p.pending.Len() > 0 {
		if q := p.pending.Front(); q.composite != nil {
			if !q.composite.advance() {
				break
			}
		} else if p.schedule(&q.Command) {
			p.addUses(&q.Command, -1)
		} else {
			break
		}
		p.pending.Pop()
	}
	p.wakeWaiter()
}

// schedule computes when each stage of command c runs. It returns false if the time of an
// operand is not known yet.
func (p *Pipeline) schedule(c *Command) bool {
	// A second set of registers takes the operands while the previous command runs.
	at := max(c.At, p.began[c.Unit])
	slots := p.tiles.slots
	for _, t := range c.Args {
		if t != 0 {
			at = max(at, slots[t].ready)
		}
	}
	if at == simtime.Never {
		return false
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

// Drain parks proc until all commands, requests and local copies have ended.
func (p *Pipeline) Drain(proc *sim.Proc) {
	for p.pending.Len() > 0 || p.dma.inFlight > 0 {
		p.Await(proc, "the end of its commands", proc.Now())
	}
	if end := max(p.Store.Free(), p.dma.copies.Free()); end > proc.Now() {
		proc.SleepUntil(end)
	}
}
