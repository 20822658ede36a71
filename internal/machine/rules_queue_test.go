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

// creditTime is a credit's way back from PE b to PE a: the latency of the reverse path,
// and 16 B at its bottleneck.
func (r *rig) creditTime(a, b PEID) (t simtime.Time) {
	r.Helper()
	var slowest simtime.Time
	for _, hop := range r.path(r.tcm(b), r.tcm(a)) {
		t += hop.Latency
		slowest = max(slowest, hop.Bandwidth.Serialize(r.spec.PE.IPCQ.CreditBytes))
	}
	return t + slowest
}

// blocked is a sender that fills its queue and sends once more, to a receiver that
// takes its first message `late` after the start.
type blockedSender struct {
	delivery
	slots int
	late  simtime.Time
}

// after is when the sender goes on after each send, and credit when the formula says
// that its last one has a credit.
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
	x.n = min(x.n, 128) // so that all are there when the first is taken
	return x
})

// A sender goes on after a dispatch cycle as long as it has credits. Then it sleeps
// until the first one is back: when the first message is copied out, and the credit has
// come its way.
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
				t.Fatalf("%+v: the sender goes on after send %d at %v, want %v", x, i, at, want)
			}
		}
	})
}

// A sender that polls looks every poll_cycles from when it began to: its wait is the
// sleeper's, rounded up to whole periods, and all of it costs PE cycles.
func TestPollRoundsTheWaitUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyBlockedSender.Draw(t, "case")
		cycles := rapid.IntRange(1, 500).Draw(t, "poll cycles")
		r, after, credit := x.run(t, "pe.ipcq.backpressure=poll", set("pe.ipcq.poll_cycles", cycles))
		period := r.spec.PE.CPU.Clock.Cycles(cycles)
		began := after[x.slots-1] + r.dispatch
		looks := (credit - began + period - 1) / period
		if got, want := after[x.slots], began+looks*period; got != want {
			t.Fatalf("%+v: the sender goes on at %v, want %v: %d looks, %v apart, from %v on", x, got, want, looks, period, began)
		}
		if got, want := r.PE(x.a).Polled, looks*period; got != want {
			t.Fatalf("%v is spent on polling, want %v", got, want)
		}
	})
}

// A sender that sleeps spends nothing on polling.
func TestSleepCostsNoCycles(t *testing.T) {
	r, _, _ := blockedSender{delivery{topology.BufferTCM, 0, 1, 64}, 4, simtime.Microsecond}.run(t)
	same(t, "spent on polling", r.PE(0).Polled, 0)
}

// lane is the links of a path, each the definition's own server:
// D(i,k) = max(D(i,k-1), A(i,k)) + ser(i), A(i+1,k) = D(i,k) + latency(i).
type pathModel struct {
	hops []fabric.Hop
	left []simtime.Time
}

// carry is when a flit of n bytes that sets out at an instant arrives.
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

// A message of more fragments than the ring has slots flows through it: each fragment
// sets out when there is a credit, is copied out when it is there, and gives its credit
// back. The receiver goes on with the last byte and not before. With slots of a flit,
// every time follows from the definitions.
func TestLargeMessagesArePipelinedThroughTheRing(t *testing.T) {
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
		way := pathModel{hops: r.path(r.tcm(a), r.tcm(b))}
		tcm := r.spec.PE.TCM
		pass := tcm.Overhead + max(tcm.ReadBandwidth.Serialize(256), tcm.WriteBandwidth.Serialize(256))
		var credits []simtime.Time
		var arrived, copied simtime.Time
		for k := range fragments {
			if k >= slots {
				cpu = max(cpu, credits[k-slots])
			}
			arrived = way.carry(cpu+r.scheduler+r.setup, 256)
			copied = max(copied, max(arrived, recv+r.scheduler)+r.setup) + pass
			credits = append(credits, copied+r.creditTime(a, b))
		}
		if got := sent - run.Start; got != cpu {
			t.Fatalf("the sender goes on at %v, want %v", got, cpu)
		}
		if got, want := visible-run.Start, max(recv, arrived); got != want {
			t.Fatalf("the receiver goes on at %v, want %v: with the last byte", got, want)
		}
		if got, want := r.op(oplog.Math).Start-run.Start, max(copied, max(recv, arrived)+r.callTime(1)); got != want {
			t.Fatalf("the tile is fetched from %v, want %v", got, want)
		}
	})
}

// A message that the ring has room for, of several whole slots, arrives as one
// transfer of its size does, and is visible with its last byte.
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

// flow is what an observer of the links sees of a queue: flits that have left the
// sender's TCM and are not in the receiver's yet.
type flitChange struct {
	at    simtime.Time
	flits int
}

// Whatever is sent, and however late it is taken: what has left the sender and is not
// taken out of its slot never exceeds n_slots × slot_size, and reaches it when the
// receiver is late.
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
		if total >= slots*flits { // the receiver lets the queue fill
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

// fills is how many flits fit into slots, in fragments of at most so many.
func flitsThatFit(sizes []int, slots, flits int) (in int) {
	for _, n := range sizes {
		for ; n > 0 && slots > 0; slots-- {
			in += min(n, flits)
			n -= flits
		}
	}
	return in
}

// A message of no bytes, to memory, takes no time, but its credit does not go back before
// the receiver's clock is where it asks for it.
func TestCreditOfNoBytes(t *testing.T) {
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
		for range late { // without a look at what others do
			t.Zeros(tl.Shape{1}, tl.F16)
		}
		t.RecvInto(tl.West, y, tl.Shape{0}, tl.F16)
		t.RecvInto(tl.West, y, tl.Shape{0}, tl.F16)
	})})
	same(t, "the second is sent at", at-run.Start, r.callTime(late+1)+r.creditTime(0, 9))
}

// A slot's credit goes back when its own copy has ended, also if that of the slot before it, to
// memory and begun earlier, ends between its beginning and its end.
func TestCreditOfALongCopyBehindAShortOne(t *testing.T) {
	r := newRig(t, Options{Log: true}, "pe.ipcq.n_slots=2", "pe.ipcq.slot_size=64KiB")
	y := r.tensor(9, 8)
	const long = 32 << 10
	var at simtime.Time
	r.run(Program{Targets: []PEID{0, 9}, Links: pair(0, 9), Body: perRank(func(t *tl.PE) {
		short, tile := t.Zeros(tl.Shape{8}, tl.F16), t.Zeros(tl.Shape{long}, tl.F16)
		t.Send(tl.East, short)
		t.Send(tl.East, tile)
		t.Send(tl.East, short) // into the first slot,
		t.Send(tl.East, short) // and into the second
		at = r.clock(t)
	}, func(t *tl.PE) {
		spendCalls(t, 2000) // both are there
		t.RecvInto(tl.West, y, tl.Shape{8}, tl.F16)
		t.Recv(tl.West, tl.Shape{long}, tl.F16)
		t.Recv(tl.West, tl.Shape{8}, tl.F16)
		t.Recv(tl.West, tl.Shape{8}, tl.F16)
	})})
	received := r.ops(oplog.Recv)
	if received[0].End >= received[1].End {
		t.Fatalf("the short one is copied at %v, want sooner than the long one, at %v", received[0].End, received[1].End)
	}
	same(t, "the second slot is used again at", at, received[1].End+r.creditTime(0, 9))
}
