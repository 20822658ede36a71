package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/simtime"
)

// leakCheck makes the test fail if goroutines that the test started are left when it ends.
func leakCheck(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for range 1000 { // the goroutine of a coroutine ends a few switches after its body
			if runtime.NumGoroutine() <= before {
				return
			}
			runtime.Gosched()
		}
		t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
	})
}

// TestProcessesInterleave runs a producer and two consumers that use one Cond, and checks
// the order of their steps.
func TestProcessesInterleave(t *testing.T) {
	leakCheck(t)
	eng := New()
	var log []string
	note := func(p *Proc, s string) { log = append(log, fmt.Sprintf("%v %s %s", p.Now(), p.Name(), s)) }
	var ready Cond
	have := 0
	for _, name := range []string{"a", "b"} {
		eng.Go(name, func(p *Proc) {
			p.WaitFor(&ready, func() bool { return have > 0 })
			have--
			note(p, "took")
		})
	}
	eng.Go("maker", func(p *Proc) {
		for range 2 {
			p.Sleep(simtime.Nanosecond)
			have++
			note(p, "made")
			ready.Broadcast()
		}
	})
	if err := eng.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := "1ns maker made; 1ns a took; 2ns maker made; 2ns b took"
	if got := strings.Join(log, "; "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBroadcastWakesInOrderOfArrival(t *testing.T) {
	eng := New()
	var c Cond
	var got []string
	for _, name := range []string{"a", "b", "c"} {
		eng.Go(name, func(p *Proc) { p.Wait(&c); got = append(got, p.Name()) })
	}
	eng.Go("waker", func(p *Proc) {
		for range 2 { // no process waits for the second one
			p.Sleep(1)
			c.Broadcast()
		}
	})
	if err := eng.Run(context.Background()); err != nil || fmt.Sprint(got) != "[a b c]" {
		t.Errorf("woken %v, err %v", got, err)
	}
}

// TestWakeTwiceIsOnce checks that a second Wake has no effect if the process has not run
// since the first Wake.
func TestWakeTwiceIsOnce(t *testing.T) {
	eng := New()
	woken := 0
	sleeper := eng.Go("sleeper", func(p *Proc) {
		for range 2 {
			p.Park(&Cond{What: "a wake-up"})
			woken++
		}
	})
	eng.Go("waker", func(p *Proc) {
		p.Sleep(1)
		sleeper.Wake()
		sleeper.Wake()
	})
	var dead *Deadlock
	if err := eng.Run(context.Background()); !errors.As(err, &dead) || woken != 1 {
		t.Errorf("woken %d times, want 1; err %v", woken, err)
	}
}

// TestWakeRemovesFromCond checks that a process that Wake has resumed no longer waits for
// its Cond: a later Broadcast does not wake it again.
func TestWakeRemovesFromCond(t *testing.T) {
	eng := New()
	var c Cond
	var got []string
	a := eng.Go("a", func(p *Proc) { p.Wait(&c); got = append(got, "a"); p.Sleep(10); got = append(got, "a2") })
	eng.Go("b", func(p *Proc) { p.Wait(&c); got = append(got, "b") })
	eng.Go("waker", func(p *Proc) { p.Sleep(1); a.Wake(); p.Sleep(1); c.Broadcast() })
	if err := eng.Run(context.Background()); err != nil || fmt.Sprint(got) != "[a b a2]" {
		t.Errorf("order %v, err %v", got, err)
	}
}

// TestPanicEndsTheRun checks that Run returns the error of a process that panics, and that
// the deferred calls of the other processes run.
func TestPanicEndsTheRun(t *testing.T) {
	leakCheck(t)
	eng := New()
	unwound := false
	eng.Go("victim", func(p *Proc) {
		defer func() { unwound = true }()
		p.Park(&Cond{})
	})
	boom := errors.New("boom")
	eng.Go("culprit", func(p *Proc) { p.Sleep(3); panic(boom) })
	err := eng.Run(context.Background())
	var pe *PanicError
	if !errors.As(err, &pe) || pe.Proc != "culprit" || pe.At != 3 || !errors.Is(err, boom) {
		t.Fatalf("Run = %v", err)
	}
	if !strings.Contains(string(pe.Stack), "TestPanicEndsTheRun") {
		t.Errorf("the stack does not show where:\n%s", pe.Stack)
	}
	if !unwound {
		t.Error("the other process was not unwound")
	}
}

// TestCancel checks Cancel for a process that waits, one that has not started, one that
// cancels itself, and one that has ended.
func TestCancel(t *testing.T) {
	leakCheck(t)
	eng := New()
	var log []string
	var c Cond
	body := func(p *Proc) {
		defer func() {
			log = append(log, p.Name()+" unwound")
			p.Sleep(1) // must not return in a cancelled process
			log = append(log, p.Name()+" slept")
		}()
		p.Wait(&c)
		log = append(log, p.Name()+" woken")
	}
	a, b := eng.Go("a", body), eng.Go("b", body)
	unborn := eng.Go("unborn", func(*Proc) { log = append(log, "never") })
	unborn.Cancel()
	eng.Go("self", func(p *Proc) { defer func() { log = append(log, "self unwound") }(); p.Cancel() })
	eng.Go("main", func(p *Proc) {
		p.Sleep(1)
		c.Broadcast() // also wakes a, which is cancelled before it runs
		a.Cancel()
		a.Cancel()
	})
	if err := eng.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := "self unwound; a unwound; b woken; b unwound; b slept"
	if got := strings.Join(log, "; "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !a.Done() || !b.Done() || !unborn.Done() {
		t.Error("not all done")
	}
}

// TestCancelledSleepDoesNotWakeSuccessor checks that the wake-up event of a cancelled
// process does not resume the next process with the same id.
func TestCancelledSleepDoesNotWakeSuccessor(t *testing.T) {
	eng := New()
	old := eng.Go("old", func(p *Proc) { p.Sleep(100) })
	var woke Time
	eng.Go("main", func(p *Proc) {
		p.Sleep(1)
		old.Cancel()
		eng.Go("new", func(p *Proc) { p.Sleep(500); woke = p.Now() })
	})
	if err := eng.Run(context.Background()); err != nil || woke != 501 {
		t.Errorf("woke at %d, want 501; err %v", woke, err)
	}
}

func TestCloseUnwindsLiveProcesses(t *testing.T) {
	leakCheck(t)
	eng := New()
	unwound := 0
	for range 10 {
		eng.Go("p", func(p *Proc) { defer func() { unwound++ }(); p.Sleep(simtime.Second) })
	}
	if err := eng.RunUntil(context.Background(), simtime.Nanosecond); err != nil {
		t.Fatal(err)
	}
	eng.Close()
	eng.Close()
	if unwound != 10 {
		t.Errorf("%d unwound, want 10", unwound)
	}
}

// held is a condition that the process `by` must fulfil.
type held struct {
	Cond
	by *Proc
}

func (h *held) HeldBy() *Proc { return h.by }

// TestDeadlockReport checks the text of a *Deadlock: what each process waits for, and the
// cycle of waits.
func TestDeadlockReport(t *testing.T) {
	leakCheck(t)
	eng := New()
	ab, ba := &held{Cond: Cond{What: "a reply from b"}}, &held{Cond: Cond{What: "a request from a"}}
	a := eng.Go("a", func(p *Proc) { p.Sleep(2 * simtime.Nanosecond); p.Park(ab) })
	b := eng.Go("b", func(p *Proc) { p.Park(ba) })
	eng.Go("c", func(p *Proc) { p.Park(ab) })
	ab.by, ba.by = b, a
	err := eng.Run(context.Background())
	want := `deadlock at 2ns: 3 processes wait and nothing can wake them
  a waits for a reply from b since 2ns
  b waits for a request from a since 0ns
  c waits for a reply from b since 0ns
  cycle: a -> b -> a`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

// idleOn is a condition that a process without work waits for.
type idleOn struct{ Cond }

func (*idleOn) Idle() bool { return true }

// TestDeadlockOmitsIdleProcesses checks that the report of a deadlock leaves out idle
// processes, unless all processes are idle.
func TestDeadlockOmitsIdleProcesses(t *testing.T) {
	for _, c := range []struct {
		idle, busy int
		want       string
	}{
		{2, 1, "deadlock at 0ns: 1 process waits and nothing can wake it\n  busy0 waits for a condition since 0ns"},
		{2, 0, "deadlock at 0ns: 2 processes wait and nothing can wake them\n  idle0 waits for work since 0ns\n  idle1 waits for work since 0ns"},
	} {
		leakCheck(t)
		eng := New()
		var never Cond
		work := &idleOn{Cond{What: "work"}}
		for i := range c.idle {
			eng.Go(fmt.Sprint("idle", i), func(p *Proc) { p.Park(work) })
		}
		for i := range c.busy {
			eng.Go(fmt.Sprint("busy", i), func(p *Proc) { p.Wait(&never) })
		}
		if err := eng.Run(context.Background()); err == nil || err.Error() != c.want {
			t.Errorf("%d idle, %d busy:\ngot  %v\nwant %v", c.idle, c.busy, err, c.want)
		}
	}
}

// numbered is a condition whose description consists of a kind, by which reports group
// waits, and a number.
type numbered struct{ kind, number int }

func (n numbered) String() string { return fmt.Sprintf("%s, number %d", n.Kind(), n.number) }
func (n numbered) Kind() string   { return fmt.Sprint("kind ", n.kind) }

// TestDeadlockReportIsBounded checks that the report of a large deadlock shows at most four
// kinds of waits, and at most six waits of each kind.
func TestDeadlockReportIsBounded(t *testing.T) {
	eng := New()
	for i := range 1000 {
		eng.Go(fmt.Sprint("p", i), func(p *Proc) { p.ParkFrom(numbered{i % 8, i}, Time(i)*simtime.Nanosecond) })
	}
	var d *Deadlock
	if err := eng.Run(context.Background()); !errors.As(err, &d) {
		t.Fatal(err)
	}
	if len(d.Blocked) != 1000 {
		t.Errorf("%d blocked, want 1000", len(d.Blocked))
	}
	want := "deadlock at 999ns: 1000 processes wait and nothing can wake them"
	for i := range 48 {
		if i%8 < 4 {
			want += fmt.Sprintf("\n  p%d waits for kind %d, number %d since %dns", i, i%8, i, i)
		}
	}
	for i := range 4 {
		want += fmt.Sprintf("\n  ... and 119 more for kind %d", i)
	}
	want += "\n  ... and 500 more in 4 other waits"
	if got := d.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestServer(t *testing.T) {
	var s Server
	for _, c := range []struct{ at, service, start, end Time }{
		{0, 10, 0, 10},
		{4, 5, 10, 15},
		{100, 1, 100, 101},
	} {
		if start, end := s.Serve(c.at, c.service); start != c.start || end != c.end {
			t.Errorf("Serve(%d, %d) = %d, %d, want %d, %d", c.at, c.service, start, end, c.start, c.end)
		}
	}
	if s.Busy != 16 || s.Free() != 101 {
		t.Errorf("counters %+v", s)
	}
	eng := New()
	var shared Server
	var ends []Time
	for range 3 {
		eng.Go("user", func(p *Proc) {
			_, end := shared.Serve(p.Now(), 7)
			p.SleepUntil(end)
			ends = append(ends, p.Now())
		})
	}
	if err := eng.Run(context.Background()); err != nil || fmt.Sprint(ends) != fmt.Sprint([]Time{7, 14, 21}) {
		t.Errorf("served until %v, err %v", ends, err)
	}
}

func TestSwitchAllocatesNothing(t *testing.T) {
	eng := New()
	defer eng.Close()
	var c Cond
	eng.Go("sleeper", func(p *Proc) {
		for {
			p.Sleep(1)
			c.Broadcast()
		}
	})
	eng.Go("waiter", func(p *Proc) {
		for {
			p.Wait(&c)
		}
	})
	ctx := context.Background()
	limit := Time(10)
	if err := eng.RunUntil(ctx, limit); err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(100, func() {
		limit += 10
		if err := eng.RunUntil(ctx, limit); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations per 20 switches, want 0", allocs)
	}
}

// TestPanicsOfOneInstant checks that the panics of all processes that panic at one instant
// are reported, and that later events do not run.
func TestPanicsOfOneInstant(t *testing.T) {
	eng := New()
	var got []string
	for i, after := range []Time{5, 7, 5, 5} {
		p := eng.Go(fmt.Sprint("p", i), func(p *Proc) {
			p.Sleep(after)
			if i == 3 {
				p.Sleep(1) // is unwound
			}
			panic(i)
		})
		p.Failed = func(err *PanicError) { got = append(got, fmt.Sprint(err.Proc, " at ", err.At)) }
	}
	err := eng.Run(context.Background())
	var first *PanicError
	if !errors.As(err, &first) || first.Proc != "p0" || fmt.Sprint(got) != "[p0 at 0.000005ns p2 at 0.000005ns]" || eng.Now() != 5 {
		t.Errorf("Run = %v at %v, and %v have failed", err, eng.Now(), got)
	}
}
