package analysis

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/simtime"
)

// TestRules checks the error for a violation of each rule of the trace format.
func TestRules(t *testing.T) {
	const pe = "sip0.cube0.pe0"
	build := func(f func(b *builder)) string {
		b := newBuilder()
		b.track(pe, "cpu") // pid 1, tid 1
		f(b)
		return b.String()
	}
	line := func(lines ...string) string {
		return build(func(b *builder) { b.lines = append(b.lines, lines...) })
	}
	const slice = `{"ph":"B","pid":1,"tid":1,"ts":1,"name":"run"}`
	const sliceEnd = `{"ph":"E","pid":1,"tid":1,"ts":2}`
	tests := []struct{ name, text, want string }{
		{"B without E", line(slice), "line 4: sip0.cube0.pe0 cpu: run begins at 1000ns and does not end"},
		{"E without B", line(sliceEnd), "line 4: sip0.cube0.pe0 cpu: an E at 2000ns without a B before it"},
		{"E on another track", build(func(b *builder) {
			b.lines = append(b.lines, slice)
			track := b.track(pe, "gemm")
			b.add(`{"ph":"E",%s,"ts":2}`, track)
		}), "line 4: sip0.cube0.pe0 cpu: run begins at 1000ns and does not end\n" +
			"line 6: sip0.cube0.pe0 gemm: an E at 2000ns without a B before it"},
		{"a negative duration", line(slice, `{"ph":"E","pid":1,"tid":1,"ts":0.999999999}`),
			"line 5: sip0.cube0.pe0 cpu: an event at 999.999999ns comes behind one at 1000ns"},
		{"a track that goes back", line(slice, sliceEnd, `{"ph":"B","pid":1,"tid":1,"ts":1.5,"name":"run"}`, sliceEnd),
			"line 6: sip0.cube0.pe0 cpu: an event at 1500ns comes behind one at 2000ns"},
		{"an arrow that does not end", line(slice, `{"ph":"s","pid":1,"tid":1,"ts":1,"cat":"queue","id":7}`, sliceEnd),
			"line 5: arrow 7 has one end only"},
		{"an arrow that does not begin", line(slice, `{"ph":"f","pid":1,"tid":1,"ts":1,"cat":"queue","id":7}`, sliceEnd),
			"line 5: arrow 7 has one end only"},
		{"an arrow of another category", line(slice, `{"ph":"s","pid":1,"tid":1,"ts":1,"cat":"a","id":7}`, `{"ph":"f","pid":1,"tid":1,"ts":1,"cat":"b","id":7}`, sliceEnd),
			"line 5: arrow 7 has one end only\nline 6: arrow 7 has one end only"},
		{"an arrow that ends twice", line(slice, `{"ph":"s","pid":1,"tid":1,"ts":1,"id":7}`, `{"ph":"f","pid":1,"tid":1,"ts":1,"id":7}`, `{"ph":"f","pid":1,"tid":1,"ts":1,"id":7}`, sliceEnd),
			"line 7: sip0.cube0.pe0 cpu: arrow 7 ends twice"},
		{"an arrow that begins twice", line(slice, `{"ph":"s","pid":1,"tid":1,"ts":1,"id":7}`, `{"ph":"s","pid":1,"tid":1,"ts":1,"id":7}`, `{"ph":"f","pid":1,"tid":1,"ts":1,"id":7}`, sliceEnd),
			"line 6: sip0.cube0.pe0 cpu: arrow 7 begins twice"},
		{"an arrow back in time", line(slice, `{"ph":"f","pid":1,"tid":1,"ts":1.1,"id":7}`, `{"ph":"s","pid":1,"tid":1,"ts":1.2,"id":7}`, sliceEnd),
			"line 6: sip0.cube0.pe0 cpu: arrow 7 ends at 1100ns, before it begins at 1200ns"},
		{"an arrow from outside a slice", line(`{"ph":"s","pid":1,"tid":1,"ts":0.5,"id":7}`, slice, `{"ph":"f","pid":1,"tid":1,"ts":1.2,"id":7}`, sliceEnd),
			"line 4: sip0.cube0.pe0 cpu: an end of arrow 7 at 500ns is in no slice"},
		{"an arrow to outside a slice", line(slice, `{"ph":"s","pid":1,"tid":1,"ts":1,"id":7}`, sliceEnd, `{"ph":"f","pid":1,"tid":1,"ts":2,"id":7}`),
			"line 7: sip0.cube0.pe0 cpu: an end of arrow 7 at 2000ns is in no slice"},
		{"an arrow without id", line(slice, `{"ph":"s","pid":1,"tid":1,"ts":1}`, sliceEnd), "line 5: the end of an arrow has no id"},
		{"a counter that goes back", line(`{"ph":"C","pid":1,"ts":2,"name":"queue west","args":{"slots":1}}`, `{"ph":"C","pid":1,"ts":1,"name":"queue west","args":{"slots":1}}`),
			"line 5: counter queue west: a value at 1000ns comes behind one at 2000ns"},
		{"no ph", line(`{"pid":1,"tid":1,"ts":1}`), "line 4: the event has no ph"},
		{"no pid", line(`{"ph":"B","tid":1,"ts":1}`), "line 4: the event has no pid"},
		{"no ts", line(`{"ph":"B","pid":1,"tid":1}`), "line 4: the event has no ts"},
		{"no tid", line(`{"ph":"B","pid":1,"ts":1}`), "line 4: the event has no tid"},
		{"another phase", line(`{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1}`), `line 4: no event of a trace of kernbench has ph "X"`},
		{"a thread without a name", line(strings.ReplaceAll(slice, `"tid":1`, `"tid":5`), strings.ReplaceAll(sliceEnd, `"tid":1`, `"tid":5`)),
			"line 4: sip0.cube0.pe0 thread 5: no name: a trace names all its processes and threads"},
		{"a process without a name", line(`{"ph":"M","name":"thread_name","pid":9,"tid":1,"args":{"name":"cpu"}}`, strings.ReplaceAll(slice, `"pid":1`, `"pid":9`), strings.ReplaceAll(sliceEnd, `"pid":1`, `"pid":9`)),
			"line 4: process 9: no name: a trace names all its processes and threads"},
		{"a process of counters without a name", line(`{"ph":"C","pid":9,"ts":2,"name":"queue west","args":{"slots":1}}`),
			"line 4: process 9: no name: a trace names all its processes and threads"},
		{"an activity twice", build(func(b *builder) {
			b.activity(pe, "cpu", "run", 0, ns, 3, 0)
			b.activity(pe, "cpu", "run", ns, ns, 3, 0)
		}), "line 6: sip0.cube0.pe0 cpu: activity 3 is there twice"},
		{"a cause that is missing", build(func(b *builder) { b.activity(pe, "cpu", "run", 0, ns, 3, 2) }),
			"line 4: sip0.cube0.pe0 cpu: activity 3 was released by 2, which is not in the trace"},
		{"a cause that came later", build(func(b *builder) {
			b.activity(pe, "cpu", "run", 0, ns, 3, 4)
			b.activity(pe, "cpu", "run", ns, ns, 4, 0)
		}), "line 4: sip0.cube0.pe0 cpu: activity 3 was released by 4, whose number should be lower"},
		{"a cause that begins later", build(func(b *builder) {
			b.activity(pe, "cpu", "run", 0, ns, 4, 3)
			b.activity(pe, "cpu", "run", ns, ns, 3, 0)
		}), "line 4: sip0.cube0.pe0 cpu: activity 4 begins at 0ns, before 3 that released it, at 1ns"},
		{"a launch of another length", build(func(b *builder) {
			b.slice("host", "launches 1", "launch", 0, 3*ns, `"launch":2,"crit_ns":2.5`)
		}), "line 6: host launches 1: launch 2 takes 3ns, and says 2.5ns"},

		{"no JSON", "hello\n", "line 1: this is no trace: record one with kernbench run --trace FILE"},
		{"other JSON", "{\"bench\":\"x\"}\n", "line 1: this is no trace: record one with kernbench run --trace FILE"},
		{"nothing", "", "line 1: this is no trace: record one with kernbench run --trace FILE"},
		{"cut off", strings.Split(message().String(), "\n],")[0] + ",\n", "line 32: the trace ends within its events: the run that wrote it did not end"},
		{"cut off within a line", message().String()[:300], "line 5: this is no event: each line is one, an object of JSON"},
		{"an event that is a list", line("[1]"), "line 4: this is no event: each line is one, an object of JSON"},
		{"a missing comma", strings.Replace(message().String(), "},\n", "}\n", 1), "line 2: a comma is missing behind the event"},
		{"a trailing comma", strings.Replace(message().String(), "}\n]", "},\n]", 1), "line 32: the last event has a comma behind it"},
		{"a time in floating point", line(`{"ph":"B","pid":1,"tid":1,"ts":1e-3}`),
			"line 4: ts: write a decimal that is not negative, exact to the femtosecond, without an exponent"},
		{"a time finer than the clock", line(`{"ph":"B","pid":1,"tid":1,"ts":0.0000000001}`),
			"line 4: ts: write a decimal that is not negative, exact to the femtosecond, without an exponent"},
		{"a time that is a text", line(`{"ph":"B","pid":1,"tid":1,"ts":"1"}`),
			"line 4: ts: write a decimal that is not negative, exact to the femtosecond, without an exponent"},
		{"a pid that is not an integer", line(`{"ph":"B","pid":1.5,"tid":1,"ts":1}`), "line 4: pid: write a whole number"},
		{"arguments that are not an object", line(`{"ph":"B","pid":1,"tid":1,"ts":1,"args":3}`), "line 4: args: write an object"},
		{"a link without a time", strings.Replace(message().String(), `"topology":"abc"`, `"links":[{"name":"a->b","busy_ns":-1,"queued_ns":0}]`, 1),
			"line 33: behind the events: link a->b: busy_ns: write a decimal that is not negative, exact to the femtosecond, without an exponent"},
	}
	for _, tt := range tests {
		_, err := Read(t.Context(), strings.NewReader(tt.text))
		if got := fmt.Sprint(err); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestManyMistakes checks that the error lists the first mistakes and says that there are
// more.
func TestManyMistakes(t *testing.T) {
	b := newBuilder()
	for range 30 {
		b.add(`{"ph":"B","pid":1}`)
	}
	_, err := Read(t.Context(), strings.NewReader(b.String()))
	got := strings.Split(fmt.Sprint(err), "\n")
	if len(got) != maxMistakes+1 || got[0] != "line 2: the event has no ts" || got[maxMistakes] != "and more: the rest is not shown" {
		t.Errorf("got %d lines:\n%v\nwant %d mistakes and a line that there are more", len(got), err, maxMistakes)
	}
}

// TestMistake checks that the error of Read contains a Mistake with its line and track.
func TestMistake(t *testing.T) {
	b := newBuilder()
	b.add(`{"ph":"E",%s,"ts":1}`, b.track("pe0", "cpu"))
	var got *Mistake
	_, err := Read(t.Context(), strings.NewReader(b.String()))
	if want := (Mistake{4, "pe0 cpu", "an E at 1000ns without a B before it"}); !errors.As(err, &got) || *got != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

// TestTimes checks that parseTime is exact and refuses times that it cannot represent.
func TestTimes(t *testing.T) {
	tests := []struct {
		text   string
		places int
		want   simtime.Time
		ok     bool
	}{
		{"0", placesUS, 0, true},
		{"0.123456789", placesUS, 123456789, true},
		{"12.5", placesUS, 12_500 * ns, true},
		{"1.50000000000", placesNS, 1_500_000, true},
		{"9223372036854.775807", placesNS, simtime.Never, true},
		{"9223372036854.775808", placesNS, 0, false},
		{"9223372037", placesUS, 0, false},
		{"0.1234567", placesNS, 0, false},
		{"-1", placesUS, 0, false},
		{"1E2", placesUS, 0, false},
	}
	for _, tt := range tests {
		got, err := parseTime([]byte(tt.text), tt.places)
		if (err == nil) != tt.ok || tt.ok && got != tt.want {
			t.Errorf("parseTime(%q, %d): got %d fs, %v; want %d, ok %t", tt.text, tt.places, got, err, tt.want, tt.ok)
		}
	}
}

// TestOpen checks that Open reads plain and compressed files, and refuses a file that is
// not compressed although its name ends in .gz.
func TestOpen(t *testing.T) {
	text := message().String()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write([]byte(text))
	w.Close()
	for name, data := range map[string][]byte{"trace.json": []byte(text), "trace.json.gz": zipped.Bytes()} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		trace, err := Open(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := fmt.Sprintf("%d events until %v, %+v", trace.Events, trace.To, trace.About)
		if want := "31 events until 70.000001ns, {Tool:kernbench Version:0.1.0 Topology:abc Bench: Links:[]}"; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	plain := filepath.Join(t.TempDir(), "plain.gz")
	if err := os.WriteFile(plain, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), plain); !errors.Is(err, gzip.ErrHeader) {
		t.Errorf("a .gz that is not compressed: got %v, want %v", err, gzip.ErrHeader)
	}
}

// TestInterruptedRead checks that Read returns the error of a cancelled context.
func TestInterruptedRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, strings.NewReader(message().String())); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// endless is a stream of a line that never ends. It counts the bytes read, and calls past
// when there are more than limit.
type endless struct {
	start string // the first bytes
	fill  byte   // all further bytes
	read  int    // number of bytes read
	limit int
	past  func() // may be nil
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.start)
	e.start = e.start[n:]
	for i := range p[n:] {
		p[n+i] = e.fill
	}
	e.read += len(p)
	if e.past != nil && e.read > e.limit {
		e.past()
	}
	return len(p), nil
}

// TestEndlessLine checks that Read refuses a line that is longer than the limit, and that
// it stops at the next read after an interrupt, both within an event and after the events.
func TestEndlessLine(t *testing.T) {
	const head, event = "{\"traceEvents\":[\n", "{\"ph\":\"B\""
	for _, tt := range []struct {
		start string
		fill  byte
		want  string
		limit int
	}{
		{"", ' ', "line 1: this is no trace: record one with kernbench run --trace FILE", maxLineBytes},
		{head + event, ' ', "line 2: the line is too long: it has more than 1048576 bytes", maxLineBytes},
		{head + "],", ' ', "line 2: behind the events: this is no JSON: it has more than 65536 blanks in a row", maxLineBytes},
		{head + "],\"a\":\"", 'x', "line 2: behind the events: there are more than 134217728 bytes", maxTailBytes},
	} {
		r := &endless{start: tt.start, fill: tt.fill}
		if _, err := Read(t.Context(), r); err == nil || err.Error() != tt.want || r.read > tt.limit+1<<17 {
			t.Errorf("%q: got %v after %d bytes, want %s", tt.start, err, r.read, tt.want)
		}
		if tt.start == head+"]," {
			continue // refused before it can be interrupted
		}
		ctx, cancel := context.WithCancel(t.Context())
		r = &endless{start: tt.start, fill: 'x', limit: 1 << 19, past: cancel}
		if _, err := Read(ctx, r); !errors.Is(err, context.Canceled) || r.read > 1<<21 {
			t.Errorf("%q: got %v after %d bytes, want %v soon after %d", tt.start, err, r.read, context.Canceled, r.limit)
		}
		cancel()
	}
}

// FuzzRead checks that Read returns an error or a trace for any bytes and does not panic.
// Analyse must not panic for such a trace either.
func FuzzRead(f *testing.F) {
	f.Add(message().String())
	f.Add("{\"traceEvents\":[\n{\"ph\":\"B\",\"x\":[{\"a\":\"]\\\"\"},1],\"pid\" : 1 ,\"args\":{}}\n]}")
	f.Fuzz(func(t *testing.T, text string) {
		if trace, err := Read(t.Context(), strings.NewReader(text)); err == nil {
			trace.Analyse(Whole, 3)
		}
	})
}
