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
	marks     sim.Mark
	processes int
}

// New begins a trace.
func New(w io.Writer) *Recorder {
	r := &Recorder{}
	r.out.begin(w)
	return r
}

// Mark is the number of a new activity. What an activity causes has a higher one.
func (r *Recorder) Mark() sim.Mark {
	r.marks++
	return r.marks
}

// Close ends the trace with what else there is to know of it, as JSON. It does not close
// the writer.
func (r *Recorder) Close(about any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // links are called a->b
	if err := enc.Encode(about); err != nil {
		return err
	}
	return r.out.end(bytes.TrimSpace(text.Bytes()))
}

// Process is a part of the machine with tracks of its own: a PE, the links of a SIP, the
// host.
type Process struct {
	r       *Recorder
	id      int
	threads int
}

// Process is a new one. Viewers show those of a lower order first.
func (r *Recorder) Process(name string, order int) *Process {
	r.processes++
	p := &Process{r: r, id: r.processes}
	r.out.metadata("process_name", p.id, 0, Text("name", name))
	r.out.metadata("process_sort_index", p.id, 0, Number("sort_index", int64(order)))
	return p
}

// Counter notes the value of a counter from an instant on.
func (p *Process) Counter(at simtime.Time, name, unit string, value float64) {
	p.r.out.counter(p.id, at, name, unit, value)
}

// Track is slices of a process, one after another.
type Track struct {
	p  *Process
	id int
}

// Track is a new track, shown behind those before it.
func (p *Process) Track(name string) *Track {
	p.threads++
	p.r.out.metadata("thread_name", p.id, p.threads, Text("name", name))
	p.r.out.metadata("thread_sort_index", p.id, p.threads, Number("sort_index", int64(p.threads)))
	return &Track{p, p.threads}
}

// Slice is some time of a track.
type Slice struct {
	Name       string
	Start, End simtime.Time
	ID, After  sim.Mark // of an activity: its number, and who released it
	Sends      sim.Mark // the message whose arrow begins with the slice
	Receives   sim.Mark // or ends
	Args       []Arg
}

// Arg is something to know of a slice: a time, a number or a text.
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

// Number is an argument that counts.
func Number(name string, n int64) Arg { return Arg{Name: name, Number: n} }

// Nanoseconds is an argument that is a time; its name ends in _ns.
func Nanoseconds(name string, t simtime.Time) Arg { return Arg{Name: name, Time: t, kind: timeArg} }

// Text is an argument in words.
func Text(name, text string) Arg { return Arg{Name: name, Text: text, kind: textArg} }

// Slice adds a slice, which does not begin before the end of the one before.
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

// Lanes is tracks for what may be under way several times at once.
type Lanes struct {
	p      *Process
	name   string
	tracks []*Track
	free   []simtime.Time // from when on each is
}

// Lanes returns lanes without a track.
func (p *Process) Lanes(name string) *Lanes { return &Lanes{p: p, name: name} }

// Slice adds a slice, which does not end before those that were added before. It takes the
// track that is free at its start and has been so for the shortest time, or a new one: so
// there are no more tracks than slices at one time.
func (l *Lanes) Slice(s Slice) {
	lane := -1
	for i, free := range l.free {
		if free <= s.Start && (lane < 0 || free > l.free[lane]) {
			lane = i
		}
	}
	if lane < 0 {
		lane = len(l.tracks)
		name := l.name
		if lane > 0 {
			name = fmt.Sprintf("%s %d", name, lane+1)
		}
		l.tracks, l.free = append(l.tracks, l.p.Track(name)), append(l.free, 0)
	}
	l.free[lane] = s.End
	l.tracks[lane].Slice(s)
}

// File is a trace on its way to a file, which gets its name when the trace is complete.
type File struct {
	*Recorder
	out *file.Writer
	zip *gzip.Writer // nil for a name that does not end in .gz
}

// Create begins a trace in a file. A name that ends in .gz is that of a compressed file.
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

// Close ends the trace and gives the file its name.
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

// Discard ends the trace of a run that failed, without a file.
func (f *File) Discard() error { return f.out.Discard() }

// About is what else there is to know of a trace, behind its events.
type About struct {
	Tool     string    `json:"tool"`
	Version  string    `json:"version"`
	Topology string    `json:"topology"` // hash
	Program  string    `json:"bench"`    // or the collective
	Links    []LinkUse `json:"links"`    // that carried anything
}

// LinkUse is what a link did in all of the run.
type LinkUse struct {
	Name   string       `json:"name"`
	Kind   string       `json:"kind"`
	Bytes  int64        `json:"bytes"`
	Busy   simtime.Time `json:"busy_ns"`
	Queued simtime.Time `json:"queued_ns"` // how long a flit waited in front of it, on average
}
