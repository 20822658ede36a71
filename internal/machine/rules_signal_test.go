package machine

import (
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// window maps a tensor of n elements in the HBM of each PE. It returns these tensors, and
// the same memory as a window for Program.Windows.
func (r *rig) window(n int, ids ...PEID) ([]tl.Ptr, [][]memory.Part) {
	r.Helper()
	var ptrs []tl.Ptr
	var parts []memory.Part
	for _, id := range ids {
		p := r.tensor(id, n)
		p.Window = 1
		ptrs = append(ptrs, p)
		parts = append(parts, memory.Part{VA: r.va(p), Bytes: memory.Bytes(2 * n)})
	}
	return ptrs, [][]memory.Part{parts}
}

// notifyTime returns how long a notification of 16 B from PE a to PE b takes after its
// dispatch.
func (r *rig) notifyTime(a, b PEID) simtime.Time {
	r.Helper()
	return r.scheduler + r.setup + r.transferTime(r.tcm(a), r.tcm(b), r.spec.PE.IPCQ.CreditBytes)
}

// TestNotifyTakesItsFormula checks that a notification takes the sum of its dispatch, the
// scheduler, the DMA set-up and the time of 16 B on the path. A PE that waits for the
// notification must continue at that instant. A PE may also notify itself.
func TestNotifyTakesItsFormula(t *testing.T) {
	for _, b := range []PEID{1, 8, 100, 255} {
		r := newRig(t, Options{})
		var at simtime.Time
		run := r.run(Program{Targets: []PEID{0, b}, Body: perRank(func(t *tl.PE) {
			t.Notify(1, 7, tl.Set, 1)
		}, func(t *tl.PE) {
			t.WaitSignal(7, tl.EQ, 1)
			at = r.clock(t)
		})})
		same(t, "the waiting PE continues at", at-run.Start, r.dispatch+r.notifyTime(0, b))
	}
	r := newRig(t, Options{})
	var at simtime.Time
	run := r.run(Program{Targets: []PEID{0}, Body: func(t *tl.PE) {
		t.Notify(0, 0, tl.Add, 5)
		t.WaitSignal(0, tl.EQ, 5)
		at = r.clock(t)
	}})
	same(t, "a PE that notifies itself continues at", at-run.Start, r.dispatch+r.notifyTime(0, 0))
}

// TestEveryComparison checks the result of each comparison for signals that are less than,
// equal to and greater than the value of the comparison.
func TestEveryComparison(t *testing.T) {
	for _, c := range []struct {
		cmp  tl.Cmp
		want [3]bool // the results for 4, 5 and 6 compared with 5
	}{
		{tl.EQ, [3]bool{false, true, false}}, {tl.NE, [3]bool{true, false, true}},
		{tl.GT, [3]bool{false, false, true}}, {tl.GE, [3]bool{false, true, true}},
		{tl.LT, [3]bool{true, false, false}}, {tl.LE, [3]bool{true, true, false}},
	} {
		var got, waited [3]bool
		r := newRig(t, Options{})
		r.run(Program{Targets: []PEID{0}, Body: func(t *tl.PE) {
			for i, v := range []int{4, 5, 6} {
				t.Notify(0, i, tl.Set, v)
			}
			t.WaitSignal(2, tl.EQ, 6)
			for i := range got {
				if got[i] = t.Test(i, c.cmp, 5); c.want[i] {
					t.WaitSignal(i, c.cmp, 5) // never returns if the comparison is false
					waited[i] = true
				}
			}
		}})
		same(t, "4, 5, 6 compared with 5", got, c.want)
		same(t, "waits that end", waited, c.want)
	}
}

// TestTestDoesNotWait checks that the operation Test takes one dispatch and does not wait.
// It must see a notification from the instant of its arrival on.
func TestTestDoesNotWait(t *testing.T) {
	r := newRig(t, Options{})
	var last, first simtime.Time // the last Test that returns false, the first that returns true
	run := r.run(Program{Targets: []PEID{0, 1}, Body: perRank(func(t *tl.PE) {
		t.Notify(1, 0, tl.Set, 1)
	}, func(t *tl.PE) {
		for !t.Test(0, tl.GE, 1) {
			last = r.clock(t)
		}
		first = r.clock(t)
	})})
	arrives := run.Start + r.dispatch + r.notifyTime(0, 1)
	if !(last < arrives && arrives <= first && first == last+r.dispatch) {
		t.Errorf("the last false Test is at %v, the first true one at %v, want %v between them, and %v from one to the other", last, first, arrives, r.dispatch)
	}
}

// TestPutAndGetTakeTheirFormula checks that Put and Get take the closed-form time of a
// transfer between the TCM of the PE and the memory of the peer. If the peer is in another
// SIP, the request of a Get travels there first, and the acknowledgement of a Put back.
func TestPutAndGetTakeTheirFormula(t *testing.T) {
	for _, peer := range []PEID{1, 100, 255} {
		for _, n := range []int{1, 1024, 8192} {
			size := memory.Bytes(2 * n)
			r := newRig(t, Options{})
			x, windows := r.window(n, 0, peer)
			idle := r.callsFor(r.scheduler + r.fullTime(n, 2))
			run := r.run(Program{Targets: []PEID{0, peer}, Windows: windows, Body: perRank(func(t *tl.PE) {
				v := t.Zeros(tl.Shape{n}, tl.F16)
				spendCalls(t, idle)
				t.Put(1, x[0], v)
			}, func(*tl.PE) {})})
			same(t, "Put ends at", run.ExecOf(0), r.callTime(1+idle+1)+r.storeTime(r.hbm(peer), size))

			r = newRig(t, Options{})
			x, windows = r.window(n, 0, peer)
			run = r.run(Program{Targets: []PEID{0, peer}, Windows: windows, Body: perRank(func(t *tl.PE) {
				t.Get(1, x[0], tl.Shape{n}, tl.F16)
			}, func(*tl.PE) {})})
			same(t, "Get ends at", run.ExecOf(0), r.callTime(1)+r.loadTime(r.hbm(peer), size))
		}
	}
}

// TestWindowMisuseIsAnError checks that accesses to a window fail for peers and signals
// that do not exist, for pointers that are not into a window, and for elements outside of a
// peer's part of the window.
func TestWindowMisuseIsAnError(t *testing.T) {
	v := func(t *tl.PE) tl.Tile { return t.Zeros(tl.Shape{64}, tl.F16) }
	for _, c := range []struct {
		name string
		body func(t *tl.PE, x tl.Ptr)
		want string
	}{
		{"Put to a wrong peer", func(t *tl.PE, x tl.Ptr) { t.Put(2, x, v(t)) }, "no rank 2: this launch has ranks 0 to 1"},
		{"Get from a wrong peer", func(t *tl.PE, x tl.Ptr) { t.Get(-1, x, tl.Shape{64}, tl.F16) }, "no rank -1: this launch has ranks 0 to 1"},
		{"Notify of a wrong peer", func(t *tl.PE, x tl.Ptr) { t.Notify(2, 0, tl.Set, 1) }, "no rank 2: this launch has ranks 0 to 1"},
		{"wrong signal", func(t *tl.PE, x tl.Ptr) { t.Notify(1, 65536, tl.Set, 1) }, "no signal 65536: a PE has 0 to 65535"},
		{"wait for a wrong signal", func(t *tl.PE, x tl.Ptr) { t.WaitSignal(-1, tl.EQ, 0) }, "no signal -1: a PE has 0 to 65535"},
		{"test of a wrong signal", func(t *tl.PE, x tl.Ptr) { t.Test(65536, tl.EQ, 0) }, "no signal 65536: a PE has 0 to 65535"},
		{"scratch", func(t *tl.PE, x tl.Ptr) { t.Put(1, t.Scratch(tl.Shape{64}, tl.F16), v(t)) }, "the pointer is into no window: only tensor arguments of the launch are windows"},
		{"no such window", func(t *tl.PE, x tl.Ptr) { x.Window = 2; t.Put(1, x, v(t)) }, "the pointer is not into a window: pass a tensor argument of the launch, not scratch"},
		{"after the end", func(t *tl.PE, x tl.Ptr) { t.Put(1, x.At(1), v(t)) }, "elements 1 to 64 are not all in the shard of rank 1 of the window, which has 64: move the pointer, or mask what lies beyond"},
		{"before the start", func(t *tl.PE, x tl.Ptr) { t.Get(1, x.At(-1), tl.Shape{64}, tl.F16) }, "elements -1 to 62 are not all in the shard of rank 1 of the window, which has 64: move the pointer, or mask what lies beyond"},
	} {
		r := newRig(t, Options{})
		x, windows := r.window(64, 0, 1)
		e := r.failure(Program{Targets: []PEID{0, 1}, Windows: windows, Body: perRank(func(t *tl.PE) { c.body(t, x[0]) }, func(*tl.PE) {})})
		same(t, c.name, e.Err.Error(), c.want)
	}
	r := newRig(t, Options{})
	x, windows := r.window(64, 0, 1)
	windows[0][1].Bytes = 0
	e := r.failure(Program{Targets: []PEID{0, 1}, Windows: windows, Body: perRank(func(t *tl.PE) { t.Put(1, x[0], v(t)) }, func(*tl.PE) {})})
	same(t, "peer without a part", e.Err.Error(), "elements 0 to 63 are not all in the shard of rank 1 of the window, which has 0: move the pointer, or mask what lies beyond")
}

// TestAQueueOrdersMemory checks that a message becomes visible only when all earlier stores
// of its sender are in memory and all earlier reads have begun. Later stores do not delay
// the message.
func TestAQueueOrdersMemory(t *testing.T) {
	r := newRig(t, Options{Log: true})
	x, y := r.tensor(0, 65536), r.tensor(100, 65536)
	var visible simtime.Time
	r.run(Program{Targets: []PEID{0, 100}, Links: pair(0, 100), Body: perRank(func(t *tl.PE) {
		v := t.Zeros(tl.Shape{65536}, tl.F16)
		t.Store(y, v)
		t.Load(x, tl.Shape{65536}, tl.F16)
		t.Send(tl.East, t.Zeros(tl.Shape{1}, tl.F16))
		t.Store(y, v)
	}, func(t *tl.PE) {
		t.Recv(tl.West, tl.Shape{1}, tl.F16)
		visible = r.clock(t)
	})})
	stores := r.ops(oplog.Store)
	same(t, "the message is visible at", visible, stores[0].End)
	if stores[1].End <= visible {
		t.Errorf("the second store ends at %v, want after %v", stores[1].End, visible)
	}
}

// TestAQueueDoesNotWaitForComposites checks that a message does not wait for a composite
// that was issued before it. The result of a composite is visible to other PEs only after a
// Wait for the composite.
func TestAQueueDoesNotWaitForComposites(t *testing.T) {
	for _, wait := range []bool{false, true} {
		r := newRig(t, Options{Log: true})
		a, c := r.tensor(0, 128, 128), r.tensor(0, 128, 128)
		var visible simtime.Time
		r.run(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Body: perRank(func(t *tl.PE) {
			v := t.Zeros(tl.Shape{1}, tl.F16)
			x := t.Ref(a, tl.Shape{128, 128}, tl.F16)
			h := t.Composite(tl.Gemm(x, x, c))
			if wait {
				t.Wait(h)
			}
			t.Send(tl.East, v)
		}, func(t *tl.PE) {
			t.Recv(tl.West, tl.Shape{1}, tl.F16)
			visible = r.clock(t)
		})})
		end := r.op(oplog.Gemm).End
		want := end + r.dispatch + r.scheduler + r.slotWriteTime(topology.BufferTCM, 0, 1, 2)
		switch {
		case wait && visible != want:
			t.Errorf("after Wait the message is visible at %v, want %v", visible, want)
		case !wait && visible >= end:
			t.Errorf("the message is visible at %v, want before the composite ends at %v", visible, end)
		}
	}
}

// TestNotifyWaitsUntilTheLastReadBegins checks that a notification waits exactly until all
// earlier reads have begun. The last read begins late because its DMA channel already has
// the maximum number of requests in flight.
func TestNotifyWaitsUntilTheLastReadBegins(t *testing.T) {
	r := newRig(t, Options{Log: true})
	x := r.tensor(0, 1<<16)
	reads := r.spec.PE.DMA.Outstanding + 1
	r.run(Program{Targets: []PEID{0}, Body: func(t *tl.PE) {
		for i := range reads {
			t.Load(x.Add(i*2048), tl.Shape{2048}, tl.F16)
		}
		t.Notify(0, 0, tl.Set, 1)
		t.WaitSignal(0, tl.EQ, 1)
	}})
	loads, seen := r.ops(oplog.Load), r.op(oplog.Notify).End
	if last, first := loads[reads-1].Start, loads[0].End; last != first {
		t.Fatalf("the last read begins at %v, want when the first ends, at %v", last, first)
	}
	same(t, "the notification is seen at", seen, loads[reads-1].Start)
}

// TestOrderBetweenSIPs checks when a notification to another SIP is visible, which travels
// over idle links. PE 0 sends it after an access: a write to the same SIP must have ended
// there. Of an access elsewhere, PE 0 knows the end later, and its report must travel.
func TestOrderBetweenSIPs(t *testing.T) {
	const n, bytes = 8192, 16384
	for _, c := range []struct {
		name   string
		access func(t *tl.PE, x, y, z tl.Ptr)
		// effect returns when PE 0 knows that an access which reaches its DMA engine at the time
		// `at` has taken effect or, if same is set, when it ends in the SIP of the notification.
		effect func(r *rig, at simtime.Time) simtime.Time
		same   bool
	}{
		{"nothing", func(*tl.PE, tl.Ptr, tl.Ptr, tl.Ptr) {}, nil, true},
		{"write to the same SIP", func(t *tl.PE, _, y, _ tl.Ptr) { t.Store(y, t.Zeros(tl.Shape{n}, tl.F16)) }, func(r *rig, at simtime.Time) simtime.Time {
			return at + r.setup + r.transferTime(r.tcm(0), r.hbm(128), bytes)
		}, true},
		{"write to its own SIP", func(t *tl.PE, x, _, _ tl.Ptr) { t.Store(x, t.Zeros(tl.Shape{n}, tl.F16)) }, func(r *rig, at simtime.Time) simtime.Time {
			return at + r.storeTime(r.hbm(100), bytes)
		}, false},
		{"write to a third SIP", func(t *tl.PE, _, _, z tl.Ptr) { t.Store(z, t.Zeros(tl.Shape{n}, tl.F16)) }, func(r *rig, at simtime.Time) simtime.Time {
			return at + r.storeTime(r.hbm(256), bytes)
		}, false},
		{"read of a third SIP", func(t *tl.PE, _, _, z tl.Ptr) { t.Load(z, tl.Shape{n}, tl.F16) }, func(r *rig, at simtime.Time) simtime.Time {
			return at + r.setup + r.wayTime(r.tcm(0), r.hbm(256))
		}, false},
	} {
		r := newRig(t, Options{Log: true}, set("system.sips.count", 3))
		x, y, z := r.tensor(100, n), r.tensor(128, n), r.tensor(256, n)
		var called simtime.Time
		run := r.run(Program{Targets: []PEID{0, 128}, Body: perRank(func(t *tl.PE) {
			c.access(t, x, y, z)
			called = r.clock(t)
			t.Notify(1, 0, tl.Set, 1)
		}, func(t *tl.PE) {
			t.WaitSignal(0, tl.EQ, 1)
		})})
		ops := append(r.ops(oplog.Store), r.ops(oplog.Load)...)
		want := called - run.Start + r.dispatch + r.notifyTime(0, 128)
		if len(ops) > 0 {
			at := ops[0].Issue - run.Start + r.scheduler
			if made := r.ops(oplog.Full); len(made) > 0 { // the tile that is stored
				at = max(at, made[0].End-run.Start)
			}
			effect := c.effect(r, at)
			if !c.same {
				effect += r.wayTime(r.tcm(0), r.tcm(128))
			}
			if effect <= want {
				t.Errorf("%s: it has taken effect at %v, before the notification arrives at %v", c.name, effect, want)
			}
			want = effect
		}
		same(t, c.name, r.op(oplog.Notify).End-run.Start, want)
	}
}
