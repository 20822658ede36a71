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

// Purpose is the reason for a request, and its name in traces.
type Purpose uint8

// The purposes of requests.
const (
	Transfer Purpose = iota // not specified
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

// Op is the name and the source line of an operation in traces.
type Op struct {
	Name string // "dot 64×64×64"
	Line string // the kernel's line: "matmul.go:31"
}

// Trace records the activities of the engines of a PE, and for each the activity that
// released it.
type Trace struct {
	rec      *trace.Recorder
	process  *trace.Process
	CPU      *trace.Track
	Line     string // the line of the operation that the CPU dispatches
	fetch    serverTrack
	units    [numUnits]serverTrack
	store    serverTrack
	copies   serverTrack // copies within the TCM
	channels [2]*trace.Subtracks
	requests []tracedRequest // the requests of the DMA engine, by number
	line     [1]trace.Arg    // reused by recordStage
}

// serverTrack is the track of a serial server and its latest activity.
type serverTrack struct {
	track *trace.Track
	last  sim.Mark
}

// tracedRequest is what a trace shows of a DMA request.
type tracedRequest struct {
	purpose  Purpose
	line     string
	by       sim.Mark // the activity that released it
	mark     sim.Mark // its own activity; 0 before it starts
	receives sim.Mark // the Send whose message it takes out of a slot
	started  simtime.Time
	queued   simtime.Time // how long its head waited for links
}

// NewTrace adds the tracks of a PE to a trace. `order` is the position of the PE in
// viewers.
func NewTrace(rec *trace.Recorder, name string, order int) *Trace {
	p := rec.Process(name, order)
	t := &Trace{rec: rec, process: p, CPU: p.Track("cpu")}
	t.channels[0], t.channels[1] = p.Subtracks("dma read"), p.Subtracks("dma write")
	t.copies.track, t.fetch.track = p.Track("copy"), p.Track("fetch")
	t.units[GEMM].track, t.units[MATH].track = p.Track("gemm"), p.Track("math")
	t.store.track = p.Track("store")
	return t
}

// Mark reserves and returns the number of a new activity.
func (t *Trace) Mark() sim.Mark { return t.rec.Mark() }

// recordStage records an activity of the serial server s from `start` to `end`, and returns
// the number of the activity. `by` is the activity that released it, at the time `asked`.
// If `start` is later than `asked`, the server was busy. recordStage then records that the
// server's previous activity released it. `receives` is the Send whose message the recorded
// activity takes out of a slot, or 0.
func (t *Trace) recordStage(s *serverTrack, op Op, asked, start, end simtime.Time, by, receives sim.Mark) sim.Mark {
	if start > asked {
		by = s.last
	}
	s.last = t.rec.Mark()
	t.line[0] = trace.Text("line", op.Line)
	s.track.Slice(trace.Slice{Name: op.Name, Start: start, End: end, ID: s.last, After: by, Receives: receives, Args: t.line[:]})
	return s.last
}

// RecordDepth records that n fragments wait in the named queue of the PE from the time `at`
// on.
func (t *Trace) RecordDepth(at simtime.Time, queue string, n int) {
	t.process.Counter(at, "queue "+queue, "slots", float64(n))
}

// recordSubmit records that request i was submitted now and which activity released it. The
// releasing activity is r.By if r.By is set and r.At is not in the past, or the request is a
// message. Otherwise it is `by`.
//
//go:noinline
func (t *Trace) recordSubmit(i int32, r *Request, now simtime.Time, by sim.Mark) {
	for len(t.requests) <= int(i) {
		t.requests = append(t.requests, tracedRequest{})
	}
	if r.By != 0 && (r.At >= now || r.Purpose == Send) {
		by = r.By
	}
	t.requests[i] = tracedRequest{purpose: r.Purpose, line: cmp.Or(r.Line, t.Line), by: by, receives: r.Receives}
}

// recordStart records that request i starts now. `by` is the activity for which the request
// waited, or 0 if it did not wait.
func (t *Trace) recordStart(i int32, now simtime.Time, by sim.Mark) {
	r := &t.requests[i]
	if by != 0 {
		r.by = by
	}
	r.mark, r.started = t.rec.Mark(), now
}

// recordEnd records that request r, which moves n bytes in direction op, ends now.
func (t *Trace) recordEnd(r *tracedRequest, op memory.Op, n memory.Bytes, now simtime.Time) {
	s := trace.Slice{
		Name: r.purpose.String(), Start: r.started, End: now, ID: r.mark, After: r.by, Receives: r.receives,
		Args: []trace.Arg{trace.Number("bytes", int64(n)), trace.Nanoseconds("queued_ns", r.queued), trace.Text("line", r.line)},
	}
	if r.purpose == Send && n > 0 {
		s.Sends = r.mark
	}
	t.channels[channel(op)].Slice(s)
}

// releasedBy returns the activity that allows command c to start at the time `at`. If an
// operand becomes ready at that time, it is the activity that made the operand ready.
// Otherwise, if c was pushed earlier, it is the previous command of the unit. Otherwise it
// is the activity that pushed c.
func (p *Pipeline) releasedBy(c *Command, at simtime.Time) sim.Mark {
	for _, t := range c.Args {
		if t != 0 && p.tiles.slots[t].ready == at {
			return p.tiles.mark(t).ready
		}
	}
	if at > c.At {
		return p.Trace.units[c.Unit].last
	}
	return c.By
}

// recordCommand records the stages of command c: the fetch lasts from `start` to `fetched`,
// the run from `began` to `done`, and the store from `storing` to `end`. The activity `by`
// released the command at the time `asked`. recordCommand returns the activities of the
// fetch and of the store.
func (t *Trace) recordCommand(c *Command, by sim.Mark, asked, start, fetched, began, done, storing, end simtime.Time) (fetch, store sim.Mark) {
	fetch = t.recordStage(&t.fetch, c.Op, asked, start, fetched, by, 0)
	run := t.recordStage(&t.units[c.Unit], c.Op, fetched, began, done, fetch, 0)
	return fetch, t.recordStage(&t.store, c.Op, done, storing, end, run, 0)
}

// LastActivity returns the activity of the last store if that store ends now. Otherwise it
// returns the activity of the last local copy if that copy ends now, and else 0.
func (p *Pipeline) LastActivity(now simtime.Time) sim.Mark {
	switch now {
	case p.Store.Free():
		return p.Trace.store.last
	case p.dma.copies.Free():
		return p.Trace.copies.last
	}
	return 0
}

// Usage records when the parts of a PE were busy.
type Usage struct {
	Compute Spans    // commands, from the fetch of operands to the store of results
	DMA     [2]Spans // requests in flight, by class
	Waits   Spans    // the CPU's waits for messages, signals or credits
}

// Span is an interval of time.
type Span struct{ Start, End simtime.Time }

// Spans is a list of spans in order of time. They neither overlap nor touch.
type Spans []Span

// Add adds the interval from `start` to `end` and merges it with the spans that it touches.
// It searches from the end, because intervals are added almost in order of time. The order
// is not exact, because a result may be stored long after the next command has started.
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

// Union returns the spans of time that are in s, in `other`, or in both.
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

// Intersect returns the spans of time that are in both s and `other`.
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

// Total returns the sum of the lengths of all spans.
func (s Spans) Total() (sum simtime.Time) {
	for _, span := range s {
		sum += span.End - span.Start
	}
	return sum
}

// usageMeter counts the requests in flight of each class, to record DMA usage.
type usageMeter struct {
	requests [2]int32
	since    [2]simtime.Time // when the first of these requests started
}

// begin counts a request of the given class that starts now.
func (u *usageMeter) begin(class fabric.Class, now simtime.Time) {
	if u.requests[class] == 0 {
		u.since[class] = now
	}
	u.requests[class]++
}

// end counts a request of the given class that ends now. If no request of the class is in
// flight any longer, end adds the busy interval to `to`, unless `to` is nil.
func (u *usageMeter) end(class fabric.Class, now simtime.Time, to *Usage) {
	u.requests[class]--
	if u.requests[class] == 0 && to != nil {
		to.DMA[class].Add(u.since[class], now)
	}
}
