package trace

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// events writes the events of a trace, each as a line of JSON. Its writer keeps the first
// error.
type events struct {
	w    *bufio.Writer
	line []byte // the current event
	any  bool   // an event has been written
}

// begin starts to write to w with the text that precedes the events in a trace file.
func (e *events) begin(w io.Writer) {
	e.w = bufio.NewWriterSize(w, 1<<16)
	e.w.WriteString(`{"displayTimeUnit":"ns","traceEvents":[`)
}

// end completes a trace file after the last event and flushes the writer. It writes
// `about`, which is JSON, as the member otherData.
func (e *events) end(about []byte) error {
	e.w.WriteString("\n],\"otherData\":")
	e.w.Write(about)
	e.w.WriteString("}\n")
	return e.w.Flush() // also returns an earlier error
}

// beginEvent begins the line of an event. `phase` is the letter for the kind of event in
// the format. If `thread` is 0, the event belongs to no thread.
func (e *events) beginEvent(phase byte, process, thread int) {
	e.line = e.line[:0]
	if e.any {
		e.line = append(e.line, ',')
	}
	e.any = true
	e.line = append(e.line, '\n', '{')
	e.key("ph")
	e.line = append(e.line, '"', phase, '"')
	e.integer("pid", int64(process))
	if thread > 0 {
		e.integer("tid", int64(thread))
	}
}

// endEvent ends the line of an event and writes it.
func (e *events) endEvent() {
	e.close()
	e.w.Write(e.line)
}

// args begins the object with the arguments of an event; close ends the object.
func (e *events) args() {
	e.key("args")
	e.line = append(e.line, '{')
}

func (e *events) close() { e.line = append(e.line, '}') }

// key begins a field of the current JSON object with the given name.
func (e *events) key(name string) {
	if last := e.line[len(e.line)-1]; last != '{' {
		e.line = append(e.line, ',')
	}
	e.line = append(e.line, '"')
	e.line = append(e.line, name...)
	e.line = append(e.line, '"', ':')
}

func (e *events) integer(name string, n int64) {
	e.key(name)
	e.line = strconv.AppendInt(e.line, n, 10)
}

func (e *events) text(name, text string) {
	e.key(name)
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		quoted, _ := json.Marshal(text) // never fails for a string
		e.line = append(e.line, quoted...)
		return
	}
	e.line = append(e.line, '"')
	e.line = append(e.line, text...)
	e.line = append(e.line, '"')
}

// time adds a field with the exact time t as a decimal number, in the given unit.
func (e *events) time(name string, t, unit simtime.Time) {
	e.key(name)
	e.line = t.AppendIn(e.line, unit)
}

// metadata writes an event that sets a property of a process, or of a thread if `thread` is
// not 0. `name` is the name of the property.
func (e *events) metadata(name string, process, thread int, value Arg) {
	e.beginEvent('M', process, thread)
	e.text("name", name)
	e.args()
	e.arg(&value)
	e.close()
	e.endEvent()
}

// slice writes the event that begins a slice.
func (e *events) slice(t *Track, s *Slice) {
	e.beginEvent('B', t.p.id, t.id)
	e.time("ts", s.Start, simtime.Microsecond)
	e.text("name", s.Name)
	if s.ID != 0 || s.After != 0 || len(s.Args) > 0 {
		e.args()
		if s.ID != 0 {
			e.integer("id", int64(s.ID))
		}
		if s.After != 0 {
			e.integer("after", int64(s.After))
		}
		for i := range s.Args {
			e.arg(&s.Args[i])
		}
		e.close()
	}
	e.endEvent()
}

func (e *events) arg(a *Arg) {
	switch a.kind {
	case timeArg:
		e.time(a.Name, a.Time, simtime.Nanosecond)
	case textArg:
		if a.Text != "" {
			e.text(a.Name, a.Text)
		}
	default:
		e.integer(a.Name, a.Number)
	}
}

func (e *events) sliceEnd(t *Track, at simtime.Time) {
	e.beginEvent('E', t.p.id, t.id)
	e.time("ts", at, simtime.Microsecond)
	e.endEvent()
}

// flow writes one end of the arrow that shows a message: phase 's' is the start of the
// arrow, 'f' its end.
func (e *events) flow(phase byte, t *Track, at simtime.Time, message sim.Mark) {
	e.beginEvent(phase, t.p.id, t.id)
	if phase == 'f' {
		e.text("bp", "e") // the arrow ends at the enclosing slice
	}
	e.time("ts", at, simtime.Microsecond)
	e.text("name", "message")
	e.text("cat", "queue")
	e.integer("id", int64(message))
	e.endEvent()
}

func (e *events) counter(process int, at simtime.Time, name, unit string, value float64) {
	e.beginEvent('C', process, 0)
	e.time("ts", at, simtime.Microsecond)
	e.text("name", name)
	e.args()
	e.key(unit)
	e.line = strconv.AppendFloat(e.line, value, 'g', 6, 64)
	e.close()
	e.endEvent()
}
