package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// traceEvent is an event of a trace file.
type traceEvent struct {
	Ph       string
	PID, TID int
	TS       json.Number
	Name     string
	ID       int64
	Args     struct {
		ID, After, Released, Bytes int64
		Crit                       json.Number `json:"crit_ns"`
		Name, Line                 string
	}
}

// at returns the time of an event, to the femtosecond.
func (e *traceEvent) at() simtime.Time {
	t, err := simtime.ParseTime(e.TS.String(), simtime.Microsecond)
	if err != nil {
		panic(err)
	}
	return t
}

// parsedTrace is the content of a trace file.
type parsedTrace struct {
	activities map[int64]*traceSlice // by number
	launches   []*traceSlice
	bytes      map[string]int64 // by name of the track
}

// traceSlice is an activity or a launch in a trace.
type traceSlice struct {
	track, name string
	line        string // the line of the kernel
	start, end  simtime.Time
	after       int64 // the activity that released it; the last activity of a launch; 0 is none
	released    int64 // the activity that released a launch
}

// readTrace parses a trace file. It checks that times on each track ascend, that activities
// on a track do not overlap, and that every activity and every message has a beginning and
// an end.
func readTrace(t tester, data []byte) *parsedTrace {
	t.Helper()
	var file struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("not JSON: %v", err)
	}
	tr := &parsedTrace{activities: map[int64]*traceSlice{}, bytes: map[string]int64{}}
	names, open, last, flows := map[[2]int]string{}, map[[2]int]*traceSlice{}, map[[2]int]simtime.Time{}, map[int64]int{}
	for i := range file.TraceEvents {
		e := &file.TraceEvents[i]
		track := [2]int{e.PID, e.TID}
		if e.Ph == "M" {
			if strings.HasSuffix(e.Name, "_name") {
				names[track] = e.Args.Name
			}
			continue
		}
		if e.Ph != "C" && e.at() < last[track] {
			t.Fatalf("event %d: %v on %s after %v", i, e.at(), names[track], last[track])
		}
		last[track] = e.at()
		switch e.Ph {
		case "B":
			if open[track] != nil {
				t.Fatalf("event %d: a slice begins inside another on %s", i, names[track])
			}
			s := &traceSlice{names[[2]int{e.PID}] + " " + names[track], e.Name, e.Args.Line, e.at(), 0, e.Args.After, e.Args.Released}
			open[track] = s
			tr.bytes[names[track]] += e.Args.Bytes
			if e.Args.ID != 0 {
				tr.activities[e.Args.ID] = s
			}
			if e.Args.ID != 0 && e.Args.After >= e.Args.ID {
				t.Fatalf("event %d: activity %d was released by %d, which is not an earlier one", i, e.Args.ID, e.Args.After)
			}
			if e.Args.Crit != "" {
				tr.launches = append(tr.launches, s)
			}
		case "E":
			open[track].end = e.at()
			delete(open, track)
		case "s":
			flows[e.ID]++
		case "f":
			if flows[e.ID]--; flows[e.ID] != 0 {
				t.Fatalf("event %d: message %d ends without a beginning", i, e.ID)
			}
		}
	}
	for id, n := range flows {
		if n != 0 {
			t.Fatalf("message %d has no end", id)
		}
	}
	if len(open) > 0 {
		t.Fatalf("%d slices have no end", len(open))
	}
	return tr
}

// criticalPath returns the critical path of a launch, from its end to its start, as text:
// the activities and the latencies between them, with their durations. It checks that they
// cover the whole launch and that no latency is longer than the time `longest`.
func (tr *parsedTrace) criticalPath(t tester, launch *traceSlice, longest simtime.Time) (steps []string) {
	t.Helper()
	now := launch.end
	for id := launch.after; id != 0; {
		a := tr.activities[id]
		if a == nil {
			t.Fatalf("no activity %d, after %v", id, steps)
		}
		if gap := now - a.end; gap > longest {
			t.Fatalf("%s %s ended %v before the activity that it released, after %v", a.track, a.name, gap, steps)
		} else if gap > 0 {
			steps = append(steps, fmt.Sprintf("%v", gap))
			now = a.end
		}
		if now < a.start {
			t.Fatalf("%s %s begins %v after the activity that it released, after %v", a.track, a.name, a.start-now, steps)
		}
		if now > a.start {
			steps = append(steps, fmt.Sprintf("%s %s %v", a.track, a.name, now-a.start))
		}
		now, id = a.start, a.after
	}
	if now != launch.start {
		t.Fatalf("the path ends at %v, the launch begins at %v: %v", now, launch.start, steps)
	}
	return steps
}

// recordTrace records a trace of a run and returns the parsed trace. It calls the function
// `run` with the options o and a new trace recorder. It checks that the bytes of each link
// in the trace add up to the total that TraceLinks returns.
func recordTrace(t tester, o Options, run func(o Options) *rig) *parsedTrace {
	t.Helper()
	var file bytes.Buffer
	o.Trace = trace.New(&file)
	links := run(o).TraceLinks()
	if err := o.Trace.Close(nil); err != nil {
		t.Fatal(err)
	}
	tr := readTrace(t, file.Bytes())
	for _, l := range links {
		same(t, "bytes on "+l.Name, tr.bytes[l.Name], l.Bytes)
	}
	return tr
}

// TestTraceOfAKernelAlone checks the critical path of a kernel on one PE that loads a tile,
// multiplies it by itself and stores the product.
func TestTraceOfAKernelAlone(t *testing.T) {
	var r *rig
	var run *Run
	tr := recordTrace(t, Options{}, func(o Options) *rig {
		r = newRig(t, o)
		x := r.tensor(0, 64, 64)
		run = r.run(Program{Targets: []PEID{0}, Body: func(t *tl.PE) {
			a := t.Load(x, tl.Shape{64, 64}, tl.F16)
			t.Store(x, a.Dot(a).To(tl.F16))
		}})
		return r
	})
	same(t, "launches", len(tr.launches), 1)
	same(t, "the launch takes", tr.launches[0].end-tr.launches[0].start, run.Critical())
	const rows = 64 * 64 * 2
	s := r.spec.PE
	moved := r.transferTime(r.hbm(0), r.tcm(0), rows)
	want := []string{
		"sip0.cube0.pe0 dma write store " + r.transferTime(r.tcm(0), r.hbm(0), rows).String(),
		r.setup.String(),
		"sip0.cube0.pe0 store cast 16ns", // 8 KiB at 512 GB/s
		"sip0.cube0.pe0 math cast " + pe.MathTime(s.Math, s.Math.Cycles.Simple, 64*64).String(),
		"sip0.cube0.pe0 fetch cast 32ns",
		"sip0.cube0.pe0 store dot 64×64×64 32ns",
		"sip0.cube0.pe0 gemm dot 64×64×64 " + pe.GemmTime(s.GEMM, 64, 64, 64).String(),
		"sip0.cube0.pe0 fetch dot 64×64×64 32ns",
		"sip0.cube0.pe0 dma read load " + moved.String(),
		(r.scheduler + r.setup - 3*r.dispatch).String(), // the CPU runs three more calls in this time
		"sip0.cube0.pe0 cpu run " + (4 * r.dispatch).String(),
	}
	got := tr.criticalPath(t, tr.launches[0], r.setup+r.scheduler)
	if !slices.Equal(got, want) {
		t.Errorf("the path is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLaunchesShareATrack checks that launches that run one after another appear on one
// track of the trace. Launches that run at the same time must appear on different
// subtracks.
func TestLaunchesShareATrack(t *testing.T) {
	for _, c := range []struct {
		pes  [2]PEID
		want string
	}{
		{[2]PEID{0, 0}, "host launches, host launches"},
		{[2]PEID{0, 1}, "host launches, host launches 2"},
	} {
		tr := recordTrace(t, Options{}, func(o Options) *rig {
			r := newRig(t, o)
			defer r.Close()
			for _, id := range c.pes {
				if _, err := r.Start(Program{Name: "k", Targets: []PEID{id}, Body: func(t *tl.PE) { spendCalls(t, 100) }}, sim.Event{}); err != nil {
					t.Fatal(err)
				}
			}
			r.mustRun(t)
			return r
		})
		same(t, "tracks", tr.launches[0].track+", "+tr.launches[1].track, c.want)
	}
}

// TestTraceOfInterruptions runs large transfers that interrupt each other on links, which
// shortens their activities in the trace. recordTrace checks that the bytes of the
// activities still add up to the bytes of each link.
func TestTraceOfInterruptions(t *testing.T) {
	recordTrace(t, Options{}, func(o Options) *rig {
		r := newRig(t, o)
		x, y := r.tensor(0, 512, 512), r.tensor(3, 512, 512)
		r.run(Program{Targets: []PEID{1, 2, 9}, Body: perRank(func(t *tl.PE) {
			t.Store(y, t.Load(x, tl.Shape{512, 512}, tl.F16))
		}, func(t *tl.PE) {
			spendCalls(t, 100)
			t.Load(x, tl.Shape{512, 512}, tl.F16)
		}, func(t *tl.PE) {
			for range 50 {
				spendCalls(t, 20)
				t.Load(x, tl.Shape{16}, tl.F16)
				t.Notify(0, 0, tl.Add, 1)
			}
		})})
		return r
	})
}
