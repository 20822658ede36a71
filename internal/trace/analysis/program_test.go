package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/simtime"
)

// program returns a trace of a copy to the device, a launch, a second launch on another PE,
// and a copy to the host. A command of the host releases the first launch, and the end of
// the first launch releases the second.
func program() *builder {
	const pe0, pe1 = "sip0.cube0.pe0", "sip0.cube0.pe1"
	b := newBuilder()
	b.activity("host", "copies", "copy to x", 0, 20*ns, 1, 0)
	b.activity("host", "commands", "command first", 20*ns, 35*ns, 2, 1)
	b.slice(pe0, "cpu", "run", 35*ns, 37*ns, `"id":3,"launch":0`)
	b.slice(pe0, "dma read", "load", 40*ns, 50*ns, `"id":4,"after":3,"bytes":64,"line":"k.go:7"`)
	for i, stage := range []string{"fetch", "gemm", "store"} {
		b.slice(pe0, stage, "dot 4×4×4", simtime.Time(50+4*i)*ns, simtime.Time(54+4*i)*ns, fmt.Sprintf(`"id":%d,"after":%d,"line":"k.go:8"`, 5+i, 4+i))
	}
	b.slice(pe1, "cpu", "run", 62*ns, 63*ns, `"id":8,"launch":1`)
	b.slice(pe1, "dma read", "load", 64*ns, 70*ns, `"id":9,"after":8,"bytes":64,"line":"k.go:7"`)
	b.activity("host", "copies", "read of x", 70*ns, 71*ns+1, 10, 9)
	b.slice("host", "launches", "first", 35*ns, 62*ns, `"launch":0,"released":2,"pes":1,"crit_ns":27,"pe":"sip0.cube0.pe0","after":7`)
	b.slice("host", "launches", "second", 62*ns, 70*ns, `"launch":1,"released":7,"pes":1,"crit_ns":8,"pe":"sip0.cube0.pe1","after":9`)
	b.slice("host", "program", "program", 0, 71*ns+1, `"makespan_ns":71.000001,"after":10`)
	return b
}

// TestProgramPath checks that the path of a program goes from its end through copies,
// launches and their commands back to the first command.
func TestProgramPath(t *testing.T) {
	r, err := program().read(t).Analyse(Whole, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := `0ns +20ns host copies x1
20ns +15ns host commands x1
35ns +2ns sip0.cube0.pe0 cpu x1
37ns +3ns sip0.cube0.pe0 latency: issue x0
40ns +10ns sip0.cube0.pe0 dma load x1 64 B queued 0ns
50ns +4ns sip0.cube0.pe0 fetch x1
54ns +4ns sip0.cube0.pe0 gemm x1
58ns +4ns sip0.cube0.pe0 store x1
62ns +1ns sip0.cube0.pe1 cpu x1
63ns +1ns sip0.cube0.pe1 latency: issue x0
64ns +6ns sip0.cube0.pe1 dma load x1 64 B queued 0ns
70ns +1.000001ns host copies x1
`
	if got := r.Path.lines(); got != want {
		t.Errorf("the path is\n%swant\n%s", got, want)
	}
	var steps []string
	for _, s := range r.Path.Steps {
		launch := "-"
		if s.Launch != nil {
			launch = fmt.Sprint(*s.Launch)
		}
		steps = append(steps, fmt.Sprintf("%v +%v %s %s: %d, %s %v", s.At, s.For, launch, s.Name, s.Segments, s.Mostly, s.Most))
	}
	wantSteps := `0ns +20ns - copy to x: 1, copies 20ns
20ns +15ns - command first: 1, commands 15ns
35ns +27ns 0 first: 6, dma load 10ns
62ns +8ns 1 second: 3, dma load 6ns
70ns +1.000001ns - read of x: 1, copies 1.000001ns`
	if got := strings.Join(steps, "\n"); got != wantSteps {
		t.Errorf("the steps are\n%s\nwant\n%s", got, wantSteps)
	}
	if r.Launch != nil || r.Program.Makespan != 71*ns+1 || r.Slowest != nil || len(r.Engines) != 5 {
		t.Errorf("launch %v, program %+v, slowest PE %v, %d engines, want none, 71.000001ns, none, 5", r.Launch, r.Program, r.Slowest, len(r.Engines))
	}
}

// TestIncompleteProgram checks that ProgramPath returns an error if the path does not reach
// the start of the program.
func TestIncompleteProgram(t *testing.T) {
	b := newBuilder()
	b.activity("host", "copies", "copy to x", 3*ns, 20*ns, 1, 0)
	b.slice("host", "program", "program", 0, 20*ns, `"makespan_ns":20,"after":1`)
	_, err := b.read(t).Analyse(Whole, 10)
	want := "program: its critical path ends at 3ns, with activity 1 of host, which nothing released, and not at its start at 0ns: the trace is not complete"
	if fmt.Sprint(err) != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestProfile checks profiles of a program and of a launch. It also checks that the times
// on the critical path add up to the length of the path.
func TestProfile(t *testing.T) {
	tests := []struct {
		by     By
		launch int64
		want   string
	}{
		{ByOp, Whole, `
copies on host: 2, 21.000001ns, mean 10.5ns, max 20ns; path 21.000001ns 30%
load on dma read: 2, 16ns, mean 8ns, max 10ns; path 16ns 23%
commands on host: 1, 15ns, mean 15ns, max 15ns; path 15ns 21%
dot 4×4×4 on fetch: 1, 4ns, mean 4ns, max 4ns; path 4ns 6%
dot 4×4×4 on gemm: 1, 4ns, mean 4ns, max 4ns; path 4ns 6%
dot 4×4×4 on store: 1, 4ns, mean 4ns, max 4ns; path 4ns 6%
latency: issue on : 0, 0ns, mean 0ns, max 0ns; path 4ns 6%
run on cpu: 2, 3ns, mean 1.5ns, max 2ns; path 3ns 4%
`},
		{ByLine, Whole, `
(host) on : 3, 36.000001ns, mean 0ns, max 0ns; path 36.000001ns 51%
k.go:7 on : 2, 16ns, mean 0ns, max 0ns; path 16ns 23%
k.go:8 on : 1, 12ns, mean 0ns, max 0ns; path 12ns 17%
(latency) on : 0, 0ns, mean 0ns, max 0ns; path 4ns 6%
(cpu) on : 2, 3ns, mean 0ns, max 0ns; path 3ns 4%
`},
		{ByLine, 0, `
k.go:8 on : 1, 12ns, mean 0ns, max 0ns; path 12ns 44%
k.go:7 on : 1, 10ns, mean 0ns, max 0ns; path 10ns 37%
(latency) on : 0, 0ns, mean 0ns, max 0ns; path 3ns 11%
(cpu) on : 1, 2ns, mean 0ns, max 0ns; path 2ns 7%
`},
	}
	for _, tt := range tests {
		p, err := program().read(t).Profile(tt.by, tt.launch)
		if err != nil {
			t.Fatal(err)
		}
		got := "\n"
		sum := simtime.Time(0)
		for _, w := range p.Rows {
			got += fmt.Sprintf("%s on %s: %d, %v, mean %v, max %v; path %v %.0f%%\n", w.Name, w.Engine, w.Count, w.Busy, w.Mean, w.Max, w.Path, 100*w.Share)
			sum += w.Path
		}
		if got != tt.want {
			t.Errorf("by %s of %d: got%swant%s", tt.by, tt.launch, got, tt.want)
		}
		if sum != p.Time {
			t.Errorf("by %s of %d: the rows add up to %v, want %v", tt.by, tt.launch, sum, p.Time)
		}
	}
}
