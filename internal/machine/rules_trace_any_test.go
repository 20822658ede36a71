package machine

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// smallQueueSteps are steps of random kernels that cannot deadlock with small queues.
// Before a PE sends more than one slot holds, it issues its receive or uses Select.
var smallQueueSteps = []kernelStep{
	{"large message", func(t *tl.PE, n int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		h := t.RecvAsync(tl.West, tl.Shape{n, n}, tl.F16)
		t.Send(tl.East, t.Zeros(tl.Shape{n, n}, tl.F16))
		return h.Wait()
	}},
	{"two receives in flight", func(t *tl.PE, n int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		first, second := t.RecvAsync(tl.West, tl.Shape{n}, tl.F16), t.RecvAsync(tl.West, tl.Shape{n, n}, tl.F16)
		t.Send(tl.East, t.Zeros(tl.Shape{n}, tl.F16))
		t.Send(tl.East, t.Zeros(tl.Shape{n, n}, tl.F16))
		second.Wait()
		return first.Wait()
	}},
	{"messages both ways", func(t *tl.PE, n int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		const messages = 3
		s := tl.Shape{n}
		for sent, got := 0, 0; sent < messages || got < messages; {
			var cases []tl.Case
			if got < messages {
				cases = append(cases, tl.CanRecv(tl.West))
			}
			if sent < messages {
				cases = append(cases, tl.CanSend(tl.East, s, tl.F16))
			}
			if i := t.Select(cases...); got < messages && i == 0 {
				t.Recv(tl.West, s, tl.F16)
				got++
			} else {
				t.Send(tl.East, t.Zeros(s, tl.F16))
				sent++
			}
		}
		return v
	}},
	{"a message or a signal", func(t *tl.PE, n int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		const signal = 1000
		t.Notify(nextRank(t), signal, tl.Add, 1)
		t.Send(tl.East, t.Zeros(tl.Shape{n}, tl.F16))
		if t.Select(tl.CanSignal(signal, tl.GE, 1), tl.CanRecv(tl.West)) == 1 {
			t.WaitSignal(signal, tl.GE, 1)
		}
		t.Recv(tl.West, tl.Shape{n}, tl.F16)
		clearSignal(t, signal)
		return v
	}},
	{"no bytes", func(t *tl.PE, n int, x, y tl.Ptr, v tl.Tile) tl.Tile {
		none := tl.Shape{0}
		t.Send(tl.East, t.Zeros(none, tl.F16))
		t.RecvInto(tl.West, y, none, tl.F16)
		t.Send(tl.East, t.Ref(x, none, tl.F16))
		t.Recv(tl.West, none, tl.F16)
		return v
	}},
	{"message to memory", func(t *tl.PE, n int, _, y tl.Ptr, v tl.Tile) tl.Tile {
		h := t.RecvAsync(tl.West, tl.Shape{n}, tl.F16)
		t.Send(tl.East, t.Zeros(tl.Shape{n}, tl.F16))
		t.Send(tl.East, t.Zeros(tl.Shape{n}, tl.F16))
		t.RecvInto(tl.West, y, tl.Shape{n}, tl.F16)
		return h.Wait()
	}},
	{"more tiles than fit into TCM", func(t *tl.PE, n int, x, y tl.Ptr, _ tl.Tile) tl.Tile {
		t.Store(y, t.Load(x, tl.Shape{n, n}, tl.F16))
		for range 6 { // tiles of 512 KiB in a TCM of 2 MiB
			t.Zeros(tl.Shape{512, 512}, tl.F16).Exp()
		}
		return t.Load(x, tl.Shape{n, n}, tl.F16)
	}},
	{"a message before its receiver's clock", func(t *tl.PE, n int, _, _ tl.Ptr, _ tl.Tile) tl.Tile {
		t.Send(tl.East, t.Zeros(tl.Shape{n}, tl.F16))
		for range 5 { // then the clock of the CPU is far ahead
			t.Zeros(tl.Shape{512, 512}, tl.F16).Exp()
		}
		return t.Recv(tl.West, tl.Shape{n}, tl.F16)
	}},
	{"product of a tile", func(t *tl.PE, n int, x, y tl.Ptr, _ tl.Tile) tl.Tile {
		a := t.Load(x, tl.Shape{n, n}, tl.F16).Exp()
		t.Wait(t.Composite(tl.Gemm(a, t.Ref(x, tl.Shape{n, n}, tl.F16), y)))
		return a
	}},
	{"many loads and a signal", func(t *tl.PE, n int, x, y tl.Ptr, v tl.Tile) tl.Tile {
		for range 12 { // more than are in flight at a time
			v = t.Load(x, tl.Shape{n, n}, tl.F16)
		}
		t.Store(y, v)
		const signal = 1001
		t.Notify(nextRank(t), signal, tl.Add, 1)
		t.WaitSignal(signal, tl.GE, 1)
		clearSignal(t, signal)
		return v
	}},
}

// clearSignal subtracts 1 from the given signal of this PE and waits until the signal is 0.
// The PE in the west sets this signal, and this PE sets the signal of the PE in the east.
// clearSignal therefore sends a message to the west and waits for the same message from the
// east. So a PE sets the signal of the next PE only while that signal is 0.
func clearSignal(t *tl.PE, signal int) {
	t.Notify(t.Rank(), signal, tl.Add, -1)
	t.WaitSignal(signal, tl.LE, 0)
	t.Send(tl.West, t.Zeros(tl.Shape{1}, tl.F16))
	t.Recv(tl.East, tl.Shape{1}, tl.F16)
}

// checkReleases checks the releases of all activities and launches in the trace. An
// activity must not start before the start of the activity that released it, and must start
// at most the time `longest` after the end of that activity. An activity that no other
// activity released must start at time 0 or with a launch. The activity that released a
// launch must end when the launch starts or, if it sends to another SIP, still take place.
func (tr *parsedTrace) checkReleases(t tester, longest simtime.Time) {
	t.Helper()
	for _, l := range tr.launches {
		if by := tr.activities[l.released]; by == nil || by.start > l.start || by.end < l.start {
			t.Fatalf("the launch at %v was released by %+v, want an activity that takes place then", l.start, by)
		}
	}
	for id, a := range tr.activities {
		if a.after == 0 {
			if a.start > 0 && !slices.ContainsFunc(tr.launches, func(l *traceSlice) bool { return l.start == a.start }) {
				t.Fatalf("activity %d, %s %s, begins at %v, where no launch starts, and no activity released it", id, a.track, a.name, a.start)
			}
			continue
		}
		by := tr.activities[a.after]
		if by == nil {
			t.Fatalf("no activity %d, which releases %d: %s %s", a.after, id, a.track, a.name)
		}
		if a.start < by.start || a.start-by.end > longest {
			t.Fatalf("activity %d, %s %s, begins at %v, and %d, which released it, is %s %s from %v to %v", id, a.track, a.name, a.start, a.after, by.track, by.name, by.start, by.end)
		}
	}
}

// longestLatency returns the longest possible time between two consecutive activities on
// the critical path of a kernel. The kernel runs on a ring of the PEs in `ids`, and q is
// the configuration of the queues.
func (r *rig) longestLatency(ids []PEID, q topology.IPCQ) simtime.Time {
	r.Helper()
	longest := r.setup + r.scheduler
	var polls simtime.Time
	if q.Backpressure == topology.Poll {
		polls = r.spec.PE.CPU.Clock.Cycles(r.Queues(q).PollCycles)
	}
	for i, id := range ids {
		next := ids[(i+1)%len(ids)]
		// The report of an earlier access makes a message visible. Then a receive is set up or,
		// if the message has no bytes, its credit returns. A credit may release a send while the
		// CPU waits for more credits.
		report, credit := r.creditTime(next, id), r.creditTime(id, next)+polls
		longest = max(longest, max(report, credit)+r.setup+r.scheduler, report+credit)
	}
	return longest
}

// anyTracedKernel draws a random kernel with steps of all kinds. The queues of the kernel
// may have few slots, and senders may poll for credits.
func anyTracedKernel(t *rapid.T) randomKernel {
	choices := slices.Concat(kernelSteps, compositeSteps, smallQueueSteps)
	few := rapid.Bool().Draw(t, "few slots")
	if few {
		choices = slices.DeleteFunc(choices, func(d kernelStep) bool { return d.name == "send" })
	}
	k := anyKernel(t, choices)
	k.split = rapid.Bool().Draw(t, "split")
	if few {
		k.queues.NSlots, k.queues.SlotSize = rapid.IntRange(1, 3).Draw(t, "count"), 256
	}
	if rapid.Bool().Draw(t, "polls") {
		k.queues.Backpressure, k.queues.PollCycles = topology.Poll, rapid.IntRange(1, 50).Draw(t, "cycles")
	}
	return k
}

// TestTraceOfAnyKernel checks that tracing a random kernel changes no time. The critical
// path must cover the launch, and no latency on it may be longer than longestLatency.
func TestTraceOfAnyKernel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyTracedKernel(t)
		_, plain := k.run(t, false)
		var r *rig
		var run *Run
		tr := recordTrace(t, Options{}, func(o Options) *rig {
			r, run = k.run(t, false, o.Trace)
			return r
		})
		same(t, "with a trace it takes", run.Critical(), plain.Critical())
		same(t, "launches", len(tr.launches), 1)
		same(t, "the launch takes", tr.launches[0].end-tr.launches[0].start, run.Critical())
		longest := r.longestLatency(k.ids, k.queues)
		tr.checkReleases(t, longest)
		tr.criticalPath(t, tr.launches[0], longest)
	})
}

// TestTraceOfAnyLaunches checks the critical path of each of several random launches.
// Launches on different PEs overlap in time. Some kernels are run by workers; the critical
// path then contains the waits of the workers, too.
func TestTraceOfAnyLaunches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(anyTracedKernel), 2, 3).Draw(t, "kernels")
		byWorkers := rapid.SliceOfN(rapid.Bool(), len(all), len(all)).Draw(t, "workers")
		var r *rig
		var runs []*Run
		tr := recordTrace(t, Options{Fidelity: all[0].fidelity}, func(o Options) *rig {
			r = newRig(t, o)
			defer r.Close()
			if all[0].split {
				r.launcher.dense = 1
			}
			for i, k := range all {
				p := k.program(r)
				if byWorkers[i] {
					p = serveByWorkers(p)
				}
				run, err := r.Start(p, sim.Event{})
				if err != nil {
					t.Fatal(err)
				}
				runs = append(runs, run)
			}
			if err := r.Engine.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			return r
		})
		same(t, "launches", len(tr.launches), len(all))
		var longest simtime.Time
		for _, k := range all {
			longest = max(longest, r.longestLatency(k.ids, k.queues))
		}
		tr.checkReleases(t, longest)
		for _, run := range runs {
			at := slices.IndexFunc(tr.launches, func(l *traceSlice) bool {
				return l.start == run.Start && l.end == run.Start+run.Critical()
			})
			if at < 0 {
				t.Fatalf("no launch from %v to %v", run.Start, run.Start+run.Critical())
			}
			tr.criticalPath(t, tr.launches[at], longest)
		}
	})
}

// serveByWorkers returns a program in which workers run the kernel of p and then a short
// kernel. They wait before, between and after the kernels.
func serveByWorkers(p Program) Program {
	body := p.Body
	p.Body, p.Serve = nil, func(w *Worker) {
		wait := func(n int) { w.SleepUntil(w.Now() + simtime.Time(n*(w.Rank()+1))*123_457) }
		wait(1)
		w.runKernel("first", body)
		wait(2)
		w.runKernel("second", func(t *tl.PE) { spendCalls(t, 3) })
		wait(1)
	}
	return p
}
