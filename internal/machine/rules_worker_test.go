package machine

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// runKernel runs a kernel on a worker and returns how long it takes.
func (w *Worker) runKernel(name string, body func(t *tl.PE)) simtime.Time {
	from := w.Now()
	w.Run(name, func(m tl.Machine) { body(tl.NewPE(m, name)) })
	return w.Now() - from
}

// waitReason is a text that says what a worker waits for.
type waitReason string

func (s waitReason) String() string { return string(s) }

// TestAWorkersKernelTakesAsLongAsALaunch checks that a kernel on a worker takes as long as
// in a launch by itself, to the femtosecond, independently of earlier kernels on the worker
// and of its start time.
func TestAWorkersKernelTakesAsLongAsALaunch(t *testing.T) {
	sq := tl.Shape{64, 64}
	kernels := []struct {
		name string
		body func(t *tl.PE, x, y tl.Ptr)
	}{
		{"nothing", func(t *tl.PE, x, y tl.Ptr) {}},
		{"load, product, store", func(t *tl.PE, x, y tl.Ptr) {
			a := t.Load(x, sq, tl.F16)
			t.Store(y, a.Dot(a).To(tl.F16).Add(1))
		}},
		{"a product that is not used", func(t *tl.PE, x, y tl.Ptr) { t.Zeros(sq, tl.F16).Dot(t.Zeros(sq, tl.F16)) }},
		{"a composite that it does not wait for", func(t *tl.PE, x, y tl.Ptr) {
			t.Composite(tl.Gemm(t.Ref(x, sq, tl.F16), t.Ref(x, sq, tl.F16), y))
		}},
		{"all of TCM", func(t *tl.PE, x, y tl.Ptr) {
			s := t.Scratch(tl.Shape{256, 1024}, tl.F16)
			t.Store(s, t.Load(x, sq, tl.F16).Pin())
			t.Store(y, t.Load(s, sq, tl.F16))
		}},
		{"a notification to itself", func(t *tl.PE, x, y tl.Ptr) {
			t.Notify(0, 0, tl.Set, 7)
			t.WaitSignal(0, tl.EQ, 7)
			t.Notify(0, 0, tl.Set, 0) // in flight when the kernel returns
		}},
	}
	for _, id := range []PEID{0, 100} {
		for _, sets := range [][]string{nil, {"pe.cpu.dispatch_cycles=0"}} {
			want := make([]simtime.Time, len(kernels))
			for i, k := range kernels {
				r := newRig(t, Options{}, sets...)
				x, y := r.tensor(0, 64, 64), r.tensor(id, 64, 64)
				want[i] = r.run(Program{Targets: []PEID{id}, Body: func(t *tl.PE) { k.body(t, x, y) }}).ExecOf(id)
			}
			r := newRig(t, Options{}, sets...)
			x, y := r.tensor(0, 64, 64), r.tensor(id, 64, 64)
			total := simtime.Time(0)
			run := r.run(Program{Targets: []PEID{id}, Serve: func(w *Worker) {
				for round := range 3 {
					for i, k := range kernels {
						took := w.runKernel(k.name, func(t *tl.PE) { k.body(t, x, y) })
						same(t, fmt.Sprintf("PE %d, round %d of %s with %v", id, round, k.name, sets), took, want[i])
						total += took
						w.SleepUntil(w.Now() + simtime.Time(i)*123_457) // not a multiple of a cycle
						total += simtime.Time(i) * 123_457
					}
				}
			}})
			same(t, "the launch takes", run.ExecOf(id), total)
		}
	}
}

// takeTurns lets two workers run kernels in turn, for the given number of rounds. Each
// worker wakes the other after its kernel. `began` has the start times of all kernels.
func takeTurns(r *rig, rounds int) (began []simtime.Time, run *Run) {
	workers := make([]*Worker, 2)
	turn := 0
	run = r.run(Program{Targets: []PEID{0, 100}, Serve: func(w *Worker) {
		workers[w.Rank()] = w
		for turn < rounds {
			for turn < rounds && turn%2 != w.Rank() {
				w.Wait(waitReason("its turn"))
			}
			if turn == rounds {
				break
			}
			began = append(began, w.Now())
			w.runKernel("task", func(t *tl.PE) { spendCalls(t, 10*(w.Rank()+1)) })
			turn++
			if other := workers[1-w.Rank()]; other != nil {
				other.Wake()
				other.Wake() // the second Wake does nothing
			}
		}
	}})
	return began, run
}

// TestWorkersTakeTurns checks that a worker continues at the instant at which the other
// worker wakes it.
func TestWorkersTakeTurns(t *testing.T) {
	r := newRig(t, Options{})
	began, run := takeTurns(r, 5)
	d := r.dispatch
	var got []simtime.Time
	for _, at := range began {
		got = append(got, at-run.Start)
	}
	if want := []simtime.Time{0, 10 * d, 30 * d, 40 * d, 60 * d}; !slices.Equal(got, want) {
		t.Errorf("tasks begin at %v, want %v", got, want)
	}
	same(t, "the launch takes", run.Critical(), 70*d)
}

// TestWakeEndsOnlyWait checks that Wake has no effect on a worker that runs a kernel or
// sleeps. Such a Wake does not end the next Wait of the worker either.
func TestWakeEndsOnlyWait(t *testing.T) {
	r := newRig(t, Options{})
	var first *Worker
	d := r.dispatch
	var ends [3]simtime.Time
	run := r.run(Program{Targets: []PEID{0, 1}, Serve: func(w *Worker) {
		if w.Rank() == 0 {
			first = w
			w.runKernel("long", func(t *tl.PE) { spendCalls(t, 100) })
			ends[0] = w.Now()
			w.SleepUntil(w.Now() + 100*d)
			ends[1] = w.Now()
			w.Wait(waitReason("the end"))
			ends[2] = w.Now()
			return
		}
		w.SleepUntil(w.Now() + 5*d)
		for range 20 {
			w.SleepUntil(w.Now() + 10*d)
			first.Wake()
		}
	}})
	for i, want := range []simtime.Time{100 * d, 200 * d, 205 * d} {
		same(t, fmt.Sprint("step ", i, " ends at"), ends[i]-run.Start, want)
	}
}

// TestSignalsOfAHome runs ranks that have the same home, the PE that holds their signals.
// It checks that these ranks use the same signals. A notification to any of these ranks
// takes as long as a notification to the home PE. When the notification arrives, every rank
// that waits for it continues.
func TestSignalsOfAHome(t *testing.T) {
	r := newPresetRig(t, Options{Log: true}, "default")
	sender := r.ID(1, 0, 0)
	targets := []PEID{sender, 2, 9} // PE 9 is in another cube than its home, PE 2
	var at, both [3]simtime.Time
	run := r.run(Program{Targets: targets, Homes: []PEID{sender, 2, 2}, Serve: func(w *Worker) {
		w.runKernel("k", perRank(func(t *tl.PE) {
			spendCalls(t, 20)
			t.Notify(2, 3, tl.Set, 1) // to rank 2, whose home is PE 2
			t.WaitSignal(0, tl.EQ, 2)
			at[0] = r.clock(t)
		}, func(t *tl.PE) {
			t.WaitSignal(3, tl.EQ, 1)
			at[1] = r.clock(t)
			t.Notify(2, 4, tl.Set, 1) // ranks 1 and 2 share the signal
			t.WaitSignal(4, tl.EQ, 1)
			both[1] = r.clock(t)
		}, func(t *tl.PE) {
			if t.Select(tl.CanSignal(5, tl.EQ, 1), tl.CanSignal(3, tl.EQ, 1)) == 1 {
				at[2] = r.clock(t)
			}
			t.WaitSignal(4, tl.EQ, 1)
			both[2] = r.clock(t)
			if t.Test(3, tl.EQ, 1) {
				t.Notify(0, 0, tl.Set, 2)
			}
		}))
	}})
	want := run.Start + 21*r.dispatch + r.notifyTime(sender, 2)
	same(t, "PE 2 continues at", at[1], want)
	same(t, "PE 9 continues at", at[2], want)
	want += r.dispatch + r.notifyTime(2, 2)
	same(t, "PE 2 continues again at", both[1], want)
	same(t, "PE 9 continues again at", both[2], want)
	same(t, "PE 128 continues at", at[0], want+2*r.dispatch+r.notifyTime(9, sender))
	for i, op := range r.ops(oplog.Notify)[:2] {
		same(t, fmt.Sprint("the rank that notification ", i, " is for"), op.Peer, 2)
	}
}

// TestSignalsOfHomesAreZeroAtTheStart checks that signals that several ranks share are 0 at
// the start of every launch.
func TestSignalsOfHomesAreZeroAtTheStart(t *testing.T) {
	r := newRig(t, Options{})
	for i := range 2 {
		var zero [2]bool
		_, err := r.Start(Program{Name: "k", Targets: []PEID{1, 0}, Homes: []PEID{0, 0}, Body: func(t *tl.PE) {
			zero[t.Rank()] = t.Test(0, tl.EQ, 0)
			t.Notify(t.Rank(), 0, tl.Add, 1)
			t.WaitSignal(0, tl.EQ, 2)
		}}, sim.Event{})
		if err != nil {
			t.Fatal(err)
		}
		r.mustRun(t)
		same(t, fmt.Sprintf("signal 0 is 0 at the start of launch %d", i), zero, [2]bool{true, true})
	}
	r.Close()
}

// TestErrorsNameTheWorkersKernel checks that an error of a worker's kernel has the name of
// this kernel, not of the launch.
func TestErrorsNameTheWorkersKernel(t *testing.T) {
	var late tl.Machine
	for _, c := range []struct {
		name string
		body func(t *tl.PE)
		want string
	}{
		{"receive", func(t *tl.PE) { t.RecvAsync(tl.East, tl.Shape{64}, tl.F16) }, "the kernel ended without having waited for the message"},
		{"port", func(t *tl.PE) { t.Recv(tl.West, tl.Shape{64}, tl.F16) }, "no port west: this PE has east"},
		{"late", func(t *tl.PE) { tl.NewPE(late, "late").Zeros(tl.Shape{64}, tl.F16) }, "its kernel has ended: a PE is for the kernel that was given it"},
	} {
		r := newRig(t, Options{})
		e := r.failure(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Serve: func(w *Worker) {
			if w.Rank() == 1 {
				w.Run("before", func(m tl.Machine) { late = m })
				return
			}
			w.SleepUntil(w.Now() + 1)
			w.runKernel(c.name, c.body)
		}})
		same(t, c.name, e.Err.Error(), c.want)
		same(t, "the kernel is", e.Kernel, c.name)
	}
}

// TestProgramErrors checks that a program fails to start if it has both or neither of Body
// and Serve. It also fails if Homes is not empty and does not have one PE of the launch for
// each rank.
func TestProgramErrors(t *testing.T) {
	body := func(*tl.PE) {}
	for _, c := range []struct {
		p    Program
		want string
	}{
		{Program{}, "launch k: it must have either a Body or a Serve"},
		{Program{Body: body, Serve: func(*Worker) {}}, "launch k: it must have either a Body or a Serve"},
		{Program{Body: body, Homes: []PEID{0}}, "launch k: 1 homes for 2 PEs: give one for each, or none at all"},
		{Program{Body: body, Homes: []PEID{0, 2}}, "launch k: the home of rank 1 is PE 2, which may be in another launch: choose one of this launch"},
	} {
		r := newRig(t, Options{})
		c.p.Targets = []PEID{0, 1}
		if _, err := r.try(c.p); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// TestDeadlockReportsOmitIdleWorkers checks that the report of a deadlock names idle
// workers only if all processes are idle. An idle worker waits for work.
func TestDeadlockReportsOmitIdleWorkers(t *testing.T) {
	for _, c := range []struct {
		name string
		busy bool
		want string
	}{
		{"one waits for a signal", true, "k@sip0.cube0.pe1 waits for signal 3 EQ 1"},
		{"all are idle", false, "serve@sip0.cube0.pe0 waits for a task; serve@sip0.cube0.pe1 waits for a task; serve@sip0.cube0.pe2 waits for a task"},
	} {
		r := newRig(t, Options{})
		d := r.deadlock(Program{Name: "serve", Targets: []PEID{0, 1, 2}, Serve: func(w *Worker) {
			if w.Rank() == 1 && c.busy {
				w.runKernel("k", func(t *tl.PE) { t.WaitSignal(3, tl.EQ, 1) })
			}
			w.Wait(waitReason("a task"))
		}})
		var got []string
		for _, b := range d.Blocked {
			got = append(got, b.Proc+" waits for "+b.On)
		}
		same(t, c.name, strings.Join(got, "; "), c.want)
	}
}

// TestTasksInTheLog checks that the op log has the names, numbers and dependencies of
// tasks, even if it does not record the lines of kernels.
func TestTasksInTheLog(t *testing.T) {
	r := newRig(t, Options{Log: true, NoLines: true})
	var ended oplog.ID
	var at [2][2]simtime.Time
	run := r.run(Program{Targets: []PEID{0, 100}, Serve: func(w *Worker) {
		if w.Rank() == 0 {
			w.Begin("first", 0, nil, 0)
			at[0][0] = w.Now()
			w.runKernel("first", func(t *tl.PE) { spendCalls(t, 10) })
			ended, at[0][1] = w.End(0), w.Now()
			return
		}
		w.SleepUntil(w.Now() + simtime.Microsecond)
		w.Begin("second", 7, []oplog.Operand{{From: ended}}, ended)
		at[1][0] = w.Now()
		w.runKernel("second", func(t *tl.PE) { t.Zeros(tl.Shape{64}, tl.F16) })
		w.End(7)
		at[1][1] = w.Now()
		w.Begin("second", 8, nil, 0)
	}})
	begin, end := r.ops(oplog.TaskBegin), r.ops(oplog.TaskEnd)
	type record struct {
		PE, Launch, Number int32
		At                 simtime.Time
		Name               string
		Cause              oplog.ID
		After              string
	}
	show := func(op oplog.Op) record {
		if op.Issue != op.Start || op.Issue != op.End {
			t.Errorf("%s is issued at %v, from %v to %v, want one instant", r.Log.Describe(op.ID), op.Issue, op.Start, op.End)
		}
		return record{op.PE, op.Launch, op.Peer, op.Start, r.Log.Lines[op.Line], op.Cause, fmt.Sprint(op.Args)}
	}
	log := run.LogID()
	after := fmt.Sprint([]oplog.Operand{{From: ended}})
	for _, c := range []struct{ got, want record }{
		{show(begin[0]), record{0, log, 0, at[0][0], "first", 0, "[]"}},
		{show(end[0]), record{0, log, 0, at[0][1], "", 0, "[]"}},
		{show(begin[1]), record{100, log, 7, at[1][0], "second", ended, after}},
		{show(end[1]), record{100, log, 7, at[1][1], "", 0, "[]"}},
		{show(begin[2]), record{100, log, 8, at[1][1], "second", 0, "[]"}},
	} {
		same(t, "task", c.got, c.want)
	}
	same(t, "lines", strings.Join(r.Log.Lines, " "), " first second")
}

// TestWorkersAllocateNothing checks that tasks, kernels and waits of workers allocate no Go
// memory if there is no op log.
func TestWorkersAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	r := newRig(t, Options{})
	x := r.tensor(0, 64)
	var first *Worker
	var before, after runtime.MemStats
	const warm, measured = 500, 1000
	what := new(waitReason)
	var failed error
	b := tl.Block{Ptr: x, Shape: oplog.Shape{Rank: 1, Dim: [4]int32{64}}, DType: tl.F16}
	b.Valid = b.Shape
	v := tl.Value{Shape: b.Shape, DType: b.DType}
	body := func(m tl.Machine) {
		failed = errors.Join(failed, m.Load(&v, b), m.Store(v, b))
	}
	r.run(Program{Targets: []PEID{0, 1}, Homes: []PEID{0, 0}, Serve: func(w *Worker) {
		if w.Rank() == 0 {
			first = w
			for i := range warm + measured {
				if i == warm {
					runtime.ReadMemStats(&before)
				}
				w.Wait(what)
			}
			runtime.ReadMemStats(&after)
			return
		}
		for i := range warm + measured {
			w.Begin("task", i, nil, 0)
			w.Run("task", body)
			w.End(i)
			first.Wake()
		}
	}})
	if n := after.Mallocs - before.Mallocs; failed != nil || n > 20 { // the Go runtime may allocate a few
		t.Errorf("%d objects allocated in 1,000 rounds, error %v, want none", n, failed)
	}
}

// BenchmarkWorker measures the simulation of two workers that run kernels in turn. The
// kernels make 10 and 20 calls.
func BenchmarkWorker(b *testing.B) {
	takeTurns(newRig(b, Options{}), b.N)
}
