package pe

import (
	"slices"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
)

// Step is one tile of a composite: how long each engine works on it, and, if it
// completes a tile of the result, what is written.
type Step struct {
	Fetch  simtime.Time
	Run    [numUnits]simtime.Time
	Store  simtime.Time
	Writes []Request // of the result's tile; empty if more is to be added to it
	Output bool
}

// Plan is the tiles of a composite in order.
type Plan interface {
	// Steps is how many there are, at least one.
	Steps() int
	// Reads is what is read for a step, and Step what is done then. The slices
	// are used before the next call.
	Reads(i int) []Request
	Step(i int) Step
	// Buffer is the TCM for what is read for one step, and Output for one tile
	// of the result.
	Buffer() memory.Bytes
	Output() memory.Bytes
}

// maxDepth is how many steps may have data in TCM: those being read, one being fetched.
// Reads of several steps share the channels of an HBM slice and end close together;
// with as many again waiting behind them the channels do not fall idle meanwhile.
const maxDepth = 8

// maxOutputs is how many tiles of the result may be on their way out.
const maxOutputs = 2

// Composite is a plan under way: DMA read, fetch, GEMM, MATH, store, DMA write, all
// at work on different tiles.
type Composite struct {
	Op                 // in traces
	ID    oplog.ID     // its operation, if there is a log
	At    simtime.Time // when it reached the scheduler
	Args  []int32      // tiles that it uses, pinned
	Order Order        // its place among memory accesses

	Begun, Ended sim.Event // called when its first data moves and when the last is there

	marks     compositeMarks
	pipeline  *Pipeline
	number    int32
	plan      Plan
	steps     int
	depth     int // steps that may have data in TCM
	submitted int // steps whose reads are submitted
	next      int // the step to settle
	outputs   int // tiles of the result stored
	began     bool
	started   simtime.Time
	reading   [maxDepth]int32        // transfers to come for a step
	read      [maxDepth]simtime.Time // when the last came
	fetched   [maxDepth]simtime.Time // when the step's buffer is free again
	writing   [maxOutputs]int32      // transfers to go of a tile of the result
	written   [maxOutputs]simtime.Time
	stored    simtime.Time
}

// compositeMarks is the activities behind the times of a composite, all 0 if nobody traces.
type compositeMarks struct {
	by      sim.Mark // who gave it
	read    [maxDepth]sim.Mark
	fetched [maxDepth]sim.Mark
	written [maxOutputs]sim.Mark
}

const (
	evBegun sim.Kind = iota
	evRead
	evWritten
)

// Footprint is the TCM that a plan takes, and how many steps deep it reads ahead:
// as many as fit beside its operands and what is pinned or reserved, at least two.
// Other tiles in the way are displaced.
func (m *Tiles) Footprint(plan Plan, args []int32) (bytes memory.Bytes, depth int) {
	depth = min(maxDepth, max(2, plan.Steps()))
	need := func() memory.Bytes {
		return memory.Bytes(depth)*roundUp(plan.Buffer()) + maxOutputs*roundUp(plan.Output())
	}
	room := m.Size - m.unevictable
	for _, t := range args {
		if s := &m.slots[t]; !s.pinned {
			room -= s.bytes()
		}
	}
	for depth > 2 && need() > room {
		depth--
	}
	return need(), depth
}

// PushComposite hands a composite to the scheduler. TCM for its Footprint is
// reserved by the caller, and released when it has Ended.
func (p *Pipeline) PushComposite(c *Composite, plan Plan, depth int) {
	c.pipeline, c.plan, c.steps, c.depth = p, plan, plan.Steps(), depth
	c.number = p.composites.Add(c)
	for _, t := range c.Args {
		p.tiles.slots[t].uses++
	}
	c.marks.by = p.eng.By
	if p.Trace != nil {
		c.Line = p.Trace.Line
	}
	p.pending.Push(queued{composite: c})
	c.submitReads()
	p.run()
}

// submitReads submits the reads of the steps for which there is room.
func (c *Composite) submitReads() {
	p := c.pipeline
	for ; c.submitted < c.steps && c.submitted < c.next+c.depth; c.submitted++ {
		at := c.At
		b := c.submitted % c.depth
		by := c.marks.by
		if c.submitted >= c.depth && c.fetched[b] > at {
			at, by = c.fetched[b], c.marks.fetched[b]
		}
		reads := c.plan.Reads(c.submitted)
		c.reading[b], c.read[b], c.marks.read[b] = int32(len(reads)), at, by
		for k := range reads {
			r := &reads[k]
			r.ID, r.At, r.Order, r.Purpose, r.By, r.Line = c.ID, at, c.Order, Stream, by, c.Line
			r.Done = c.event(evRead, b)
			if !c.began {
				c.began, r.Begun = true, c.event(evBegun, 0)
			}
			p.dma.Submit(r)
		}
	}
}

func (c *Composite) event(kind sim.Kind, i int) sim.Event {
	return sim.Event{Target: c.pipeline.target, Kind: kind, Arg: uint64(c.number)<<32 | uint64(i)}
}

// advance settles the steps whose data is there, and reports whether all are.
func (c *Composite) advance() bool {
	p := c.pipeline
	at, by := c.At, c.marks.by
	for _, t := range c.Args {
		s := &p.tiles.slots[t]
		if s.ready == simtime.Never {
			return false
		}
		if s.ready > at {
			at, by = s.ready, s.by
		}
	}
	for c.next < c.steps {
		b := c.next % c.depth
		if c.reading[b] > 0 {
			return false
		}
		s := c.plan.Step(c.next)
		o := c.outputs % maxOutputs
		if s.Output && c.writing[o] > 0 {
			return false
		}
		last := by
		if c.read[b] >= at {
			last = c.marks.read[b]
		}
		c.schedule(&s, max(at, c.read[b]), last, b, o)
		c.next++
		c.submitReads()
	}
	for _, t := range c.Args {
		p.tiles.slots[t].uses--
		fetch := sim.Mark(0)
		if p.Trace != nil {
			fetch = p.Trace.fetch.last
		}
		p.tiles.markBusy(t, p.Fetch.Free(), fetch)
	}
	c.finish() // for a plan that writes nothing, or has written all
	return true
}

// schedule works out when a step runs, whose operands are there at an instant by an
// activity.
func (c *Composite) schedule(s *Step, at simtime.Time, by sim.Mark, b, o int) {
	p := c.pipeline
	for unit, began := range p.began {
		if began > at {
			at = began
			if p.Trace != nil {
				by = p.Trace.units[unit].last
			}
		}
	}
	start, end := p.Fetch.Serve(at, s.Fetch)
	if !c.began {
		c.began, c.started = true, start
		p.eng.Call(c.Begun)
	}
	c.fetched[b] = end
	if p.Trace != nil {
		by = p.Trace.recordStage(&p.Trace.fetch, c.Op, at, start, end, by, 0)
		c.marks.fetched[b] = by
	}
	for unit, run := range s.Run {
		if run == 0 {
			continue
		}
		fetched := end
		p.began[unit], end = p.Units[unit].Serve(end, run)
		if p.Trace != nil {
			by = p.Trace.recordStage(&p.Trace.units[unit], c.Op, fetched, p.began[unit], end, by, 0)
		}
	}
	if p.Usage != nil {
		p.Usage.Compute.Add(start, end)
	}
	if !s.Output {
		return
	}
	if c.written[o] > end {
		end, by = c.written[o], c.marks.written[o]
	}
	storing, stored := p.Store.Serve(end, s.Store)
	c.stored = stored
	if p.Trace != nil {
		by = p.Trace.recordStage(&p.Trace.store, c.Op, end, storing, stored, by, 0)
		c.marks.written[o] = by
	}
	if p.Usage != nil {
		p.Usage.Compute.Add(storing, stored)
	}
	c.outputs++
	c.writing[o], c.written[o] = int32(len(s.Writes)), c.stored
	for k := range s.Writes {
		r := &s.Writes[k]
		r.ID, r.At, r.Order, r.Purpose, r.By, r.Line = c.ID, c.stored, c.Order, Stream, by, c.Line
		r.Done = c.event(evWritten, o)
		p.dma.Submit(r)
	}
}

// finish ends the composite if all is settled and written.
func (c *Composite) finish() {
	if c.next < c.steps || c.Done() || slices.Max(c.writing[:]) > 0 {
		return
	}
	p := c.pipeline
	if !c.began { // nothing to do at all
		c.started = c.At
		p.eng.Call(c.Begun)
	}
	p.composites.Take(c.number)
	c.pipeline = nil
	p.eng.Call(c.Ended) // before what waits for it may go on
	p.dma.Release(c.Order)
}

// Done reports whether all of the result is written.
func (c *Composite) Done() bool { return c.pipeline == nil }

// Started is when the first data moved for it.
func (c *Composite) Started() simtime.Time { return c.started }

// Handle is the end of a composite's transfer.
func (p *Pipeline) Handle(kind sim.Kind, arg uint64) {
	c, i := *p.composites.At(int32(arg >> 32)), uint32(arg)
	switch kind {
	case evBegun:
		c.started = p.eng.Now()
		p.eng.Call(c.Begun)
		return
	case evRead:
		c.reading[i]--
		c.read[i], c.marks.read[i] = p.eng.Now(), p.eng.By
	case evWritten:
		c.writing[i]--
		c.written[i], c.marks.written[i] = p.eng.Now(), p.eng.By
		c.finish()
	}
	p.run()
}
