package pe

import (
	"slices"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
)

// Step is the work of a composite on one tile: how long each engine takes, and the writes
// if the step completes a tile of the result.
type Step struct {
	Fetch  simtime.Time
	Run    [numUnits]simtime.Time
	Store  simtime.Time
	Writes []Request // transfers of the completed tile of the result
	Output bool      // the step completes a tile of the result
}

// Plan is the sequence of steps of a composite.
type Plan interface {
	// Steps returns the number of steps, at least 1.
	Steps() int
	// Reads returns the transfers that read the operands of step i. The slice is valid
	// until the next call.
	Reads(i int) []Request
	// Step returns the work of step i. Its Writes are valid until the next call.
	Step(i int) Step
	// Buffer returns how much TCM the operands of one step take.
	Buffer() memory.Bytes
	// Output returns how much TCM one tile of the result takes.
	Output() memory.Bytes
}

// maxDepth is the maximum number of steps with data in TCM: steps whose operands are being
// read, and one whose operands are being fetched. The reads of several steps share the
// channels of an HBM slice and end at almost the same time. The depth is large enough for
// further reads to be queued then, so that the channels do not become idle.
const maxDepth = 8

// maxOutputs is the maximum number of tiles of the result that are being written.
const maxOutputs = 2

// Composite is a plan that is running. Its pipeline stages, DMA read, fetch, GEMM, MATH,
// store and DMA write, work on different tiles at the same time.
type Composite struct {
	Op                 // the name and line in traces
	ID    oplog.ID     // the operation in the op log; 0 without a log
	At    simtime.Time // when it reaches the scheduler
	Args  []int32      // operands that are tiles; they stay in TCM until they are fetched
	Order Order        // the place of its memory accesses in the program

	Begun, Ended sim.Event // called when its first data moves and when all data is written

	marks     compositeMarks
	pipeline  *Pipeline
	number    int32 // identifies the composite in events
	plan      Plan
	steps     int
	depth     int                      // the maximum number of steps with data in TCM
	submitted int                      // steps whose reads have been submitted
	next      int                      // the next step to schedule
	outputs   int                      // tiles of the result that have been stored to TCM
	began     bool                     // its first data moves, or is about to
	started   simtime.Time             // when its first data moved
	reading   [maxDepth]int32          // transfers in flight for a step, by step mod depth
	read      [maxDepth]simtime.Time   // when the last of these transfers ended
	fetched   [maxDepth]simtime.Time   // when the step's buffer becomes free
	writing   [maxOutputs]int32        // transfers in flight for a tile of the result
	written   [maxOutputs]simtime.Time // when the buffer of the tile becomes free
	stored    simtime.Time             // when the latest tile of the result was stored to TCM
}

// compositeMarks holds the activities that caused the times of a composite; all are 0
// without a trace.
type compositeMarks struct {
	by      sim.Mark // the activity that pushed the composite
	read    [maxDepth]sim.Mark
	fetched [maxDepth]sim.Mark
	written [maxOutputs]sim.Mark
}

const (
	evBegun   sim.Kind = iota // the first transfer of a composite has started
	evRead                    // a read has ended
	evWritten                 // a write has ended
)

// Footprint returns how many bytes of TCM the buffers of a plan take, and the depth of the
// plan. The depth is the number of steps that have data in TCM at the same time. Footprint
// chooses the largest depth that fits next to the operands in `args`, pinned tiles and
// reserved bytes. Other tiles are evicted if necessary. The depth is at least 2 and at most
// maxDepth. It exceeds the number of steps only if there is just one step.
func (m *Tiles) Footprint(plan Plan, args []int32) (bytes memory.Bytes, depth int) {
	depth = min(maxDepth, max(2, plan.Steps()))
	need := func() memory.Bytes {
		return memory.Bytes(depth)*roundUp(plan.Buffer()) + maxOutputs*roundUp(plan.Output())
	}
	space := m.Size - m.unevictable
	for _, t := range args {
		if s := &m.slots[t]; !s.pinned {
			space -= s.bytes()
		}
	}
	for depth > 2 && need() > space {
		depth--
	}
	return need(), depth
}

// PushComposite passes composite c with the given plan and depth to the scheduler. Before
// the call, the caller must reserve TCM for the Footprint of the plan. The caller releases
// the TCM when c.Ended is called.
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

// submitReads submits the reads of the next steps until no buffer for a step is free.
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
				if c.began = true; c.Begun.Target != 0 { // in other SIPs, only the op log may learn of it
					r.Begun = c.event(evBegun, 0)
				}
			}
			p.dma.Submit(r)
		}
	}
}

func (c *Composite) event(kind sim.Kind, i int) sim.Event {
	return sim.Event{Target: c.pipeline.target, Kind: kind, Arg: uint64(c.number)<<32 | uint64(i)}
}

// advance computes the times of the next steps, as long as their operands are in TCM and a
// buffer for their result is free. It reports whether the times of all steps of the
// composite are now known.
func (c *Composite) advance() bool {
	p := c.pipeline
	at, by := c.At, c.marks.by
	for _, t := range c.Args {
		s := &p.tiles.slots[t]
		if s.ready == simtime.Never {
			return false
		}
		if s.ready > at {
			at, by = s.ready, p.tiles.mark(t).ready
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
	c.finish() // in case no write is in flight
	return true
}

// schedule computes when each stage of step s runs. The activity `by` brought the operands
// of the step into TCM at the time `at`. b is the number of the step's buffer, and o the
// number of the buffer for its tile of the result.
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

// finish ends the composite if the times of all steps are known and all writes have ended.
// Otherwise it does nothing.
func (c *Composite) finish() {
	if c.next < c.steps || c.Done() || slices.Max(c.writing[:]) > 0 {
		return
	}
	p := c.pipeline
	if !c.began { // no step moved any data
		c.started = c.At
		p.eng.Call(c.Begun)
	}
	p.composites.Take(c.number)
	c.pipeline = nil
	p.eng.Call(c.Ended) // before Release resumes requests that wait for the composite
	p.dma.Release(c.Order)
}

// Done reports whether the composite has ended.
func (c *Composite) Done() bool { return c.pipeline == nil }

// Started returns the time at which the first data of the composite moved.
func (c *Composite) Started() simtime.Time { return c.started }

// Handle continues a composite after one of its transfers started or ended.
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
