package analysis

import (
	"fmt"

	"github.com/kernbench/kernbench/simtime"
)

// reader builds a Trace from events and checks them against the rules of the format.
type reader struct {
	t         *Trace
	line      int // of the file, counted from 1
	mistakes  []*Mistake
	processes map[int64]int32    // index by pid
	tracks    map[trackKey]int32 // index by pid and tid
	states    []trackState       // by track
	names     map[string]int32   // index by name
	flows     map[flowKey]flow
	counters  map[counterKey]simtime.Time // time of the last value
}

type trackKey struct{ pid, tid int64 }

type counterKey struct {
	process int32
	name    int32
}

// trackState is the state of a track while the file is read.
type trackState struct {
	at     simtime.Time // of the last event
	open   []int32      // slices that have begun and not ended, innermost last
	closed int32        // the slice that ended last, or -1
	used   int          // line of the first event; 0 if there is none
}

// flowKey identifies an arrow. Its number is unique within a category.
type flowKey struct {
	category int32
	id       int64
}

// flow is an arrow. One of its ends may not have been read yet.
type flow struct {
	from, to     simtime.Time
	begun, ended bool
	line         int // of the last end
}

func newReader() *reader {
	return &reader{
		t:         &Trace{From: simtime.Never, launchOf: map[int32]int64{}},
		processes: map[int64]int32{}, tracks: map[trackKey]int32{}, names: map[string]int32{},
		flows: map[flowKey]flow{}, counters: map[counterKey]simtime.Time{},
	}
}

// process returns the index of the process with the given pid. It adds the process on first
// use.
func (rd *reader) process(pid int64) int32 {
	i, ok := rd.processes[pid]
	if !ok {
		i = int32(len(rd.t.processes))
		rd.processes[pid] = i
		rd.t.processes = append(rd.t.processes, process{pid: pid, line: rd.line})
	}
	return i
}

// track returns the index of the track with the given pid and tid. It adds the track on
// first use.
func (rd *reader) track(pid, tid int64) int32 {
	key := trackKey{pid, tid}
	i, ok := rd.tracks[key]
	if !ok {
		i = int32(len(rd.t.tracks))
		rd.tracks[key] = i
		rd.t.tracks = append(rd.t.tracks, track{tid: tid, process: rd.process(pid)})
		rd.states = append(rd.states, trackState{closed: -1})
	}
	return i
}

// name returns the index of a text in the names of the trace. It adds the text on first
// use.
func (rd *reader) name(text []byte) int32 {
	i, ok := rd.names[string(text)]
	if !ok {
		i = int32(len(rd.t.names))
		rd.t.names = append(rd.t.names, string(text))
		rd.names[string(text)] = i
	}
	return i
}

// event adds an event to the trace, or records a mistake if the event lacks a field or has
// an unknown phase.
func (rd *reader) event(e *event) {
	bad := func(what string) { rd.mistakes = append(rd.mistakes, &Mistake{Line: rd.line, What: what}) }
	switch {
	case !e.has.phase:
		bad("the event has no ph")
	case !e.has.pid:
		bad("the event has no pid")
	case e.phase == 'M':
		rd.metadata(e)
	case !e.has.at:
		bad("the event has no ts")
	case e.phase == 'C':
		rd.counter(e)
	case !e.has.tid:
		bad("the event has no tid")
	case e.phase == 'B':
		rd.begin(e)
	case e.phase == 'E':
		rd.end(e)
	case e.phase != 's' && e.phase != 'f':
		bad(fmt.Sprintf("no event of a trace of kernbench has ph %q", string(e.phase)))
	case !e.has.flow:
		bad("the end of an arrow has no id")
	default:
		rd.flow(e)
	}
}

// metadata sets the name of a process or a track.
func (rd *reader) metadata(e *event) {
	switch string(e.name) {
	case "process_name":
		p := &rd.t.processes[rd.process(e.pid)]
		p.name, p.named = string(e.args.name), true
	case "thread_name":
		k := &rd.t.tracks[rd.track(e.pid, e.tid)]
		k.name, k.named = string(e.args.name), true
		k.engine = engineOf(k.family())
	}
}

// advance moves the clock of the track of event e to the time of e. It reports a mistake if
// the clock would go back. It returns the index and the state of the track.
func (rd *reader) advance(e *event) (track int32, state *trackState) {
	track = rd.track(e.pid, e.tid)
	state = &rd.states[track]
	if state.used == 0 {
		state.used = rd.line
	}
	if e.at < state.at {
		rd.fail(rd.line, track, "an event at %v comes behind one at %v", e.at, state.at)
	}
	state.at = max(e.at, state.at)
	rd.t.From, rd.t.To = min(rd.t.From, e.at), max(rd.t.To, e.at)
	return track, state
}

// begin adds the slice that event e begins. The arguments of e may make the slice a launch,
// the program, or the first activity of a PE in a launch.
func (rd *reader) begin(e *event) {
	track, state := rd.advance(e)
	s := slice{
		start: e.at, queued: e.args.queued, bytes: e.args.bytes, id: e.args.id, after: e.args.after,
		track: track, name: rd.name(e.name), source: rd.name(e.args.source), wait: -1, line: int32(rd.line),
	}
	if before := state.closed; before >= 0 && rd.t.slices[before].end == s.start && rd.t.waits(&rd.t.slices[before]) {
		s.wait = before
	}
	state.open = append(state.open, int32(len(rd.t.slices)))
	rd.t.slices = append(rd.t.slices, s)
	switch {
	case e.args.ended:
		rd.t.launches = append(rd.t.launches, Launch{
			Number: e.args.launch, Name: string(e.name), Start: e.at, Critical: e.args.critical, PEs: e.args.pes, Last: string(e.args.pe),
			after: e.args.after, released: e.args.released, slice: int32(len(rd.t.slices) - 1),
		})
	case e.args.program:
		rd.t.Program = &Program{Start: e.at, Makespan: e.args.makespan, after: e.args.after, slice: int32(len(rd.t.slices) - 1)}
	case e.args.inLaunch:
		first := int32(len(rd.t.slices) - 1)
		rd.t.launchOf[first] = e.args.launch
		p := &rd.t.processes[rd.t.tracks[track].process]
		p.launches = append(p.launches, first)
	}
}

// end ends the innermost open slice of a track.
func (rd *reader) end(e *event) {
	track, state := rd.advance(e)
	n := len(state.open)
	if n == 0 {
		rd.fail(rd.line, track, "an E at %v without a B before it", e.at)
		return
	}
	state.closed = state.open[n-1]
	state.open = state.open[:n-1]
	rd.t.slices[state.closed].end = e.at
}

// flow records the start or the end of an arrow, and the mistakes in the arrow.
func (rd *reader) flow(e *event) {
	track, state := rd.advance(e)
	if len(state.open) == 0 {
		rd.fail(rd.line, track, "an end of arrow %d at %v is in no slice", e.flow, e.at)
	}
	key := flowKey{rd.name(e.category), e.flow}
	f := rd.flows[key]
	f.line = rd.line
	if e.phase == 's' {
		if f.begun {
			rd.fail(rd.line, track, "arrow %d begins twice", e.flow)
		}
		f.from, f.begun = e.at, true
	} else {
		if f.ended {
			rd.fail(rd.line, track, "arrow %d ends twice", e.flow)
		}
		f.to, f.ended = e.at, true
	}
	if f.begun && f.ended && f.to < f.from {
		rd.fail(rd.line, track, "arrow %d ends at %v, before it begins at %v", e.flow, f.to, f.from)
	}
	rd.flows[key] = f
}

func (rd *reader) counter(e *event) {
	key := counterKey{rd.process(e.pid), rd.name(e.name)}
	if last := rd.counters[key]; e.at < last {
		what := fmt.Sprintf("a value at %v comes behind one at %v", e.at, last)
		rd.mistakes = append(rd.mistakes, &Mistake{rd.line, "counter " + string(e.name), what})
	}
	rd.counters[key] = e.at
}
