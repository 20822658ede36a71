package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// TestSelectReturnsTheFirstReadyCase checks that Select returns the first case in its list
// that is ready, and that it takes one dispatch.
func TestSelectReturnsTheFirstReadyCase(t *testing.T) {
	north, south := tl.CanRecv(tl.North), tl.CanRecv(tl.South)
	space, signal := tl.CanSend(tl.East, tl.Shape{64}, tl.F16), tl.CanSignal(0, tl.GE, 1)
	const late = 1000
	for _, c := range []struct {
		name   string
		counts [4]int // messages from the north, the south, the east, the west
		cases  []tl.Case
		want   int
	}{
		{"message for the first", [4]int{1, 0}, []tl.Case{north, south}, 0},
		{"message for the second", [4]int{0, 1}, []tl.Case{north, south}, 1},
		{"both", [4]int{1, 1}, []tl.Case{north, south}, 0},
		{"both, in the opposite order", [4]int{1, 1}, []tl.Case{south, north}, 0},
		{"a message and a free slot", [4]int{1, 0}, []tl.Case{north, space}, 0},
		{"no message, but a free slot", [4]int{1, 0}, []tl.Case{south, signal, space}, 2},
		{"a signal that is 0", [4]int{1, 0}, []tl.Case{south, tl.CanSignal(0, tl.EQ, 0), north}, 1},
	} {
		r := newRig(t, Options{})
		got, took := -1, simtime.Time(0)
		r.run(gather(c.counts, func(t *tl.PE) {
			spendCalls(t, late)
			took = -r.clock(t)
			got = t.Select(c.cases...)
			took += r.clock(t)
			for i, n := range c.counts {
				for range n {
					t.Recv(compass[i], tl.Shape{64}, tl.F16)
				}
			}
		}))
		same(t, c.name+": case", got, c.want)
		same(t, c.name+": it takes", took, r.dispatch)
	}
}

// TestSelectLetsOtherPEsCatchUp checks that Select sees every message and signal that other
// PEs send up to the current time of its CPU. The simulation of the CPU runs ahead of the
// other PEs, so Select must wait for them.
func TestSelectLetsOtherPEsCatchUp(t *testing.T) {
	space := tl.CanSend(tl.West, tl.Shape{64}, tl.F16)
	for _, c := range []struct {
		name  string
		cases []tl.Case
		want  int
	}{
		{"a message that has arrived", []tl.Case{tl.CanRecv(tl.West), space}, 0},
		{"a signal that has changed", []tl.Case{tl.CanSignal(0, tl.EQ, 0), space}, 1},
		{"a signal that is set", []tl.Case{tl.CanSignal(0, tl.EQ, 0), tl.CanSignal(0, tl.EQ, 1)}, 1},
	} {
		r := newRig(t, Options{})
		var got int
		r.run(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Body: perRank(func(t *tl.PE) {
			t.Notify(1, 0, tl.Set, 1)
			t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
		}, func(t *tl.PE) {
			for range 1000 {
				t.Zeros(tl.Shape{1}, tl.F16)
			}
			got = t.Select(c.cases...)
			t.Recv(tl.West, tl.Shape{64}, tl.F16)
		})})
		same(t, c.name+": case", got, c.want)
	}
}

// TestSelectWaitsForAMessage checks that Select returns when the first fragment of a
// message is visible, like RecvAny. A message that an earlier RecvAsync will receive does
// not count.
func TestSelectWaitsForAMessage(t *testing.T) {
	r := newRig(t, Options{})
	var index int
	var at simtime.Time
	idle := r.callsFor(r.scheduler + r.fullTime(4096, 2))
	run := r.run(Program{
		Targets: []PEID{0, 9, 2}, Links: []Connection{{0, tl.North, 9, tl.Parent}, {0, tl.West, 2, tl.Parent}},
		Body: perRank(func(t *tl.PE) {
			h := t.RecvAsync(tl.North, tl.Shape{64}, tl.F16)
			index = t.Select(tl.CanRecv(tl.North), tl.CanRecv(tl.West))
			at = r.clock(t)
			t.Recv(tl.West, tl.Shape{4096}, tl.F16)
			h.Wait()
		}, func(t *tl.PE) {
			t.Send(tl.Parent, t.Zeros(tl.Shape{64}, tl.F16))
		}, func(t *tl.PE) {
			x := t.Zeros(tl.Shape{4096}, tl.F16)
			spendCalls(t, idle)
			t.Send(tl.Parent, x)
		}),
	})
	same(t, "case", index, 1)
	same(t, "Select returns at", at-run.Start, r.callTime(1+idle+1)+r.slotWriteTime(topology.BufferTCM, 2, 0, 4096))
}

// fullQueue is a sender that fills its queue with messages of one slot each and then waits
// in Select until it can send a message of several fragments. The receiver begins late and
// returns the credits one by one.
type fullQueue struct {
	b                PEID // the receiver; PE 0 sends
	slots, fragments int
}

// run runs the sender and the receiver on a new machine r. `began` is the time at which
// Select begins to wait, and `at` is the time at which it returns. `credit` is the time at
// which Select should return by the formula: when a credit for each fragment has arrived.
// If there are fewer slots than fragments, a credit for each slot is enough.
func (x fullQueue) run(t tester, sets ...string) (r *rig, began, at, credit simtime.Time) {
	t.Helper()
	r = newRig(t, Options{}, append(sets, set("pe.ipcq.n_slots", x.slots), "pe.ipcq.slot_size=256 B")...)
	late := r.callsFor(2 * simtime.Microsecond)
	large := tl.Shape{128 * x.fragments}
	run := r.run(Program{Targets: []PEID{0, x.b}, Links: pair(0, x.b), Body: perRank(func(t *tl.PE) {
		m, next := t.Zeros(tl.Shape{128}, tl.F16), t.Zeros(large, tl.F16)
		for range x.slots {
			t.Send(tl.East, m)
		}
		began = r.clock(t) + r.dispatch
		t.Select(tl.CanSend(tl.East, large, tl.F16))
		at = r.clock(t)
		t.Send(tl.East, next)
		if x.fragments <= x.slots {
			same(r.tester, "the send takes", r.clock(t)-at, r.dispatch)
		}
	}, func(t *tl.PE) {
		spendCalls(t, late)
		for range x.slots {
			t.Recv(tl.West, tl.Shape{128}, tl.F16)
		}
		t.Recv(tl.West, large, tl.F16)
	})})
	tcm := r.spec.PE.TCM
	var copied simtime.Time
	for k := range min(x.fragments, x.slots) {
		copied = max(copied, r.callTime(late+1+k)+r.setup) + tcm.Overhead + max(tcm.ReadBandwidth.Serialize(256), tcm.WriteBandwidth.Serialize(256))
	}
	return r, began - run.Start, at - run.Start, copied + r.creditTime(0, x.b)
}

var anyFullQueue = rapid.Custom(func(t *rapid.T) fullQueue {
	return fullQueue{PEID(rapid.IntRange(1, 255).Draw(t, "to")), rapid.IntRange(1, 6).Draw(t, "slots"), rapid.IntRange(1, 9).Draw(t, "fragments")}
})

// TestSelectWaitsForCredits checks that Select returns when the last credit that the
// message needs has returned, and that the following Send does not wait.
func TestSelectWaitsForCredits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyFullQueue.Draw(t, "case")
		_, _, at, credit := x.run(t)
		if at != credit {
			t.Fatalf("%+v: Select returns at %v, want %v", x, at, credit)
		}
	})
}

// TestSelectPollsForCredits checks that Select, like Send, polls for credits every
// poll_cycles cycles if back-pressure is configured as poll.
func TestSelectPollsForCredits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyFullQueue.Draw(t, "case")
		x.fragments = min(x.fragments, x.slots) // so that the send does not poll as well
		cycles := rapid.IntRange(1, 500).Draw(t, "poll cycles")
		r, began, at, credit := x.run(t, "pe.ipcq.backpressure=poll", set("pe.ipcq.poll_cycles", cycles))
		period := r.spec.PE.CPU.Clock.Cycles(cycles)
		polls := (credit - began + period - 1) / period
		if want := began + polls*period; at != want {
			t.Fatalf("%+v: Select returns at %v, want %v: %d polls, %v apart, from %v on", x, at, want, polls, period, began)
		}
		if got, want := r.PE(0).Polled, polls*period; got != want {
			t.Fatalf("%v is spent on polling, want %v", got, want)
		}
	})
}

// TestSelectWaitsForASignal checks that Select returns when its comparison with a signal
// becomes true. It must not return at earlier changes of the signal or at changes of other
// signals.
func TestSelectWaitsForASignal(t *testing.T) {
	r := newRig(t, Options{})
	var at simtime.Time
	const idle = 300
	run := r.run(Program{Targets: []PEID{0, 9}, Body: perRank(func(t *tl.PE) {
		t.Select(tl.CanSignal(7, tl.GE, 2))
		at = r.clock(t)
	}, func(t *tl.PE) {
		t.Notify(0, 7, tl.Add, 1)
		t.Notify(0, 8, tl.Add, 2)
		spendCalls(t, idle)
		t.Notify(0, 7, tl.Add, 1)
	})})
	same(t, "Select returns at", at-run.Start, simtime.Time(2+idle+1)*r.dispatch+r.notifyTime(9, 0))
}

// TestSelectReturnsAtTheFirstEvent runs a Select that waits for a credit, a message and a
// signal. It checks that Select returns at the time of the first of the three. In two
// cases, the message or the signal arrives while a credit is in flight.
func TestSelectReturnsAtTheFirstEvent(t *testing.T) {
	const far, early, late = PEID(255), 2000, 4000
	for _, c := range []struct {
		name            string
		taken           int // calls before the receiver of the full queue receives a message
		message, signal int // calls before the message and the notification are sent
		want            int
	}{
		{"credit", early, late, late, 0},
		{"message", late, early, late, 1},
		{"signal", late, late, early, 2},
		{"message while a credit is in flight", early, early + 10, late, 1},
		{"signal while a credit is in flight", early, late, early + 10, 2},
	} {
		r := newRig(t, Options{})
		var index int
		var at simtime.Time
		run := r.run(Program{
			Targets: []PEID{0, far, 1, 2}, Links: append(pair(0, far), Connection{0, tl.North, 1, tl.Parent}),
			Body: perRank(func(t *tl.PE) {
				x := t.Zeros(tl.Shape{64}, tl.F16)
				for range 4 {
					t.Send(tl.East, x)
				}
				index = t.Select(tl.CanSend(tl.East, tl.Shape{64}, tl.F16), tl.CanRecv(tl.North), tl.CanSignal(0, tl.EQ, 1))
				at = r.clock(t)
				t.Recv(tl.North, tl.Shape{64}, tl.F16)
			}, func(t *tl.PE) {
				spendCalls(t, c.taken)
				for range 4 {
					t.Recv(tl.West, tl.Shape{64}, tl.F16)
				}
			}, func(t *tl.PE) {
				x := t.Zeros(tl.Shape{64}, tl.F16)
				spendCalls(t, c.message)
				t.Send(tl.Parent, x)
			}, func(t *tl.PE) {
				spendCalls(t, c.signal)
				t.Notify(0, 0, tl.Set, 1)
			}),
		})
		begun := r.callTime(c.taken + 1)
		arrives := [3]simtime.Time{
			begun + r.slotReadTime(topology.BufferTCM, far, 128) + r.creditTime(0, far),
			r.callTime(1+c.message+1) + r.slotWriteTime(topology.BufferTCM, 1, 0, 128),
			simtime.Time(c.signal+1)*r.dispatch + r.notifyTime(2, 0),
		}
		if strings.Contains(c.name, "in flight") && !(begun < arrives[c.want] && arrives[c.want] < arrives[0]) {
			t.Errorf("%s: it arrives at %v, want between %v and %v", c.name, arrives[c.want], begun, arrives[0])
		}
		same(t, c.name+": case", index, c.want)
		same(t, c.name+": Select returns at", at-run.Start, arrives[c.want])
	}
}

// TestSelectFindsEveryMessage runs a kernel that receives only from the ports that Select
// returns. It checks that the kernel gets all messages, for any order of the cases, and
// that no receive waits.
func TestSelectFindsEveryMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var counts [4]int
		total := 0
		for i := range counts {
			counts[i] = rapid.IntRange(0, 12).Draw(t, compass[i].String())
			total += counts[i]
		}
		order := rapid.Permutation(compass).Draw(t, "order")
		slow := rapid.IntRange(0, 200).Draw(t, "calls between two receives")
		cases := make([]tl.Case, len(order))
		for i, port := range order {
			cases[i] = tl.CanRecv(port)
		}
		r := newRig(t, Options{})
		got, want := map[tl.Port]int{}, map[tl.Port]int{}
		for i, n := range counts {
			if n > 0 {
				want[compass[i]] = n
			}
		}
		r.run(gather(counts, func(t *tl.PE) { // the run fails if messages are left
			for range total {
				port := order[t.Select(cases...)]
				before := r.clock(t)
				t.Recv(port, tl.Shape{64}, tl.F16)
				same(r.tester, "the receive takes", r.clock(t)-before, r.dispatch)
				got[port]++
				spendCalls(t, slow)
			}
		}))
		if !maps.Equal(got, want) {
			t.Fatalf("messages from %v, want %v", got, want)
		}
	})
}

// TestSelectInADeadlock checks that the report of a deadlock names every case of a Select.
// A Select may wait for several peers. The cycle of waits in the report continues with the
// first of these peers whose kernel has not ended.
func TestSelectInADeadlock(t *testing.T) {
	r := newRig(t, Options{})
	ids := []PEID{0, 1, 2}
	d := r.deadlock(Program{Targets: ids, Links: ring(ids...), Body: perRank(func(t *tl.PE) {
		for range 4 {
			t.Send(tl.West, t.Zeros(tl.Shape{64}, tl.F16))
		}
		t.Select(tl.CanSignal(1, tl.LT, 0), tl.CanSend(tl.West, tl.Shape{4096}, tl.F16), tl.CanRecv(tl.East))
	}, func(t *tl.PE) {
		t.Recv(tl.West, tl.Shape{64}, tl.F16)
	}, func(*tl.PE) {})})
	want := []string{
		"signal 1 LT 0, or room for 8KiB in the queue sip0.cube0.pe0 west -> sip0.cube0.pe2 east, or a message on the queue sip0.cube0.pe1 west -> sip0.cube0.pe0 east",
		"a message [64] f16 on the queue sip0.cube0.pe0 east -> sip0.cube0.pe1 west",
	}
	var got []string
	for _, b := range d.Blocked {
		got = append(got, b.On)
	}
	if !slices.Equal(got, want) {
		t.Errorf("waits for\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	same(t, "cycle", fmt.Sprint(d.Cycle), "[k@sip0.cube0.pe0 k@sip0.cube0.pe1]")
}

// TestSelectMisuseIsAnError checks that a case with a port or signal that does not exist is
// an error, even if an earlier case is ready.
func TestSelectMisuseIsAnError(t *testing.T) {
	ready := tl.CanSend(tl.East, tl.Shape{64}, tl.F16)
	for _, c := range []struct {
		cases []tl.Case
		want  string
	}{
		{[]tl.Case{ready, tl.CanRecv(tl.North)}, "no port north: this PE has east"},
		{[]tl.Case{tl.CanSend(tl.Child(0), tl.Shape{1}, tl.F16)}, "no port child0: this PE has east"},
		{[]tl.Case{ready, tl.CanSignal(-1, tl.EQ, 0)}, "no signal -1: a PE has 0 to 65535"},
		{[]tl.Case{tl.CanSignal(65536, tl.EQ, 0)}, "no signal 65536: a PE has 0 to 65535"},
	} {
		r := newRig(t, Options{})
		e := r.failure(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Body: perRank(func(t *tl.PE) { t.Select(c.cases...) }, func(*tl.PE) {})})
		same(t, "operation", e.Op, "Select")
		same(t, e.Shapes, e.Err.Error(), c.want)
	}
}

// TestEndlessSelectIsAnError runs an endless loop of Select on a machine where calls take
// no simulated time. It checks that the run fails because the number of calls is limited.
func TestEndlessSelectIsAnError(t *testing.T) {
	if raceDetector {
		t.Skip("too slow with the race detector")
	}
	r := newPresetRig(t, Options{}, "alpha_beta")
	e := r.failure(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Body: perRank(func(t *tl.PE) {
		for {
			t.Select(tl.CanSend(tl.East, tl.Shape{64}, tl.F16))
		}
	}, func(*tl.PE) {})})
	if want := "16777216 operations in a row took no time"; !strings.HasPrefix(e.Err.Error(), want) {
		t.Errorf("the loop ends with %v, want %s", e.Err, want)
	}
}
