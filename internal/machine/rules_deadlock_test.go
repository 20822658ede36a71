package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// ring returns a neighbour table that connects the east port of each PE with the west port
// of the next PE, and the last PE with the first.
func ring(ids ...PEID) (links []Connection) {
	for i, id := range ids {
		links = append(links, Connection{id, tl.East, ids[(i+1)%len(ids)], tl.West})
	}
	return links
}

// deadlock runs a program that must end in a deadlock and returns the report of the
// deadlock.
func (r *rig) deadlock(p Program) *sim.Deadlock {
	r.Helper()
	_, err := r.try(p)
	var d *sim.Deadlock
	if !errors.As(err, &d) {
		r.Fatalf("the run ends with %v, want a *sim.Deadlock", err)
	}
	return d
}

// TestARingOfSendsIsADeadlock checks the deadlock report of a ring of PEs that all send and
// never receive. The report must contain the cycle and, for each PE, what it waits for, at
// which line and since when.
func TestARingOfSendsIsADeadlock(t *testing.T) {
	r := newRig(t, Options{})
	ids := []PEID{0, 1, 2, 3}
	since := map[string]simtime.Time{}
	var line string
	d := r.deadlock(Program{Name: "flood", Targets: ids, Links: ring(ids...), Body: func(t *tl.PE) {
		x := t.Zeros(tl.Shape{64}, tl.F16)
		for i := range 5 {
			if i == 4 {
				since[r.PE(ids[t.Rank()]).String()] = r.clock(t) + r.dispatch
			}
			line = lineBelow(1)
			t.Send(tl.East, x)
		}
	}})
	var cycle []string
	for i, id := range ids {
		from, to := r.PE(id), r.PE(ids[(i+1)%4])
		cycle = append(cycle, "flood@"+from.String())
		want := sim.Blocked{
			Proc: "flood@" + from.String(), On: fmt.Sprintf("a free slot of the queue %v east -> %v west", from, to),
			Kind: "a free slot", At: line, Since: since[from.String()],
		}
		if i < len(d.Blocked) {
			same(t, "blocked", d.Blocked[i], want)
		}
	}
	same(t, "blocked PEs", len(d.Blocked), 4)
	same(t, "cycle", strings.Join(d.Cycle, " "), strings.Join(cycle, " "))
	if want := "\n  cycle: " + strings.Join(cycle, " -> ") + " -> " + cycle[0]; !strings.HasSuffix(d.Error(), want) {
		t.Errorf("the report is %q, want %q at its end", d, want)
	}
}

// TestDeadlockIsFoundAfterFewEvents checks that a deadlock of all 256 PEs in a ring is
// reported after at most 100 events per PE.
func TestDeadlockIsFoundAfterFewEvents(t *testing.T) {
	r := newRig(t, Options{})
	ids := everyPE(r.Machine)
	d := r.deadlock(Program{Targets: ids, Links: ring(ids...), Body: func(t *tl.PE) {
		x := t.Zeros(tl.Shape{64}, tl.F16)
		for {
			t.Send(tl.East, x)
		}
	}})
	same(t, "blocked PEs", len(d.Blocked), 256)
	same(t, "PEs in the cycle", len(d.Cycle), 256)
	if events := r.Engine.Events(); events > 256*100 {
		t.Errorf("the deadlock is reported after %d events, want at most 100 for each PE", events)
	}
}

// BenchmarkDeadlock measures the time until the deadlock of a ring of 256 PEs, which send
// and never receive, is reported.
func BenchmarkDeadlock(b *testing.B) {
	for b.Loop() {
		r := newRig(b, Options{})
		ids := everyPE(r.Machine)
		r.deadlock(Program{Targets: ids, Links: ring(ids...), Body: func(t *tl.PE) {
			x := t.Zeros(tl.Shape{64}, tl.F16)
			for {
				t.Send(tl.East, x)
			}
		}})
	}
}

// TestWaitsThatNeverEndAreDeadlocks runs a kernel for each kind of wait that never ends. It
// checks that the deadlock report says what the PE waits for, at which line and since when.
func TestWaitsThatNeverEndAreDeadlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		body func(t *tl.PE, x tl.Ptr) // runs after 10 calls
		on   string
		kind string // the kind of wait; empty if it is the same text as `on`
		ends bool   // the report says that the peer has ended
	}{
		{"Recv", func(t *tl.PE, x tl.Ptr) { t.Recv(tl.East, tl.Shape{64}, tl.F16) },
			"a message [64] f16 on the queue sip0.cube0.pe1 west -> sip0.cube0.pe0 east", "a message [64] f16", true},
		{"RecvInto", func(t *tl.PE, x tl.Ptr) { t.RecvInto(tl.East, x, tl.Shape{64}, tl.F16) },
			"a message [64] f16 on the queue sip0.cube0.pe1 west -> sip0.cube0.pe0 east", "a message [64] f16", true},
		{"RecvAny", func(t *tl.PE, x tl.Ptr) { t.RecvAny(tl.Shape{64}, tl.F16) }, "a message on any port", "", true},
		{"WaitSignal", func(t *tl.PE, x tl.Ptr) { t.WaitSignal(3, tl.GE, 2) }, "signal 3 GE 2", "", false},
		{"Select", func(t *tl.PE, x tl.Ptr) { t.Select(tl.CanRecv(tl.East), tl.CanSignal(3, tl.GE, 2)) },
			"a message on the queue sip0.cube0.pe1 west -> sip0.cube0.pe0 east, or signal 3 GE 2", "a message, or signal 3 GE 2", false},
		{"Select of a queue", func(t *tl.PE, x tl.Ptr) { t.Select(tl.CanRecv(tl.East)) },
			"a message on the queue sip0.cube0.pe1 west -> sip0.cube0.pe0 east", "a message", true},
	} {
		r := newRig(t, Options{})
		x := r.tensor(0, 64)
		var start simtime.Time
		d := r.deadlock(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Body: perRank(func(t *tl.PE) {
			start = r.clock(t)
			spendCalls(t, 10)
			c.body(t, x)
		}, func(*tl.PE) {})})
		same(t, c.name+": blocked PEs", len(d.Blocked), 1)
		got := d.Blocked[0]
		if !strings.HasPrefix(got.At, "rules_deadlock_test.go:") {
			t.Errorf("%s: at %q, want a line of this file", c.name, got.At)
		}
		got.At = ""
		want := sim.Blocked{Proc: "k@sip0.cube0.pe0", On: c.on, Kind: cmp.Or(c.kind, c.on), Since: start + 11*r.dispatch}
		if c.ends {
			want.Ended = "k@sip0.cube0.pe1"
			if text := d.Error(); !strings.HasSuffix(text, ": k@sip0.cube0.pe1 has ended") {
				t.Errorf("%s: the report is %q, want it to say that the peer has ended", c.name, text)
			}
		}
		same(t, c.name, got, want)
		same(t, c.name+": the deadlock is at", d.At, got.Since) // not before the wait
		same(t, c.name+": cycle", len(d.Cycle), 0)
	}
}

// TestTCMSpaceThatNeverIsFreeIsADeadlock runs a kernel that needs more TCM while a tile
// that never arrives holds the space. It checks that the deadlock report says that the
// kernel waits for space in TCM.
func TestTCMSpaceThatNeverIsFreeIsADeadlock(t *testing.T) {
	r := newRig(t, Options{}, tcmSettings("16 KiB")...)
	x := r.tensor(0, 4096)
	d := r.deadlock(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Body: perRank(func(t *tl.PE) {
		t.RecvAsync(tl.East, tl.Shape{4096}, tl.F16)
		t.Load(x, tl.Shape{4096}, tl.F16)
		t.Load(x, tl.Shape{4096}, tl.F16)
	}, func(*tl.PE) {})})
	same(t, "blocked PEs", len(d.Blocked), 1)
	same(t, "it waits for", d.Blocked[0].On, "room in TCM")
}

// TestEndlessKernelsEndAtTheLimit checks that kernels that call the tile language in an
// endless loop fail at the limit of simulated time. The error must name the line of the
// kernel.
func TestEndlessKernelsEndAtTheLimit(t *testing.T) {
	for name, body := range map[string]func(t *tl.PE){
		"computes": func(t *tl.PE) {
			for {
				t.Zeros(tl.Shape{64}, tl.F16)
			}
		},
		"tests a signal": func(t *tl.PE) {
			for !t.Test(0, tl.EQ, 1) {
			}
		},
		"selects what is ready": func(t *tl.PE) {
			for {
				t.Select(tl.CanSend(tl.East, tl.Shape{64}, tl.F16))
			}
		},
		"selects a signal": func(t *tl.PE) {
			for {
				t.Select(tl.CanRecv(tl.East), tl.CanSignal(0, tl.EQ, 0))
			}
		},
		"sends and receives": func(t *tl.PE) {
			for {
				t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
				t.Recv(tl.West, tl.Shape{64}, tl.F16)
			}
		},
	} {
		r := newRig(t, Options{Limit: 20 * simtime.Microsecond})
		_, err := r.try(Program{Targets: []PEID{0, 1}, Links: ring(0, 1), Body: body})
		var limit *sim.TimeLimit
		if !errors.As(err, &limit) || limit.Limit != 20*simtime.Microsecond {
			t.Errorf("%s: the run ends with %v, want a *sim.TimeLimit of 20 µs", name, err)
		}
		if strings.Count(err.Error(), " at rules_deadlock_test.go:") != 1 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the run ends with %v, want one line of text with the line of the kernel", name, err)
		}
	}
}

// TestAPanicInAKernelNamesThePE checks that a panic in the code of a kernel ends the run
// with an error that names the PE and contains the value of the panic.
func TestAPanicInAKernelNamesThePE(t *testing.T) {
	r := newRig(t, Options{})
	_, err := r.try(Program{Name: "bad", Targets: []PEID{3, 9}, Body: perRank(func(t *tl.PE) { spendCalls(t, 100) }, func(t *tl.PE) {
		spendCalls(t, 5)
		panic("oops")
	})})
	var p *sim.PanicError
	if !errors.As(err, &p) || p.Proc != "bad@sip0.cube1.pe1" || p.Value != "oops" {
		t.Errorf("the run ends with %v, want the panic of bad@sip0.cube1.pe1", err)
	}
}

// TestARunEndsWithItsContext checks that a cancelled context ends a run whose kernel never
// ends.
func TestARunEndsWithItsContext(t *testing.T) {
	r := newRig(t, Options{})
	defer r.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancelled := errors.New("cancelled")
	_, err := r.Start(Program{Name: "k", Targets: []PEID{0}, Body: func(t *tl.PE) {
		for {
			t.Test(0, tl.EQ, -1)
			cancel(cancelled)
		}
	}}, sim.Event{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Engine.Run(ctx); !errors.Is(err, cancelled) {
		t.Errorf("the run ends with %v, want %v", err, cancelled)
	}
}
