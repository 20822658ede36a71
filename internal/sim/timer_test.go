package sim

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestTimers checks that timers fire in order of time, and timers at the same time in order
// of creation, after all events of that instant. A stopped timer must not fire.
func TestTimers(t *testing.T) {
	eng := New()
	var got string
	note := func(text string) func() {
		return func() { got += fmt.Sprintf(" %s at %v", text, eng.Now()) }
	}
	eng.AfterFunc(7, note("c"))
	eng.AfterFunc(5, note("a"))
	b := eng.AfterFunc(5, note("b"))
	eng.AfterFunc(5, func() {
		eng.AfterFunc(0, note("d"))
		b.Stop() // has fired
	})
	stopped := eng.AfterFunc(6, note("stopped"))
	late := eng.AfterFunc(1000, note("late"))
	eng.Go("p", func(p *Proc) { p.Sleep(5); stopped.Stop(); stopped.Stop(); note("p")(); p.Sleep(3) })
	if err := eng.RunUntil(context.Background(), 4); err != nil || got != "" {
		t.Errorf("error %v and%s by 4 fs", err, got)
	}
	eng.At(8, eng.Register(callback(func() { late.Stop() })), 0, 0)
	if err := eng.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	const want = " p at 0.000005ns a at 0.000005ns b at 0.000005ns d at 0.000005ns c at 0.000007ns"
	if got != want || eng.Now() != 8 {
		t.Errorf("got%s, and it is %v, want%s and 8 fs", got, eng.Now(), want)
	}
	(*Timer)(nil).Stop()
}

// TestTimersBeforeADeadlock checks three cases. A timer before the limit wakes a waiting
// process. An event after the limit makes Run return a *TimeLimit. A timer after the limit
// does not: Run returns a *Deadlock.
func TestTimersBeforeADeadlock(t *testing.T) {
	for _, event := range []bool{false, true} {
		eng := New()
		eng.Limit = 10
		p := eng.Go("p", func(p *Proc) { p.Park(nil); p.Park(nil) })
		eng.AfterFunc(9, func() {
			before := eng.Idle()
			if p.Wake(); eng.Idle() || before == event {
				t.Errorf("with an event behind the limit %v: idle %v, and %v with a process to wake", event, before, eng.Idle())
			}
		})
		eng.AfterFunc(11, p.Wake)
		if event {
			eng.At(12, eng.Register(callback(func() {})), 0, 0)
		}
		err := eng.Run(context.Background())
		var limit *TimeLimit
		var stuck *Deadlock
		if errors.As(err, &limit) != event || errors.As(err, &stuck) == event || eng.Now() != 9 {
			t.Errorf("with an event behind the limit %v: Run = %v at %v", event, err, eng.Now())
		}
	}
}
