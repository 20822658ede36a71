package analysis

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/simtime"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

const ns = simtime.Nanosecond

// builder builds the text of a trace event by event.
type builder struct {
	lines     []string
	processes map[string]int
	threads   map[string]int
	other     string
}

func newBuilder() *builder {
	return &builder{processes: map[string]int{}, threads: map[string]int{}, other: `{"tool":"kernbench","version":"0.1.0","topology":"abc"}`}
}

func (b *builder) add(format string, args ...any) {
	b.lines = append(b.lines, fmt.Sprintf(format, args...))
}

// track returns the JSON fields pid and tid of a track. On first use it adds the events
// that name the process and the track.
func (b *builder) track(process, thread string) string {
	pid, ok := b.processes[process]
	if !ok {
		pid = len(b.processes) + 1
		b.processes[process] = pid
		b.add(`{"ph":"M","name":"process_name","pid":%d,"args":{"name":%q}}`, pid, process)
	}
	tid, ok := b.threads[process+thread]
	if !ok {
		tid = len(b.threads) + 1
		b.threads[process+thread] = tid
		b.add(`{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":%q}}`, pid, tid, thread)
	}
	return fmt.Sprintf(`"pid":%d,"tid":%d`, pid, tid)
}

// slice adds a slice to the track of a process and a thread. `args` is the text between the
// braces of the slice's arguments.
func (b *builder) slice(process, thread, name string, start, end simtime.Time, args string) {
	track := b.track(process, thread)
	b.add(`{"ph":"B",%s,"ts":%s,"name":%q,"args":{%s}}`, track, us(start), name, args)
	b.add(`{"ph":"E",%s,"ts":%s}`, track, us(end))
}

func (b *builder) activity(process, thread, name string, start, end simtime.Time, id, after int) {
	b.slice(process, thread, name, start, end, fmt.Sprintf(`"id":%d,"after":%d`, id, after))
}

func (b *builder) launch(n, pes int, start, crit simtime.Time, pe string, after int) {
	b.slice("host", fmt.Sprintf("launches %d", n), "launch", start, start+crit,
		fmt.Sprintf(`"launch":%d,"pes":%d,"crit_ns":%s,"pe":%q,"after":%d`, n, pes, strings.TrimSuffix(crit.String(), "ns"), pe, after))
}

// us formats a time in microseconds, with nine decimals.
func us(t simtime.Time) string {
	return fmt.Sprintf("%d.%09d", t/simtime.Microsecond, t%simtime.Microsecond)
}

func (b *builder) String() string {
	text := `{"displayTimeUnit":"ns","traceEvents":[` + "\n"
	if len(b.lines) > 0 {
		text += strings.Join(b.lines, ",\n") + "\n"
	}
	return text + `],"otherData":` + b.other + "}\n"
}

func (b *builder) read(t testing.TB) *Trace {
	t.Helper()
	trace, err := Read(t.Context(), strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("read the trace: %v\n%s", err, b)
	}
	return trace
}

// message returns a trace of two PEs: pe0 computes a tile and sends it to pe1, which waits
// for it.
func message() *builder {
	b := newBuilder()
	b.activity("sip0.cube0.pe0", "cpu", "run", 0, 10*ns, 1, 0)
	b.slice("sip0.cube0.pe0", "dma read", "load", 12*ns, 20*ns, `"id":3,"after":1,"bytes":512,"queued_ns":1.000001`)
	b.activity("sip0.cube0.pe0", "fetch", "fetch", 20*ns, 25*ns, 4, 3)
	b.activity("sip0.cube0.pe0", "gemm", "gemm", 25*ns, 40*ns, 5, 4)
	b.activity("sip0.cube0.pe0", "store", "store", 40*ns, 44*ns, 6, 5)
	b.slice("sip0.cube0.pe0", "dma write 2", "send", 48*ns, 60*ns, `"id":7,"after":6,"bytes":256,"queued_ns":2.5`)
	b.activity("sip0.cube0.pe1", "cpu", "run", 0, 5*ns, 2, 0)
	b.slice("sip0.cube0.pe1", "cpu", "wait: message", 5*ns, 63*ns, "")
	b.activity("sip0.cube0.pe1", "cpu", "run", 63*ns, 70*ns+1, 8, 7)
	b.launch(1, 2, 0, 70*ns+1, "sip0.cube0.pe1", 8)
	return b
}
