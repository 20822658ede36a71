package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/tl"
)

// traceEvent is a line of a trace.
type traceEvent struct {
	Ph       string
	PID, TID int
	TS       json.Number
	Name     string
	ID       int64
	Args     struct {
		ID, After, Launch int64
		Crit              json.Number `json:"crit_ns"`
		Name              string
	}
}

// at is the time of an event, to the femtosecond.
func (e *traceEvent) at() sim.Time {
	whole, part, _ := strings.Cut(e.TS.String(), ".")
	t, err := strconv.ParseInt(whole+(part + "000000000")[:9], 10, 64)
	if err != nil {
		panic(err)
	}
	return sim.Time(t)
}

// traced is a trace as read back: activities by number, and launches.
type traced struct {
	activities map[int64]*tracedSlice
	launches   []*tracedSlice
}

type tracedSlice struct {
	track, name string
	start, end  sim.Time
	after       int64
}

// readTrace reads a trace, and checks what holds for every one.
func readTrace(t tester, data []byte) *traced {
	t.Helper()
	var file struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("not JSON: %v", err)
	}
	tr := &traced{activities: map[int64]*tracedSlice{}}
	names, open, last, flows := map[[2]int]string{}, map[[2]int]*tracedSlice{}, map[[2]int]sim.Time{}, map[int64]int{}
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
			s := &tracedSlice{names[[2]int{e.PID}] + " " + names[track], e.Name, e.at(), 0, e.Args.After}
			open[track] = s
			if e.Args.ID != 0 {
				tr.activities[e.Args.ID] = s
			}
			if e.Args.ID != 0 && e.Args.After >= e.Args.ID {
				t.Fatalf("event %d: activity %d comes after %d", i, e.Args.ID, e.Args.After)
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

// path is the critical path of a launch, from its end: what it was on, and for how long.
// Together that is the whole launch; latencies between activities are its explanation or
// a mistake in the trace.
func (tr *traced) path(t tester, launch *tracedSlice, longest sim.Time) (steps []string) {
	t.Helper()
	now := launch.end
	for id := launch.after; id != 0; {
		a := tr.activities[id]
		if a == nil {
			t.Fatalf("no activity %d, after %v", id, steps)
		}
		if gap := now - a.end; gap > longest {
			t.Fatalf("%s %s ended %v before what it released, after %v", a.track, a.name, gap, steps)
		} else if gap > 0 {
			steps = append(steps, fmt.Sprintf("%v", gap))
			now = a.end
		}
		if now < a.start {
			t.Fatalf("%s %s begins %v after what it released, after %v", a.track, a.name, a.start-now, steps)
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

// A load and a product of what it brought, stored: its path has every part of it.
func TestTraceOfAKernelAlone(t *testing.T) {
	var file bytes.Buffer
	rec := trace.New(&file)
	r := newRig(t, Options{Trace: rec})
	x := r.tensor(0, 64, 64)
	run := r.on(Program{Targets: []PEID{0}, Body: func(t *tl.PE) {
		a := t.Load(x, tl.Shape{64, 64}, tl.F16)
		t.Store(x, t.Dot(a, a).To(tl.F16))
	}})
	r.TraceLinks()
	if err := rec.Close(nil); err != nil {
		t.Fatal(err)
	}
	tr := readTrace(t, file.Bytes())
	same(t, "launches", len(tr.launches), 1)
	same(t, "the launch takes", tr.launches[0].end-tr.launches[0].start, run.Critical())
	const rows = 64 * 64 * 2
	s := r.spec.PE
	moved := r.moves(r.hbm(0), r.tcm(0), rows)
	want := []string{
		"sip0.cube0.pe0 dma write store " + r.moves(r.tcm(0), r.hbm(0), rows).String(),
		r.setup.String(),
		"sip0.cube0.pe0 store add 16ns", // 8 KiB at 512 GB/s
		"sip0.cube0.pe0 math add " + pe.MathTime(s.Math, s.Math.Cycles.Simple, 64*64).String(),
		"sip0.cube0.pe0 fetch add 32ns",
		"sip0.cube0.pe0 store dot 32ns",
		"sip0.cube0.pe0 gemm dot " + pe.GemmTime(s.GEMM, 64, 64, 64).String(),
		"sip0.cube0.pe0 fetch dot 32ns",
		"sip0.cube0.pe0 dma read load " + moved.String(),
		(r.scheduler + r.setup - 3*r.dispatch).String(), // the CPU went on for three more calls
		"sip0.cube0.pe0 cpu run " + (4 * r.dispatch).String(),
	}
	got := tr.path(t, tr.launches[0], r.setup+r.scheduler)
	if !slices.Equal(got, want) {
		t.Errorf("the path is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Whatever kernels do: tracing changes no time, and the critical path is the launch, with
// no latency that the machine has no reason for.
func TestTraceOfAnyKernel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyKernel(t, slices.Concat(deeds, composites))
		_, plain := k.run(t, false)
		var file bytes.Buffer
		rec := trace.New(&file)
		r, run := k.run(t, false, rec)
		r.TraceLinks()
		if err := rec.Close(nil); err != nil {
			t.Fatal(err)
		}
		same(t, "with a trace it takes", run.Critical(), plain.Critical())
		tr := readTrace(t, file.Bytes())
		same(t, "launches", len(tr.launches), 1)
		same(t, "the launch takes", tr.launches[0].end-tr.launches[0].start, run.Critical())
		longest := r.setup + r.scheduler
		for i, id := range k.ids { // a credit goes back
			back, err := r.route(nil, r.tcm(k.ids[(i+1)%len(k.ids)]), r.tcm(id))
			if err != nil {
				t.Fatal(err)
			}
			longest = max(longest, r.Graph.Latency(back)+r.Graph.Bottleneck(back).Serialize(r.spec.PE.IPCQ.CreditBytes))
		}
		tr.path(t, tr.launches[0], longest)
	})
}
