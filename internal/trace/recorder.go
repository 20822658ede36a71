package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// Recorder writes a trace.
type Recorder struct {
	out       events
	marks     sim.Mark // the last activity number in use
	processes int      // number of processes
}

// New begins a trace that is written to w.
func New(w io.Writer) *Recorder {
	r := &Recorder{}
	r.out.begin(w)
	return r
}

// Mark returns the number of a new activity. Numbers increase, so an activity has a higher
// number than the activity that released it.
func (r *Recorder) Mark() sim.Mark {
	r.marks++
	return r.marks
}

// Close ends the trace and appends the value `about` as JSON. It does not close the writer.
func (r *Recorder) Close(about any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // names of links have the form a->b
	if err := enc.Encode(about); err != nil {
		return err
	}
	return r.out.end(bytes.TrimSpace(text.Bytes()))
}

// Process is a part of the machine that has tracks: a PE, the links of a SIP, or the host.
type Process struct {
	r       *Recorder
	id      int
	threads int
}

// Process adds a process. Viewers show processes with a lower order first.
func (r *Recorder) Process(name string, order int) *Process {
	r.processes++
	p := &Process{r: r, id: r.processes}
	r.out.metadata("process_name", p.id, 0, Text("name", name))
	r.out.metadata("process_sort_index", p.id, 0, Number("sort_index", int64(order)))
	return p
}

// Counter records the value that a counter has from an instant on.
func (p *Process) Counter(at simtime.Time, name, unit string, value float64) {
	p.r.out.counter(p.id, at, name, unit, value)
}

// Track is a row of slices in a process. The slices do not overlap.
type Track struct {
	p  *Process
	id int
}

// Track adds a track after the existing tracks of the process.
func (p *Process) Track(name string) *Track {
	p.threads++
	p.r.out.metadata("thread_name", p.id, p.threads, Text("name", name))
	p.r.out.metadata("thread_sort_index", p.id, p.threads, Number("sort_index", int64(p.threads)))
	return &Track{p, p.threads}
}

// Slice is a named interval of simulated time on a track.
type Slice struct {
	Name       string
	Start, End simtime.Time
	ID, After  sim.Mark // an activity's number and the activity that released it; 0 is none
	Sends      sim.Mark // the message whose arrow starts at the slice; 0 is none
	Receives   sim.Mark // the message whose arrow ends at the slice; 0 is none
	Args       []Arg
}

// Arg is an argument of a slice: a time, a number or a text.
type Arg struct {
	Name   string
	Time   simtime.Time
	Number int64
	Text   string
	kind   argKind
}

type argKind uint8

const (
	numberArg argKind = iota
	timeArg
	textArg
)

// Number returns an argument that is an integer.
func Number(name string, n int64) Arg { return Arg{Name: name, Number: n} }

// Nanoseconds returns an argument that is a time. Its name must end in _ns.
func Nanoseconds(name string, t simtime.Time) Arg { return Arg{Name: name, Time: t, kind: timeArg} }

// Text returns an argument that is a text.
func Text(name, text string) Arg { return Arg{Name: name, Text: text, kind: textArg} }

// Slice adds a slice to the track. The slice must not start before the end of the previous
// slice of the track.
func (t *Track) Slice(s Slice) {
	out := &t.p.r.out
	out.slice(t, &s)
	if s.Sends != 0 {
		out.flow('s', t, s.Start, s.Sends)
	}
	if s.Receives != 0 {
		out.flow('f', t, s.Start, s.Receives)
	}
	out.sliceEnd(t, s.End)
}

// Subtracks is a set of tracks for activities that may overlap.
type Subtracks struct {
	p      *Process
	name   string
	tracks []*Track
	free   []simtime.Time // the time from which each track is free
}

// Subtracks returns an empty set of subtracks. Tracks are added when they are needed.
func (p *Process) Subtracks(name string) *Subtracks { return &Subtracks{p: p, name: name} }

// Slice adds a slice to one of the tracks. The slice must not end before the slices added
// earlier. Of the tracks that are free at the slice's start, Slice uses the one that became
// free last. If no track is free, it adds a track. So there are never more tracks than
// overlapping slices.
func (l *Subtracks) Slice(s Slice) {
	at := -1
	for i, free := range l.free {
		if free <= s.Start && (at < 0 || free > l.free[at]) {
			at = i
		}
	}
	if at < 0 {
		at = len(l.tracks)
		name := l.name
		if at > 0 {
			name = fmt.Sprintf("%s %d", name, at+1)
		}
		l.tracks, l.free = append(l.tracks, l.p.Track(name)), append(l.free, 0)
	}
	l.free[at] = s.End
	l.tracks[at].Slice(s)
}

// File is a trace that is being written to a file. The file appears under its name when the
// trace is complete.
type File struct {
	*Recorder
	out *file.Writer
	zip *gzip.Writer // nil for a name that does not end in .gz
}

// Create begins a trace in a file. The file is compressed if its name ends in .gz.
func Create(path string) (*File, error) {
	out, err := file.Create(path)
	if err != nil {
		return nil, err
	}
	f := &File{out: out}
	var w io.Writer = out
	if strings.HasSuffix(path, ".gz") {
		f.zip = gzip.NewWriter(out)
		w = f.zip
	}
	f.Recorder = New(w)
	return f, nil
}

// Close ends the trace and gives the file its name. If the trace cannot be written, no file
// is left.
func (f *File) Close(about any) error {
	err := f.Recorder.Close(about)
	if err == nil && f.zip != nil {
		err = f.zip.Close()
	}
	if err != nil {
		return errors.Join(err, f.out.Discard())
	}
	return f.out.Commit()
}

// Discard ends the trace of a run that failed and leaves no file.
func (f *File) Discard() error { return f.out.Discard() }

// About is the information about a run that follows the events of its trace.
type About struct {
	Tool     string    `json:"tool"`
	Version  string    `json:"version"`
	Topology string    `json:"topology"` // hash
	Program  string    `json:"bench"`    // the bench or the collective
	Links    []LinkUse `json:"links"`    // the links that carried data
}

// LinkUse is the traffic of a link in the whole run.
type LinkUse struct {
	Name   string       `json:"name"`
	Kind   string       `json:"kind"`
	Bytes  int64        `json:"bytes"`
	Busy   simtime.Time `json:"busy_ns"`
	Queued simtime.Time `json:"queued_ns"` // mean time that a flit waited for the link
}
