package analysis

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkRead measures the events per second of reading, checking and analysing a trace
// of 40,000 events.
func BenchmarkRead(b *testing.B) {
	text := ring(8, 10_000).String()
	events := strings.Count(text, "\n") - 2
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		t, err := Read(b.Context(), strings.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := t.Analyse(Whole, 10); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// ring returns a trace in which a message moves around a ring of PEs for a number of steps.
func ring(pes, steps int) *builder {
	b := newBuilder()
	name := make([]string, pes)
	for i := range name {
		name[i] = fmt.Sprintf("sip0.cube0.pe%d", i)
		b.activity(name[i], "cpu", "run", 0, 2*ns, i+1, 0)
	}
	at, last := 2*ns, 1
	for step := range steps {
		to := name[(step+1)%pes]
		send := pes + 2*step + 1
		b.slice(name[step%pes], "dma write", "send", at, at+5*ns, fmt.Sprintf(`"id":%d,"after":%d,"bytes":256,"queued_ns":0.5`, send, last))
		at += 5 * ns
		b.activity(to, "cpu", "run", at, at+2*ns, send+1, send)
		at, last = at+2*ns, send+1
	}
	b.launch(0, pes, 0, at, name[steps%pes], last)
	return b
}
