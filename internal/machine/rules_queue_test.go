package machine

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// creditTime returns how long a credit takes from PE b back to PE a: the sum of the
// latencies on the path, and the time of the bytes of a credit on the slowest link of the
// path.
func (r *rig) creditTime(a, b PEID) (t simtime.Time) {
	r.Helper()
	var slowest simtime.Time
	for _, hop := range r.path(r.tcm(b), r.tcm(a)) {
		t += hop.Latency
		slowest = max(slowest, hop.Bandwidth.Serialize(r.spec.PE.IPCQ.CreditBytes))
	}
	return t + slowest
}

// blockedSender is a sender that fills all slots of its queue and then sends one more
// message, so that it must wait for a credit.
type blockedSender struct {
	delivery
	slots int
	late  simtime.Time // the time before the receiver receives its first message
}

// run runs the sender and the receiver on a new machine r. `after[i]` is the time at which
// the sender continues after message i. `credit` is the time, according to the formula, at
// which the credit for the first message arrives at the sender. The sender needs this
// credit for its last message.
func (x blockedSender) run(t tester, sets ...string) (r *rig, after []simtime.Time, credit simtime.Time) {
	t.Helper()
	r = newRig(t, Options{}, append(sets, set("pe.ipcq.n_slots", x.slots))...)
	idle, wait := r.callsFor(r.scheduler+r.fullTime(x.n, 2)), r.callsFor(x.late)
	run := r.run(Program{Targets: []PEID{x.a, x.b}, Links: pair(x.a, x.b), Queues: topology.IPCQ{BufferKind: x.kind}, Body: perRank(func(t *tl.PE) {
		m := t.Zeros(tl.Shape{x.n}, tl.F16)
		spendCalls(t, idle)
		for range x.slots + 1 {
			t.Send(tl.East, m)
			after = append(after, r.clock(t))
		}
	}, func(t *tl.PE) {
		spendCalls(t, wait)
		for range x.slots + 1 {
			t.Recv(tl.West, tl.Shape{x.n}, tl.F16)
		}
	})})
	for i := range after {
		after[i] -= run.Start
	}
	return r, after, r.callTime(wait+1) + r.slotReadTime(x.kind, x.b, memory.Bytes(2*x.n)) + r.creditTime(x.a, x.b)
}

var anyBlockedSender = rapid.Custom(func(t *rapid.T) blockedSender {
	x := blockedSender{anyDelivery.Draw(t, "message"), rapid.IntRange(1, 8).Draw(t, "slots"), 2 * simtime.Microsecond}
	x.n = min(x.n, 128) // so that all have arrived when the first is received
	return x
})

// TestSendIsFireAndForgetUntilCreditsRunOut checks that a sender continues after one
// dispatch as long as it has credits. Without credits, it sleeps until the first credit has
// returned. The receiver sends this credit when the first message has been copied out of
// its slot.
func TestSendIsFireAndForgetUntilCreditsRunOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyBlockedSender.Draw(t, "case")
		r, after, credit := x.run(t)
		idle := r.callsFor(r.scheduler + r.fullTime(x.n, 2))
		for i, at := range after {
			want := simtime.Time(1+idle+i+1) * r.dispatch
			if i == x.slots {
				want = credit
			}
			if at != want {
				t.Fatalf("%+v: the sender continues after send %d at %v, want %v", x, i, at, want)
			}
		}
	})
}

// TestPollRoundsTheWaitUp checks the wait of a sender that polls for a credit once per
// period of poll_cycles cycles. The sender waits as long as a sender that sleeps, rounded
// up to whole periods. All of this time counts as polling.
func TestPollRoundsTheWaitUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyBlockedSender.Draw(t, "case")
		cycles := rapid.IntRange(1, 500).Draw(t, "poll cycles")
		r, after, credit := x.run(t, "pe.ipcq.backpressure=poll", set("pe.ipcq.poll_cycles", cycles))
		period := r.spec.PE.CPU.Clock.Cycles(cycles)
		began := after[x.slots-1] + r.dispatch
		polls := (credit - began + period - 1) / period
		if got, want := after[x.slots], began+polls*period; got != want {
			t.Fatalf("%+v: the sender continues at %v, want %v: %d polls, %v apart, from %v on", x, got, want, polls, period, began)
		}
		if got, want := r.PE(x.a).Polled, polls*period; got != want {
			t.Fatalf("%v is spent on polling, want %v", got, want)
		}
	})
}

// TestSleepCostsNoCycles checks that a sender that sleeps spends no time on polling.
func TestSleepCostsNoCycles(t *testing.T) {
	r, _, _ := blockedSender{delivery{topology.BufferTCM, 0, 1, 64}, 4, simtime.Microsecond}.run(t)
	same(t, "spent on polling", r.PE(0).Polled, 0)
}

// pathModel is a model of the links of a path. Flit k arrives at link i at A(i,k) and
// leaves it at D(i,k) = max(D(i,k-1), A(i,k)) + ser(i), where ser(i) is its time on the
// link; A(i+1,k) = D(i,k) + latency(i).
type pathModel struct {
	hops []fabric.Hop
	left []simtime.Time // D(i,k) of the last flit; nil before the first
}

// carry returns when a flit of n bytes that is sent at the time `at` arrives at the end of
// the path.
func (l *pathModel) carry(at simtime.Time, n memory.Bytes) simtime.Time {
	if l.left == nil {
		l.left = make([]simtime.Time, len(l.hops))
	}
	for i, hop := range l.hops {
		l.left[i] = max(l.left[i], at) + hop.Bandwidth.Serialize(n)
		at = l.left[i] + hop.Latency
	}
	return at
}

// TestLargeMessagesArePipelinedThroughTheSlots sends a message of more fragments than the
// queue has slots. It checks that each fragment is sent when there is a credit and copied
// out of its slot when it has arrived. The copy returns the credit. The receiver continues
// when the last byte has arrived. With slots of one flit, the expected times are computed
// with pathModel.
func TestLargeMessagesArePipelinedThroughTheSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots, fragments := rapid.IntRange(1, 6).Draw(t, "slots"), rapid.IntRange(1, 40).Draw(t, "fragments")
		a := anyPE.Draw(t, "from")
		b := (a + PEID(rapid.IntRange(1, 255).Draw(t, "distance"))) % 256
		late := rapid.IntRange(0, 1000).Draw(t, "late")
		r := newRig(t, Options{Log: true}, set("pe.ipcq.n_slots", slots), "pe.ipcq.slot_size=256 B")
		n := 128 * fragments
		idle := r.callsFor(r.scheduler + r.fullTime(n, 2))
		var sent, visible simtime.Time
		run := r.run(Program{Targets: []PEID{a, b}, Links: pair(a, b), Body: perRank(func(t *tl.PE) {
			x := t.Zeros(tl.Shape{n}, tl.F16)
			spendCalls(t, idle)
			t.Send(tl.East, x)
			sent = r.clock(t)
		}, func(t *tl.PE) {
			spendCalls(t, late)
			x := t.Recv(tl.West, tl.Shape{n}, tl.F16)
			visible = r.clock(t)
			x.Neg()
		})})

		cpu, recv := simtime.Time(1+idle+1)*r.dispatch, simtime.Time(late+1)*r.dispatch
		path := pathModel{hops: r.path(r.tcm(a), r.tcm(b))}
		tcm := r.spec.PE.TCM
		copyTime := tcm.Overhead + max(tcm.ReadBandwidth.Serialize(256), tcm.WriteBandwidth.Serialize(256))
		var credits []simtime.Time
		var arrived, copied simtime.Time
		for k := range fragments {
			if k >= slots {
				cpu = max(cpu, credits[k-slots])
			}
			arrived = path.carry(cpu+r.scheduler+r.setup, 256)
			copied = max(copied, max(arrived, recv+r.scheduler)+r.setup) + copyTime
			credits = append(credits, copied+r.creditTime(a, b))
		}
		if got := sent - run.Start; got != cpu {
			t.Fatalf("the sender continues at %v, want %v", got, cpu)
		}
		if got, want := visible-run.Start, max(recv, arrived); got != want {
			t.Fatalf("the receiver continues at %v, want %v, the arrival of the last byte", got, want)
		}
		if got, want := r.op(oplog.Math).Start-run.Start, max(copied, max(recv, arrived)+r.callTime(1)); got != want {
			t.Fatalf("the tile is fetched at %v, want %v", got, want)
		}
	})
}

// TestFragmentsFollowEachOtherWithoutGaps sends messages that exactly fill one or more free
// slots. It checks that a message takes as long as one transfer of its size and becomes
// visible with its last byte.
func TestFragmentsFollowEachOtherWithoutGaps(t *testing.T) {
	for _, c := range []struct {
		b     PEID
		slots int
	}{{1, 1}, {1, 2}, {1, 4}, {100, 2}, {100, 4}, {255, 3}, {255, 4}} {
		r := newRig(t, Options{})
		n := 2048 * c.slots
		idle := r.callsFor(r.scheduler + r.fullTime(n, 2))
		var visible simtime.Time
		run := r.run(Program{Targets: []PEID{0, c.b}, Links: pair(0, c.b), Body: perRank(func(t *tl.PE) {
			x := t.Zeros(tl.Shape{n}, tl.F16)
			spendCalls(t, idle)
			t.Send(tl.East, x)
		}, func(t *tl.PE) {
			t.Recv(tl.West, tl.Shape{n}, tl.F16)
			visible = r.clock(t)
		})})
		same(t, fmt.Sprintf("%d slots to PE %d are visible at", c.slots, c.b), visible-run.Start,
			r.callTime(1+idle+1)+r.slotWriteTime(topology.BufferTCM, 0, c.b, memory.Bytes(2*n)))
	}
}

// flitChange is a time at which a flit leaves the sender's TCM (+1) or has been copied into
// the receiver's TCM (-1). The sum of all changes up to a time is the number of flits in
// flight at that time.
type flitChange struct {
	at    simtime.Time
	flits int // 1 or -1
}

// TestBackPressureBoundsBytesInFlight checks that the bytes that have left the sender and
// are still in slots or on links never exceed n_slots × slot_size, for random messages and
// delays of the receiver. If the receiver starts late enough, all slots fill.
func TestBackPressureBoundsBytesInFlight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]topology.BufferKind{topology.BufferSRAM, topology.BufferHBM}).Draw(t, "slots in")
		slots, flits := rapid.IntRange(1, 6).Draw(t, "slots"), rapid.IntRange(1, 4).Draw(t, "flits a slot")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 20), 1, 8).Draw(t, "flits of each message")
		late := rapid.SliceOfN(rapid.IntRange(0, 300), len(sizes), len(sizes)).Draw(t, "late")
		r := newRig(t, Options{Fidelity: fabric.Flit}, set("pe.ipcq.n_slots", slots), set("pe.ipcq.slot_size", 256*flits)+" B")
		total := 0
		for _, n := range sizes {
			total += n
		}
		if total >= slots*flits { // the receiver waits until the queue is full
			late[0] = 1500
		}

		first, _ := r.Graph.LinkBetween(r.Node(r.tcm(0)), r.Graph.PENode(0, 0, 0, topology.KindDMA))
		last, _ := r.Graph.LinkBetween(r.Graph.PENode(0, 1, 3, topology.KindDMA), r.Node(r.tcm(11)))
		var moves []flitChange
		r.Fabric.Observe(func(p fabric.Passage) {
			switch p.Link {
			case first:
				moves = append(moves, flitChange{p.Start, 1})
			case last:
				moves = append(moves, flitChange{p.End, -1})
			}
		})
		r.run(Program{Targets: []PEID{0, 11}, Links: pair(0, 11), Queues: topology.IPCQ{BufferKind: kind}, Body: perRank(func(t *tl.PE) {
			for _, n := range sizes {
				t.Send(tl.East, t.Zeros(tl.Shape{128 * n}, tl.F16))
			}
		}, func(t *tl.PE) {
			for i, n := range sizes {
				spendCalls(t, late[i])
				t.Recv(tl.West, tl.Shape{128 * n}, tl.F16)
			}
		})})

		slices.SortStableFunc(moves, func(a, b flitChange) int { return int(a.at - b.at) })
		now, most := 0, 0
		for _, m := range moves {
			now += m.flits
			most = max(most, now)
		}
		if most > slots*flits {
			t.Fatalf("%d B are in flight, want at most %d slots of %d B", 256*most, slots, 256*flits)
		}
		if full := flitsThatFit(sizes, slots, flits); late[0] == 1500 && most < full {
			t.Fatalf("%d B are in flight while the receiver waits, want at least %d", 256*most, 256*full)
		}
	})
}

// flitsThatFit returns how many flits of messages of the given sizes fit into the given
// number of slots. A slot holds one fragment, which has at most `flits` flits.
func flitsThatFit(sizes []int, slots, flits int) (in int) {
	for _, n := range sizes {
		for ; n > 0 && slots > 0; slots-- {
			in += min(n, flits)
			n -= flits
		}
	}
	return in
}

// TestCreditOfAnEmptyMessage sends messages of 0 B and receives them into memory, which
// takes no time. It checks that a credit does not return before the receiver has issued the
// receive. This must hold although the CPU of the receiver runs ahead of the simulation.
func TestCreditOfAnEmptyMessage(t *testing.T) {
	r := newRig(t, Options{}, "pe.ipcq.n_slots=1")
	y := r.tensor(9, 1)
	const late = 50
	var at simtime.Time
	run := r.run(Program{Targets: []PEID{0, 9}, Links: pair(0, 9), Body: perRank(func(t *tl.PE) {
		none := t.Zeros(tl.Shape{0}, tl.F16)
		t.Send(tl.East, none)
		t.Send(tl.East, none)
		at = r.clock(t)
	}, func(t *tl.PE) {
		for range late { // calls that do not wait for other PEs
			t.Zeros(tl.Shape{1}, tl.F16)
		}
		t.RecvInto(tl.West, y, tl.Shape{0}, tl.F16)
		t.RecvInto(tl.West, y, tl.Shape{0}, tl.F16)
	})})
	same(t, "the second is sent at", at-run.Start, r.callTime(late+1)+r.creditTime(0, 9))
}

// TestCreditOfALongCopyAfterAShortOne receives a short message into memory and then a long
// message into a tile. It checks that the credit of the second slot returns when the copy
// out of the second slot has ended. This must hold even if the copy out of the first slot
// ends while the second copy is in progress.
func TestCreditOfALongCopyAfterAShortOne(t *testing.T) {
	r := newRig(t, Options{Log: true}, "pe.ipcq.n_slots=2", "pe.ipcq.slot_size=64KiB")
	y := r.tensor(9, 8)
	const long = 32 << 10
	var at simtime.Time
	r.run(Program{Targets: []PEID{0, 9}, Links: pair(0, 9), Body: perRank(func(t *tl.PE) {
		short, tile := t.Zeros(tl.Shape{8}, tl.F16), t.Zeros(tl.Shape{long}, tl.F16)
		t.Send(tl.East, short)
		t.Send(tl.East, tile)
		t.Send(tl.East, short) // into the first slot
		t.Send(tl.East, short) // into the second slot
		at = r.clock(t)
	}, func(t *tl.PE) {
		spendCalls(t, 2000) // both messages have arrived
		t.RecvInto(tl.West, y, tl.Shape{8}, tl.F16)
		t.Recv(tl.West, tl.Shape{long}, tl.F16)
		t.Recv(tl.West, tl.Shape{8}, tl.F16)
		t.Recv(tl.West, tl.Shape{8}, tl.F16)
	})})
	received := r.ops(oplog.Recv)
	if received[0].End >= received[1].End {
		t.Fatalf("the short message is copied at %v, want before the long one, at %v", received[0].End, received[1].End)
	}
	same(t, "the second slot is used again at", at, received[1].End+r.creditTime(0, 9))
}
