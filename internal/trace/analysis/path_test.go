package analysis

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/simtime"
)

// lines formats a path as text, with a line for each segment.
func (p *Path) lines() string {
	var b strings.Builder
	for _, s := range p.Segments {
		fmt.Fprintf(&b, "%v +%v %s %s x%d", s.At, s.For, s.Where, s.Kind, s.Count)
		if s.Bytes > 0 || s.Queued > 0 {
			fmt.Fprintf(&b, " %d B queued %v", s.Bytes, s.Queued)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestCriticalPath checks the critical path of small launches.
func TestCriticalPath(t *testing.T) {
	const pe0, pe1 = "sip0.cube0.pe0", "sip0.cube0.pe1"
	tests := []struct {
		name   string
		launch int64
		build  func(*builder)
		want   string
	}{
		{"only a CPU", 1, func(b *builder) {
			b.activity(pe0, "cpu", "run", 3*ns, 10*ns, 1, 0)
			b.launch(1, 1, 3*ns, 7*ns, pe0, 1)
		}, `
0ns +7ns sip0.cube0.pe0 cpu x1
`},
		{"a CPU that continues while its command runs", 1, func(b *builder) {
			b.activity(pe0, "cpu", "run", 0, 50*ns, 1, 0)
			b.activity(pe0, "dma read", "load", 12*ns, 90*ns, 2, 1)
			b.launch(1, 1, 0, 90*ns, pe0, 2)
		}, `
0ns +12ns sip0.cube0.pe0 cpu x1
12ns +78ns sip0.cube0.pe0 dma load x1
`},
		{"operands fetched while the previous command runs", 1, func(b *builder) {
			b.activity(pe0, "cpu", "run", 0, 2*ns, 1, 0)
			b.activity(pe0, "fetch", "fetch", 3*ns, 5*ns, 2, 1)
			b.activity(pe0, "gemm", "gemm", 5*ns, 20*ns, 3, 2)
			b.activity(pe0, "fetch", "fetch", 5*ns, 9*ns, 4, 3)
			b.activity(pe0, "gemm", "gemm", 20*ns, 35*ns, 5, 3)
			b.launch(1, 1, 0, 35*ns, pe0, 5)
		}, `
0ns +2ns sip0.cube0.pe0 cpu x1
2ns +1ns sip0.cube0.pe0 latency: issue x0
3ns +2ns sip0.cube0.pe0 fetch x1
5ns +30ns sip0.cube0.pe0 gemm x2
`},
		{"the launch ends after its last activity", 1, func(b *builder) {
			b.activity(pe0, "cpu", "run", 0, 2*ns, 1, 0)
			b.activity(pe0, "cpu", "run", 2*ns, 4*ns, 2, 1)
			b.launch(1, 1, 0, 5*ns, pe0, 2)
		}, `
0ns +4ns sip0.cube0.pe0 cpu x2
4ns +1ns sip0.cube0.pe0 latency: end x0
`},
		{"it waits for a launch that began before", 2, func(b *builder) {
			b.activity(pe0, "cpu", "run", 0, 8*ns, 1, 0)
			b.activity(pe0, "dma write", "notify", 8*ns, 30*ns, 3, 1)
			b.activity(pe1, "cpu", "run", 10*ns, 11*ns, 2, 0)
			b.slice(pe1, "cpu", "wait: signal", 11*ns, 31*ns, "")
			b.activity(pe1, "cpu", "run", 31*ns, 32*ns, 4, 3)
			b.launch(1, 1, 0, 30*ns, pe0, 3)
			b.launch(2, 1, 10*ns, 22*ns, pe1, 4)
		}, `
0ns +20ns sip0.cube0.pe0 dma notify x1
20ns +1ns sip0.cube0.pe1 latency: signal x0
21ns +1ns sip0.cube0.pe1 cpu x1
`},
		{"it waits for a launch that began later", 1, func(b *builder) {
			b.slice(pe0, "cpu", "run", 5*ns, 7*ns, `"id":1,"launch":1`)
			b.slice(pe0, "cpu", "wait: message", 7*ns, 30*ns, "")
			b.activity("host", "copies", "copy to x", 0, 20*ns, 2, 0)
			b.slice(pe1, "cpu", "run", 20*ns, 24*ns, `"id":3,"launch":2`)
			b.activity(pe1, "dma write", "send", 26*ns, 30*ns, 4, 3)
			b.activity(pe0, "cpu", "run", 30*ns, 31*ns, 5, 4)
			b.launch(1, 1, 5*ns, 26*ns, pe0, 5)
			b.slice("host", "launches 2", "launch", 20*ns, 30*ns, `"launch":2,"released":2,"pes":1,"crit_ns":10,"pe":"pe1","after":4`)
		}, `
0ns +15ns host copies x1
15ns +4ns sip0.cube0.pe1 cpu x1
19ns +2ns sip0.cube0.pe1 latency: issue x0
21ns +4ns sip0.cube0.pe1 dma send x1
25ns +1ns sip0.cube0.pe0 cpu x1
`},
	}
	for _, tt := range tests {
		b := newBuilder()
		tt.build(b)
		r, err := b.read(t).Analyse(tt.launch, 10)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got, want := r.Path.lines(), tt.want[1:]; got != want {
			t.Errorf("%s: the path is\n%swant\n%s", tt.name, got, want)
		}
	}
}

// TestPathOfMessage checks the critical path of a launch in which one PE waits for a
// message of another: the segments, the sums by kind and the PEs that the path visits.
func TestPathOfMessage(t *testing.T) {
	p, err := message().read(t).CriticalPath(message().read(t).Launches()[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `0ns +10ns sip0.cube0.pe0 cpu x1
10ns +2ns sip0.cube0.pe0 latency: issue x0
12ns +8ns sip0.cube0.pe0 dma load x1 512 B queued 1.000001ns
20ns +5ns sip0.cube0.pe0 fetch x1
25ns +15ns sip0.cube0.pe0 gemm x1
40ns +4ns sip0.cube0.pe0 store x1
44ns +4ns sip0.cube0.pe0 latency: set-up x0
48ns +12ns sip0.cube0.pe0 dma send x1 256 B queued 2.5ns
60ns +3ns sip0.cube0.pe1 latency: message x0
63ns +7.000001ns sip0.cube0.pe1 cpu x1
`
	if got := p.lines(); got != want {
		t.Errorf("the path is\n%swant\n%s", got, want)
	}
	var kinds []string
	for _, k := range p.Kinds {
		kinds = append(kinds, fmt.Sprintf("%s %v", k.Kind, k.Time))
	}
	wantKinds := "cpu 17.000001ns, gemm 15ns, dma send 12ns, dma load 8ns, fetch 5ns, store 4ns, latency: set-up 4ns, latency: message 3ns, latency: issue 2ns"
	if got := strings.Join(kinds, ", "); got != wantKinds {
		t.Errorf("kinds: got %s\nwant %s", got, wantKinds)
	}
	if got, want := strings.Join(p.Visits, " "), "sip0.cube0.pe0 sip0.cube0.pe1"; got != want {
		t.Errorf("visits: got %s, want %s", got, want)
	}
}

// TestIncompletePath checks that an incomplete trace gives an error, not a path that is too
// short.
func TestIncompletePath(t *testing.T) {
	tests := []struct {
		name  string
		build func(*builder)
		want  string
	}{
		{"an activity without a cause in the middle", func(b *builder) {
			b.activity("pe0", "cpu", "run", 0, 2*ns, 1, 0)
			b.activity("pe0", "gemm", "gemm", 3*ns, 5*ns, 2, 0)
			b.launch(1, 1, 0, 5*ns, "pe0", 2)
		}, "launch 1: its critical path ends at 3ns, with activity 2 of pe0, which nothing released, and not at its start at 0ns: the trace is not complete"},
		{"no last activity", func(b *builder) {
			b.activity("pe0", "cpu", "run", 0, 2*ns, 1, 0)
			b.launch(1, 1, 0, 2*ns, "pe0", 0)
		}, "launch 1: the trace does not say which activity was its last"},
		{"a last activity that is missing", func(b *builder) {
			b.activity("pe0", "cpu", "run", 0, 2*ns, 1, 0)
			b.launch(1, 1, 0, 2*ns, "pe0", 9)
		}, "launch 1: its last activity, 9, is not in the trace"},
	}
	for _, tt := range tests {
		b := newBuilder()
		tt.build(b)
		_, err := b.read(t).Analyse(Whole, 10)
		if got := fmt.Sprint(err); got != tt.want {
			t.Errorf("%s: got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestPathHasNoGaps draws random activities, each released by an earlier one. It checks
// that the segments of the critical path follow each other without gaps from the start of
// the launch to its end.
func TestPathHasNoGaps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBuilder()
		start := simtime.Time(rapid.Int64Range(0, int64(simtime.Second)).Draw(rt, "start"))
		begin, end := []simtime.Time{0}, []simtime.Time{0} // by number, counted from 1
		times := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 1_000_000))
		last := 1
		for id := 1; id <= rapid.IntRange(1, 40).Draw(rt, "activities"); id++ {
			after, at := rapid.IntRange(0, id-1).Draw(rt, "after"), start
			if after > 0 { // during the releasing activity, or after it
				at = begin[after] + simtime.Time(rapid.Int64Range(0, 2*int64(end[after]-begin[after])+1000).Draw(rt, "at"))
			}
			until := at + simtime.Time(times.Draw(rt, "for"))
			begin, end = append(begin, at), append(end, until)
			engine := rapid.SampledFrom(engineNames[1:]).Draw(rt, "engine")
			pe := rapid.SampledFrom([]string{"pe0", "pe1", "pe2"}).Draw(rt, "pe")
			b.activity(pe, fmt.Sprintf("%s %d", engine, id), "x", at, until, id, after)
			if until > end[last] {
				last = id
			}
		}
		l := Launch{Start: start, Critical: end[last] - start + simtime.Time(times.Draw(rt, "behind"))}
		b.launch(1, 1, l.Start, l.Critical, "pe0", last)
		r, err := b.read(t).Analyse(1, 10)
		if err != nil {
			rt.Fatal(err)
		}
		at := simtime.Time(0)
		for _, s := range r.Path.Segments {
			if s.At != at || s.For <= 0 {
				rt.Fatalf("segment at %v for %v: want it at %v, for more than 0; path:\n%s", s.At, s.For, at, r.Path.lines())
			}
			at += s.For
		}
		if at != l.Critical {
			rt.Fatalf("the path takes %v, want %v", at, l.Critical)
		}
		sum := simtime.Time(0)
		for _, k := range r.Path.Kinds {
			sum += k.Time
		}
		if sum != l.Critical {
			rt.Fatalf("kinds sum up to %v, want %v", sum, l.Critical)
		}
	})
}
