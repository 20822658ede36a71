package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/simtime"
)

const ns = simtime.Nanosecond

// TestEvents checks the JSON text of every kind of event.
func TestEvents(t *testing.T) {
	var got bytes.Buffer
	r := New(&got)
	pe := r.Process(`pe "0"`, 7)
	cpu, reads := pe.Track("cpu"), pe.Subtracks("dma read")
	first := r.Mark()
	cpu.Slice(Slice{Name: "a->b", Start: 0, End: 1, ID: first, Sends: first})
	reads.Slice(Slice{Name: "load", Start: 0, End: 2 * ns})
	reads.Slice(Slice{Name: "load", Start: ns, End: 3 * ns})
	reads.Slice(Slice{
		Name: "load", Start: 1500 * ns, End: 1500*ns + 1, ID: r.Mark(), After: first, Receives: first,
		Args: []Arg{Number("bytes", 64), Nanoseconds("queued_ns", 2*ns+500_000), Text("pe", "sip0\n")},
	})
	pe.Counter(3*ns, "queue west", "slots", 2.5)
	if err := r.Close(About{Tool: "kernbench", Version: "1"}); err != nil {
		t.Fatal(err)
	}
	want := `{"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","pid":1,"name":"process_name","args":{"name":"pe \"0\""}},
{"ph":"M","pid":1,"name":"process_sort_index","args":{"sort_index":7}},
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"cpu"}},
{"ph":"M","pid":1,"tid":1,"name":"thread_sort_index","args":{"sort_index":1}},
{"ph":"B","pid":1,"tid":1,"ts":0,"name":"a->b","args":{"id":1}},
{"ph":"s","pid":1,"tid":1,"ts":0,"name":"message","cat":"queue","id":1},
{"ph":"E","pid":1,"tid":1,"ts":0.000000001},
{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"dma read"}},
{"ph":"M","pid":1,"tid":2,"name":"thread_sort_index","args":{"sort_index":2}},
{"ph":"B","pid":1,"tid":2,"ts":0,"name":"load"},
{"ph":"E","pid":1,"tid":2,"ts":0.002},
{"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":"dma read 2"}},
{"ph":"M","pid":1,"tid":3,"name":"thread_sort_index","args":{"sort_index":3}},
{"ph":"B","pid":1,"tid":3,"ts":0.001,"name":"load"},
{"ph":"E","pid":1,"tid":3,"ts":0.003},
{"ph":"B","pid":1,"tid":3,"ts":1.5,"name":"load","args":{"id":2,"after":1,"bytes":64,"queued_ns":2.5,"pe":"sip0\n"}},
{"ph":"f","pid":1,"tid":3,"bp":"e","ts":1.5,"name":"message","cat":"queue","id":1},
{"ph":"E","pid":1,"tid":3,"ts":1.500000001},
{"ph":"C","pid":1,"ts":0.003,"name":"queue west","args":{"slots":2.5}}
],"otherData":{"tool":"kernbench","version":"1","topology":"","bench":"","links":null}}
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("the trace (-want +got):\n%s", diff)
	}
	if !json.Valid(got.Bytes()) {
		t.Error("it is not JSON")
	}
}

// TestLinks checks that the last slice of a link can be cut, that it ends before the next
// slice of the link begins, and that links of a kind share a utilization counter.
func TestLinks(t *testing.T) {
	var got bytes.Buffer
	r := New(&got)
	ls := r.Links(3, func(link int) LinkInfo {
		return LinkInfo{Process: "sip0 links", Order: 5, Name: "l" + string(rune('0'+link)), Kind: "noc", Count: 4}
	})
	ls.Passage(2, 1, "comm", 100, 0, 0, 8*ns, 0)
	ls.Passage(2, 2, "compute", 50, 3*ns, 6*ns, 10*ns, 6*ns) // begins before the end of the last slice
	ls.Cut(2, 1, 80, 7*ns)
	ls.Passage(0, 3, "comm", 10, 0, 0, 1*ns, 0)
	ls.Passage(0, 4, "comm", 10, 0, 2*ns, 3*ns, ns)
	ls.Cut(0, 4, 0, 2*ns) // nothing passes
	ls.Close(9)
	if err := r.Close(nil); err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, line := range strings.Split(got.String(), "\n") {
		if !strings.Contains(line, `"ph":"M"`) && strings.HasPrefix(line, `{"ph"`) {
			events = append(events, strings.TrimSuffix(line, ","))
		}
	}
	want := []string{
		`{"ph":"B","pid":1,"tid":2,"ts":0,"name":"comm","args":{"bytes":10,"wait_ns":0}}`,
		`{"ph":"E","pid":1,"tid":2,"ts":0.001}`,
		`{"ph":"B","pid":1,"tid":1,"ts":0,"name":"comm","args":{"bytes":80,"wait_ns":0}}`,
		`{"ph":"E","pid":1,"tid":1,"ts":0.006}`,
		`{"ph":"B","pid":1,"tid":1,"ts":0.006,"name":"compute","args":{"bytes":50,"wait_ns":3}}`,
		`{"ph":"E","pid":1,"tid":1,"ts":0.01}`,
		`{"ph":"C","pid":2,"ts":0,"name":"noc","args":{"percent":50}}`,
		`{"ph":"C","pid":2,"ts":0.001,"name":"noc","args":{"percent":25}}`,
		`{"ph":"C","pid":2,"ts":0.01,"name":"noc","args":{"percent":0}}`,
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestWindows checks that the time windows of a utilization become wider as time passes and
// that no busy time is lost.
func TestWindows(t *testing.T) {
	w := &utilization{width: ns, links: 1}
	for i := range simtime.Time(5000) {
		w.add(i*ns, i*ns+ns/2)
	}
	if w.width != 16*ns || w.used != 313 {
		t.Errorf("%d windows of %v, want 313 of 16ns for 5 us", w.used, w.width)
	}
	var sum simtime.Time
	for i, busy := range w.busy {
		if sum += busy; i < 312 && busy != 8*ns {
			t.Errorf("window %d: busy for %v, want half of 16ns", i, busy)
		}
	}
	if sum != 2500*ns {
		t.Errorf("busy for %v in all windows, want 2500ns", sum)
	}
}

// TestBounded checks that recording a slice allocates no memory, so that a trace of any
// length needs bounded memory.
func TestBounded(t *testing.T) {
	r := New(io.Discard)
	track := r.Process("pe", 0).Track("cpu")
	args := []Arg{Number("bytes", 64)}
	at := simtime.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		track.Slice(Slice{Name: "run", Start: at, End: at + ns, ID: r.Mark(), Args: args})
		at += ns
	}); n > 0 {
		t.Errorf("a slice allocates %v times, want none", n)
	}
}

// BenchmarkSlice measures the cost of recording the slice of an activity.
func BenchmarkSlice(b *testing.B) {
	r := New(io.Discard)
	track := r.Process("pe", 0).Track("cpu")
	args := []Arg{Number("bytes", 64), Nanoseconds("queued_ns", 1500)}
	at := simtime.Time(0)
	b.ReportAllocs()
	for b.Loop() {
		track.Slice(Slice{Name: "load", Start: at, End: at + ns, ID: r.Mark(), After: 1, Args: args})
		at += ns
	}
}
