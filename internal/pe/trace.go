package pe

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/simtime"
)

// Purpose is what a request is for, as traces call it.
type Purpose uint8

// What requests are for.
const (
	Transfer Purpose = iota // of nobody who said so
	Load
	Store
	Get
	Put
	Send
	Receive
	Notify
	Stream // tiles of a composite
)

var purposes = [...]string{"transfer", "load", "store", "get", "put", "send", "recv", "notify", "stream"}

func (p Purpose) String() string { return purposes[p] }

// Op is an operation of a kernel as traces show it.
type Op struct {
	Name string // "dot 64×64×64"
	Line string // of the kernel: "matmul.go:31"
}

// Trace is where the engines of a PE note what they did, and what they had waited for, if
// somebody wants to see it.
type Trace struct {
	rec      *trace.Recorder
	process  *trace.Process
	CPU      *trace.Track
	Line     string // of the kernel, whose operation the CPU dispatches
	fetch    serverTrack
	units    [numUnits]serverTrack
	store    serverTrack
	copies   serverTrack
	channels [2]*trace.Lanes
	requests []tracedRequest // of the DMA engine, by number
	line     [1]trace.Arg
}

// serverTrack is a track of a serial serverTrack, and its latest activity.
type serverTrack struct {
	track *trace.Track
	last  sim.Mark
}

// tracedRequest is a request of the DMA engine.
type tracedRequest struct {
	purpose  Purpose
	line     string
	by       sim.Mark // whose doing it is
	mark     sim.Mark // its own, once it has started
	receives sim.Mark // the message that it takes out of its slot
	started  simtime.Time
	queued   simtime.Time // its head, in front of links
}

// NewTrace is the tracks of a PE.
func NewTrace(rec *trace.Recorder, name string, order int) *Trace {
	p := rec.Process(name, order)
	t := &Trace{rec: rec, process: p, CPU: p.Track("cpu")}
	t.channels[0], t.channels[1] = p.Lanes("dma read"), p.Lanes("dma write")
	t.copies.track, t.fetch.track = p.Track("copy"), p.Track("fetch")
	t.units[GEMM].track, t.units[MATH].track = p.Track("gemm"), p.Track("math")
	t.store.track = p.Track("store")
	return t
}

// Mark is the number of a new activity.
func (t *Trace) Mark() sim.Mark { return t.rec.Mark() }

// recordStage notes the work of a serial server that could have begun at an instant, released
// by an activity, and began when the server was free.
func (t *Trace) recordStage(s *serverTrack, op Op, asked, start, end simtime.Time, by, receives sim.Mark) sim.Mark {
	if start > asked {
		by = s.last
	}
	s.last = t.rec.Mark()
	t.line[0] = trace.Text("line", op.Line)
	s.track.Slice(trace.Slice{Name: op.Name, Start: start, End: end, ID: s.last, After: by, Receives: receives, Args: t.line[:]})
	return s.last
}

// RecordDepth notes how many fragments wait in a queue of the PE.
func (t *Trace) RecordDepth(at simtime.Time, queue string, n int) {
	t.process.Counter(at, "queue "+queue, "slots", float64(n))
}

// recordSubmit notes a request, now and by an activity: but if it has its own time and reason to
// come, and that is not over, it is for that.
func (t *Trace) recordSubmit(i int32, r *Request, now simtime.Time, by sim.Mark) {
	for len(t.requests) <= int(i) {
		t.requests = append(t.requests, tracedRequest{})
	}
	if r.By != 0 && r.At >= now {
		by = r.By
	}
	t.requests[i] = tracedRequest{purpose: r.Purpose, line: cmp.Or(r.Line, t.Line), by: by, receives: r.Receives}
}

// recordStart notes that a request has started, released by an activity if it waited for one.
func (t *Trace) recordStart(i int32, now simtime.Time, by sim.Mark) {
	r := &t.requests[i]
	if by != 0 {
		r.by = by
	}
	r.mark, r.started = t.rec.Mark(), now
}

// recordEnd notes that it has recordEnd.
func (t *Trace) recordEnd(i int32, op memory.Op, n memory.Bytes, now simtime.Time) {
	r := &t.requests[i]
	s := trace.Slice{
		Name: r.purpose.String(), Start: r.started, End: now, ID: r.mark, After: r.by, Receives: r.receives,
		Args: []trace.Arg{trace.Number("bytes", int64(n)), trace.Nanoseconds("queued_ns", r.queued), trace.Text("line", r.line)},
	}
	if r.purpose == Send && n > 0 {
		s.Sends = r.mark
	}
	t.channels[channel(op)].Slice(s)
}

// releasedBy is the activity that lets a command begin at an instant: what made its latest
// operand, the command before it, or whoever gave it.
func (p *Pipeline) releasedBy(c *Command, at simtime.Time) sim.Mark {
	for _, t := range c.Args {
		if t != 0 && p.tiles.slots[t].ready == at {
			return p.tiles.slots[t].by
		}
	}
	if at > c.At {
		return p.Trace.units[c.Unit].last
	}
	return c.By
}

// recordCommand notes the stages of a recordCommand that could have begun at an instant, and is the
// activities that fetched its operands and stored its result.
func (t *Trace) recordCommand(c *Command, by sim.Mark, asked, start, fetched, began, done, storing, end simtime.Time) (fetch, store sim.Mark) {
	fetch = t.recordStage(&t.fetch, c.Op, asked, start, fetched, by, 0)
	run := t.recordStage(&t.units[c.Unit], c.Op, fetched, began, done, fetch, 0)
	return fetch, t.recordStage(&t.store, c.Op, done, storing, end, run, 0)
}

// LastActivity is the activity that ends the work of the PE's engines, if that is what ends at
// an instant.
func (p *Pipeline) LastActivity(now simtime.Time) sim.Mark {
	switch now {
	case p.Store.Free():
		return p.Trace.store.last
	case p.dma.local.Free():
		return p.Trace.copies.last
	}
	return 0
}

// Usage is when parts of a PE were at work. Those that do the work note it, if
// somebody wants to know.
type Usage struct {
	Compute Spans    // commands, from the fetch of their operands to the store of their results
	DMA     [2]Spans // requests under way, by class
	Waits   Spans    // the CPU for messages, signals or room for messages
}

// Span is some time, from Start to End.
type Span struct{ Start, End simtime.Time }

// Spans is times that do not touch, in order.
type Spans []Span

// Add takes in a span, which begins near the end of the others: a result may be stored
// long after the command behind it has begun.
func (s *Spans) Add(start, end simtime.Time) {
	if end <= start {
		return
	}
	from := len(*s)
	for from > 0 && (*s)[from-1].End >= start {
		from--
	}
	to := from
	for ; to < len(*s) && (*s)[to].Start <= end; to++ {
		start, end = min(start, (*s)[to].Start), max(end, (*s)[to].End)
	}
	*s = slices.Replace(*s, from, to, Span{start, end})
}

// Union is the time that is in either.
func (s Spans) Union(other Spans) (all Spans) {
	for len(s)+len(other) > 0 {
		if len(s) == 0 || len(other) > 0 && other[0].Start < s[0].Start {
			s, other = other, s
		}
		all.Add(s[0].Start, s[0].End)
		s = s[1:]
	}
	return all
}

// Intersect is the time that is in both.
func (s Spans) Intersect(other Spans) (both Spans) {
	for len(s) > 0 && len(other) > 0 {
		both.Add(max(s[0].Start, other[0].Start), min(s[0].End, other[0].End))
		if s[0].End < other[0].End {
			s = s[1:]
		} else {
			other = other[1:]
		}
	}
	return both
}

// Total is how long it is together.
func (s Spans) Total() (sum simtime.Time) {
	for _, span := range s {
		sum += span.End - span.Start
	}
	return sum
}

// usageMeter counts the requests of a class that are under way, for Usage.
type usageMeter struct {
	requests [2]int
	since    [2]simtime.Time
}

func (u *usageMeter) begin(class fabric.Class, now simtime.Time) {
	if u.requests[class] == 0 {
		u.since[class] = now
	}
	u.requests[class]++
}

func (u *usageMeter) end(class fabric.Class, now simtime.Time, to *Usage) {
	u.requests[class]--
	if u.requests[class] == 0 && to != nil {
		to.DMA[class].Add(u.since[class], now)
	}
}
