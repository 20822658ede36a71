package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/simtime"
)

// journal is a handler that records the time and the arguments of each call.
type journal struct {
	eng *Engine
	log []string
}

func (j *journal) Handle(kind Kind, arg uint64) {
	j.log = append(j.log, fmt.Sprintf("%v k%d a%d", j.eng.Now(), kind, arg))
}

func (j *journal) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := fmt.Sprint(j.log); got != fmt.Sprint(want) {
		t.Errorf("log = %v\nwant  %v", got, want)
	}
}

// TestEventsRunInOrder checks that events run in order of time, and events at the same time
// in the order in which they were scheduled.
func TestEventsRunInOrder(t *testing.T) {
	eng := New()
	j := &journal{eng: eng}
	target := eng.Register(j)
	eng.At(2*simtime.Nanosecond, target, 1, 10)
	eng.At(1*simtime.Nanosecond, target, 1, 11)
	eng.At(2*simtime.Nanosecond, target, 2, 12)
	eng.Post(3*simtime.Nanosecond, Event{Target: target, Kind: 3, Arg: 13})
	eng.Post(3*simtime.Nanosecond, Event{}) // does nothing
	if err := eng.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	j.expect(t, "1ns k1 a11", "2ns k1 a10", "2ns k2 a12", "3ns k3 a13")
	if eng.Events() != 4 {
		t.Errorf("Events() = %d, want 4", eng.Events())
	}
}

// RunUntil runs the events up to and including the time `at` and sets the clock to `at`,
// unless Pause interrupts the run. Processes that still wait are no error; the next run
// continues them.
func (e *Engine) RunUntil(ctx context.Context, at Time) error {
	if paused, err := e.run(ctx, at); paused || err != nil {
		return err
	}
	e.now = max(e.now, at)
	return nil
}

// TestRunUntilSetsTheClock checks that RunUntil sets the clock to the given time, and that
// scheduling an event before that time panics.
func TestRunUntilSetsTheClock(t *testing.T) {
	eng := New()
	j := &journal{eng: eng}
	target := eng.Register(j)
	eng.At(10, target, 0, 0)
	eng.At(11, target, 0, 1)
	ctx := context.Background()
	if err := eng.RunUntil(ctx, 10); err != nil || eng.Now() != 10 || len(j.log) != 1 {
		t.Fatalf("after RunUntil(10): err %v, now %d, %d events", err, eng.Now(), len(j.log))
	}
	if err := eng.RunUntil(ctx, 5000); err != nil || eng.Now() != 5000 || len(j.log) != 2 {
		t.Fatalf("after RunUntil(5000): err %v, now %d, %d events", err, eng.Now(), len(j.log))
	}
	eng.At(5000, target, 0, 2) // the current time is not in the past
	defer func() {
		if recover() == nil {
			t.Error("an event in the past was accepted")
		}
	}()
	eng.At(4999, target, 0, 3)
}

func TestStopEndsTheRun(t *testing.T) {
	eng := New()
	broken := errors.New("broken")
	eng.Go("a", func(p *Proc) { p.Sleep(1); eng.Stop(broken); p.Sleep(1); t.Error("ran on") })
	if err := eng.Run(context.Background()); err != broken {
		t.Errorf("Run = %v, want %v", err, broken)
	}
}

func TestLimitEndsTheRun(t *testing.T) {
	leakCheck(t)
	eng := New()
	eng.Limit = 10 * simtime.Nanosecond
	eng.Go("endless", func(p *Proc) {
		for {
			p.Sleep(3 * simtime.Nanosecond)
		}
	})
	err := eng.Run(context.Background())
	var limit *TimeLimit
	if !errors.As(err, &limit) || limit.Events != 4 || eng.Now() != 9*simtime.Nanosecond {
		t.Errorf("Run = %v at %v, want the limit after 4 events, at 9ns", err, eng.Now())
	}
	eng = New()
	eng.Limit = 10 * simtime.Nanosecond
	eng.Go("just in time", func(p *Proc) { p.Sleep(10 * simtime.Nanosecond) })
	if err := eng.Run(context.Background()); err != nil {
		t.Errorf("Run = %v, want it to end at its limit", err)
	}
}

func TestContextEndsTheRun(t *testing.T) {
	eng := New()
	ctx, cancel := context.WithCancelCause(context.Background())
	interrupted := errors.New("interrupted")
	eng.Go("endless", func(p *Proc) {
		for {
			p.Sleep(simtime.Nanosecond)
			if p.Now() == simtime.Microsecond {
				cancel(interrupted)
			}
		}
	})
	if err := eng.Run(ctx); err != interrupted {
		t.Fatalf("Run = %v, want %v", err, interrupted)
	}
	if eng.Now() > 3*simtime.Microsecond {
		t.Errorf("stopped only at %v", eng.Now())
	}
}

func TestTimeString(t *testing.T) {
	for _, c := range []struct {
		t    Time
		want string
	}{
		{0, "0ns"},
		{1, "0.000001ns"},
		{12_500_000, "12.5ns"},
		{-3 * simtime.Nanosecond, "-3ns"},
		{1234567890123, "1234567.890123ns"},
		{simtime.Never, "9223372036854.775807ns"},
	} {
		if got := c.t.String(); got != c.want {
			t.Errorf("Time(%d) = %s, want %s", int64(c.t), got, c.want)
		}
	}
}

func TestMulDiv(t *testing.T) {
	for _, c := range []struct {
		a, b, c uint64
		want    Time
	}{
		{256, 1e15, 128e9, 2e6},
		{1, 1e15, 3, 333_333_333_333_333},
		{2, 1e15, 3, 666_666_666_666_667},          // rounds to nearest
		{1 << 40, 1e15, 1e13, 109_951_162_777_600}, // the product needs 90 bits
		{1 << 63, 1 << 63, 1, simtime.Never},
		{1 << 62, 2, 1, simtime.Never},
	} {
		if got := simtime.MulDiv(c.a, c.b, c.c); got != c.want {
			t.Errorf("simtime.MulDiv(%d, %d, %d) = %d, want %d", c.a, c.b, c.c, got, c.want)
		}
	}
}

// TestPause checks that Pause interrupts Run after the current event, and that the next
// call of Run continues with the remaining events.
func TestPause(t *testing.T) {
	e := New()
	var ran []Time
	target := e.Register(callback(func() {
		ran = append(ran, e.Now())
		if e.Now() == 2 {
			e.Pause()
		}
	}))
	for at := Time(1); at <= 3; at++ {
		e.At(at, target, 0, 0)
	}
	p := e.Go("waits", func(p *Proc) { p.Park(&Cond{What: "a wake-up"}) })
	if err := e.Run(context.Background()); err != nil || len(ran) != 2 || e.Now() != 2 {
		t.Fatalf("paused run: %v, ran %v, at %v; want two events and time 2", err, ran, e.Now())
	}
	p.Wake()
	if err := e.Run(context.Background()); err != nil || len(ran) != 3 || !p.Done() {
		t.Fatalf("next run: %v, ran %v, process done %v; want all three", err, ran, p.Done())
	}
}

type callback func()

func (f callback) Handle(Kind, uint64) { f() }

// TestDocsOfBeats checks that the documentation page of the engine states the value of
// beatEvery.
func TestDocsOfBeats(t *testing.T) {
	page, err := os.ReadFile("../../docs/work/engine.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("every %d events", beatEvery); !strings.Contains(string(page), want) {
		t.Errorf("docs/work/engine.md does not say %q", want)
	}
}
