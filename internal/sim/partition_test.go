package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kernbench/kernbench/simtime"
)

const lookahead = 10 * simtime.Nanosecond

// nodes is a handler for a thread, with a log for each partition, which all threads share. Each
// event schedules further events: of its own partition, or of another one after the lookahead.
type nodes struct {
	eng     *Engine
	target  Target
	colours []uint8
	log     []string
}

const (
	evStep Kind = iota
	evSplit
	evLeft
)

func (n *nodes) Handle(kind Kind, arg uint64) {
	part := n.eng.Current()
	n.log[part] += fmt.Sprintf("%v:%d ", n.eng.Now(), arg)
	switch kind {
	case evSplit:
		n.eng.Split([]int32{0, 1, 1, 1}, Event{n.target, evLeft, 0})
		for i := range int32(3) {
			n.eng.AtIn(i+1, n.eng.Now()+Time(i), n.target, evStep, 50)
			n.eng.GoIn(i+1, "kernel", func(p *Proc) {
				p.Sleep(Time(i+1) * 40 * lookahead)
				n.eng.Leave()
			})
		}
	case evStep:
		if arg == 0 {
			return
		}
		r := rand.New(rand.NewPCG(arg, uint64(part)))
		for range 1 + r.IntN(20)/19 {
			if in := 1 + r.Int32N(3); in != part {
				way := lookahead
				if n.colours != nil && n.colours[in] == n.colours[part] {
					way *= 2
				}
				n.eng.AtIn(in, n.eng.Now()+way+Time(r.IntN(3)), n.target, evStep, arg-1)
			} else {
				n.eng.At(n.eng.Now()+Time(r.IntN(3)), n.target, evStep, arg-1)
			}
		}
	}
}

// runNodes runs nodes of three partitions with some colours on some threads, with windows that
// vary chooses, or with the longest ones if vary is nil. It returns the logs of the partitions.
func runNodes(t *testing.T, colours []uint8, threads int, vary func(int) int) []string {
	e, log := New(), make([]string, 4)
	e.Vary = vary
	e.Partition(3, lookahead, colours, threads)
	target := e.RegisterEach(func(e *Engine) Handler { return &nodes{e, 1, colours, log} })
	e.At(0, target, evSplit, 7)
	if err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := e.Events(); n != uint64(strings.Count(strings.Join(log, ""), " "))+6 { // three processes start and wake up
		t.Errorf("%d threads: %d events, logs %q", threads, n, log)
	}
	return log
}

// TestWindows runs events that cross partitions, with windows of random lengths, in random
// orders and on several threads. The events of each partition must be the same, and the host
// must continue when the last process has left.
func TestWindows(t *testing.T) {
	for _, colours := range [][]uint8{nil, {0, 0, 1, 0}} {
		want := runNodes(t, colours, 1, nil)
		if n := strings.Count(want[1], " "); n < 40 {
			t.Fatalf("only %d events in partition 1", n)
		}
		if !strings.Contains(want[0], "1200ns:0 ") {
			t.Errorf("events of the host: %s, want one at the end of the last process, 1200ns", want[0])
		}
		for threads := 1; threads < 5; threads++ {
			for seed := range uint64(50) {
				got := runNodes(t, colours, threads, rand.New(rand.NewPCG(seed, 1)).IntN)
				if !slices.Equal(got[1:], want[1:]) {
					t.Fatalf("colours %d, seed %d, %d threads: events\n%s\nwant\n%s", colours, seed, threads, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		}
	}
}

// TestPanicInThread checks that a panic of a model in a partition that another thread runs
// panics in the goroutine of the run.
func TestPanicInThread(t *testing.T) {
	e := New()
	e.Partition(2, lookahead, nil, 2)
	target := e.Register(handlerFunc(func(Kind, uint64) { panic("a fault") }))
	e.Go("host", func(*Proc) {
		e.Split([]int32{0, 1, 1}, Event{})
		e.AtIn(2, 1, target, 0, 0)
	})
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), "a fault") {
			t.Errorf("Run panics with %v, want a fault", err)
		}
	}()
	e.Run(context.Background())
	t.Error("Run returned")
}

// TestSoonEventOfOtherPartition checks that an event of another partition within the lookahead
// is refused, since that partition may have passed its time.
func TestSoonEventOfOtherPartition(t *testing.T) {
	e := New()
	e.Partition(2, lookahead, nil, 2)
	e.Go("host", func(*Proc) {
		e.Split([]int32{0, 1, 1}, Event{})
		for i := range int32(2) {
			e.GoIn(i+1, "kernel", func(p *Proc) {
				p.Sleep(1)
				own := e.Of(i + 1)
				own.AtIn(2-i, own.Now()+lookahead-2, 0, 0, 0)
			})
		}
	})
	var failed *PanicError
	if err := e.Run(context.Background()); !errors.As(err, &failed) || !strings.Contains(fmt.Sprint(failed.Value), "partition 1 schedules an event of partition 2") {
		t.Errorf("Run = %v, want the panic of partition 1", err)
	}
}

// TestFailureInWindow checks that the earliest failure in a window is reported, and that the
// partitions that ran before it do not report later ones.
func TestFailureInWindow(t *testing.T) {
	for _, c := range []struct {
		at   [3]Time
		want string
	}{
		{[3]Time{7, 5, 6}, "kernel 2"}, {[3]Time{5, 5, 5}, "kernel 1"}, {[3]Time{9, 8, 3}, "kernel 3"},
	} {
		e := New()
		e.Partition(3, lookahead, nil, 2)
		var reported []string
		e.Go("host", func(*Proc) {
			e.Split([]int32{0, 1, 1, 1}, Event{})
			for i, at := range c.at {
				name := fmt.Sprint("kernel ", i+1)
				p := e.GoIn(int32(i+1), name, func(p *Proc) {
					p.Sleep(at)
					panic("a fault")
				})
				p.Failed = func(*PanicError) { reported = append(reported, name) }
			}
		})
		var failed *PanicError
		if err := e.Run(context.Background()); !errors.As(err, &failed) || failed.Proc != c.want || reported[0] != c.want {
			t.Errorf("failures at %v: Run = %v, reported %v, want %s", c.at, err, reported, c.want)
		}
		for _, name := range reported {
			if at := c.at[name[len(name)-1]-'1']; at != slices.Min(c.at[:]) {
				t.Errorf("failures at %v: %s is reported", c.at, name)
			}
		}
	}
}

// handlerFunc is a function as a handler.
type handlerFunc func(kind Kind, arg uint64)

func (f handlerFunc) Handle(kind Kind, arg uint64) { f(kind, arg) }

// TestJoin checks that the host gets the pending events of the partitions when it joins them,
// in order of time.
func TestJoin(t *testing.T) {
	e := New()
	e.Partition(2, lookahead, nil, 2)
	var order []uint64
	target := e.Register(handlerFunc(func(_ Kind, arg uint64) {
		order = append(order, arg)
	}))
	e.Go("host", func(p *Proc) {
		e.Split([]int32{0, 1, 1}, Event{})
		e.AtIn(1, 30*lookahead, target, 0, 3)
		e.AtIn(2, 10*lookahead, target, 0, 1)
		e.AtIn(2, 20*lookahead, target, 0, 2)
		p.Sleep(15 * lookahead)
		if !slices.Equal(order, []uint64{1}) {
			t.Errorf("events before the join: %d, want 1", order)
		}
		e.Join()
		if e.IsSplit() {
			t.Error("split after the join")
		}
	})
	if err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(order, []uint64{1, 2, 3}) {
		t.Errorf("order %d, want 1 2 3", order)
	}
}

// TestDeadlockOfPartitions checks that a run ends with a report if processes of partitions wait
// and no event is left.
func TestDeadlockOfPartitions(t *testing.T) {
	e := New()
	e.Partition(2, lookahead, nil, 2)
	e.Go("host", func(*Proc) {
		e.Split([]int32{0, 1, 1}, Event{})
		for i := range int32(2) {
			e.GoIn(i+1, fmt.Sprint("kernel ", i+1), func(p *Proc) {
				p.Sleep(Time(i+1) * 7 * lookahead)
				p.Wait(&Cond{What: "nothing"})
			})
		}
	})
	var d *Deadlock
	if err := e.Run(context.Background()); !errors.As(err, &d) || d.At != 14*lookahead || len(d.Blocked) != 2 {
		t.Errorf("Run = %v, want a deadlock of two processes at %v", err, 14*lookahead)
	}
}

// TestTimerBetweenWindows checks that a timer of the host fires after all events of its instant
// in the partitions, and before later ones.
func TestTimerBetweenWindows(t *testing.T) {
	e := New()
	e.Partition(2, lookahead, nil, 2)
	at := []Time{5*lookahead - 1, 5 * lookahead, 5*lookahead + 1}
	var ran atomic.Int32
	target := e.Register(handlerFunc(func(Kind, uint64) { ran.Add(1) }))
	e.Go("host", func(*Proc) {
		e.Split([]int32{0, 1, 1}, Event{})
		for _, in := range []int32{1, 2} {
			for _, t := range at {
				e.AtIn(in, t, target, 0, 0)
			}
		}
		e.AfterFunc(5*lookahead, func() {
			if ran.Load() != 4 || e.Now() != 5*lookahead || e.Idle() {
				t.Errorf("timer at %v after %d events, want %v and 4 of 6 events", e.Now(), ran.Load(), 5*lookahead)
			}
		})
	})
	if err := e.Run(context.Background()); err != nil || ran.Load() != 6 || !e.Idle() {
		t.Errorf("Run = %v after %d events, want 6", err, ran.Load())
	}
}
