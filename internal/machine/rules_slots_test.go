package machine

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// slotWriteTime returns the time from the set-up of a send by PE a until n bytes are in a
// slot of PE b. `kind` says which memory holds the slots.
func (r *rig) slotWriteTime(kind topology.BufferKind, a, b PEID, n memory.Bytes) simtime.Time {
	r.Helper()
	return r.setup + r.transferTime(r.tcm(a), r.slotMemory(kind, b), n) + r.slotOverhead(kind)
}

// slotReadTime returns the time from the set-up of a receive by PE b until n bytes are
// copied out of a slot of PE b. `kind` says which memory holds the slots.
func (r *rig) slotReadTime(kind topology.BufferKind, b PEID, n memory.Bytes) simtime.Time {
	r.Helper()
	if kind == topology.BufferTCM { // read and written at the same time, at the speed of the slower port
		tcm := r.spec.PE.TCM
		return r.setup + tcm.Overhead + max(tcm.ReadBandwidth.Serialize(n), tcm.WriteBandwidth.Serialize(n))
	}
	return r.setup + r.transferTime(r.slotMemory(kind, b), r.tcm(b), n) + r.slotOverhead(kind)
}

// slotMemory returns the memory of the given kind that holds the slots of PE b's queues.
func (r *rig) slotMemory(kind topology.BufferKind, b PEID) memory.ID {
	return r.PE(b).Memory(bufferKinds[kind])
}

// slotOverhead returns how long an access to a slot takes in addition to the path. For HBM,
// this is 6 ns. For the other memories it is 0; the 2 ns of SRAM are part of the path.
func (r *rig) slotOverhead(kind topology.BufferKind) simtime.Time {
	if kind == topology.BufferHBM {
		return r.spec.PE.IPCQ.HBMOverhead
	}
	return 0
}

// departureTime returns the time from the set-up of the send of m, a message of n bytes, until
// the sender's kernel can end: when the last byte is in its slot or, between SIPs, when it has
// left the SIP.
func (r *rig) departureTime(m delivery, n memory.Bytes) simtime.Time {
	r.Helper()
	to := r.slotMemory(m.kind, m.b)
	links := r.findRoute(nil, r.tcm(m.a), to)
	for i, id := range links {
		if l := r.Graph.Link(id); r.Graph.Node(l.From).SIP != r.Graph.Node(l.To).SIP {
			return fabric.Departure(r.Hops(links[:i+1]), n, r.spec.System.Flit)
		}
	}
	return r.transferTime(r.tcm(m.a), to, n) + r.slotOverhead(m.kind)
}

// delivery is one message with a tile from PE a to PE b. Nothing else runs on the two PEs.
type delivery struct {
	kind topology.BufferKind
	a, b PEID
	n    int // elements of 2 B
}

var anyDelivery = rapid.Custom(func(t *rapid.T) delivery {
	m := delivery{
		kind: rapid.SampledFrom(topology.BufferKinds).Draw(t, "slots"),
		a:    anyPE.Draw(t, "from"), n: rapid.IntRange(0, 2048).Draw(t, "elements"),
	}
	m.b = (m.a + PEID(rapid.IntRange(1, 255).Draw(t, "distance"))) % 256
	if m.kind == topology.BufferHBM && m.n > 1024 { // the formula holds for up to 8 bursts, and for 16
		m.n = 2048
	}
	return m
})

// deliveryTimes are times after the start: when the sender continues, when the message is
// visible to the receiver, when a command fetches it from TCM, and when each PE ends.
type deliveryTimes struct{ sent, visible, fetched, sender, receiver simtime.Time }

// send sends the message on a new, idle machine r in the default fidelity and returns its
// times.
func (m delivery) send(t tester, sets ...string) (r *rig, got deliveryTimes) {
	t.Helper()
	return m.sendWith(t, fabric.Train, sets...)
}

// sendWith builds a machine r with the fidelity fid and sends the message while nothing
// else runs on r. It returns r and the times of the message.
func (m delivery) sendWith(t tester, fid fabric.Fidelity, sets ...string) (r *rig, got deliveryTimes) {
	t.Helper()
	r = newRig(t, Options{Fidelity: fid, Log: true}, sets...)
	idle := r.callsFor(r.scheduler + r.fullTime(m.n, 2))
	run := r.run(Program{Targets: []PEID{m.a, m.b}, Links: pair(m.a, m.b), Queues: topology.IPCQ{BufferKind: m.kind}, Body: perRank(func(t *tl.PE) {
		x := t.Zeros(tl.Shape{m.n}, tl.F16)
		spendCalls(t, idle)
		t.Send(tl.East, x)
		got.sent = r.clock(t)
	}, func(t *tl.PE) {
		x := t.Recv(tl.West, tl.Shape{m.n}, tl.F16)
		got.visible = r.clock(t)
		x.Neg()
	})})
	got.sent, got.visible, got.fetched = got.sent-run.Start, got.visible-run.Start, r.op(oplog.Math).Start-run.Start
	got.sender, got.receiver = run.ExecOf(m.a), run.ExecOf(m.b)
	return r, got
}

// TestQueueMessageTakesItsFormula checks the times of a message without contention. The
// sender continues after one dispatch. Its kernel ends when the last byte is in the slot or has
// left the SIP. The receiver sees the message when its last byte is
// in the slot. The message is in TCM when it has been copied out of the slot:
//
//	visible = sent + scheduler + set-up + path to the slot (+ 6 ns to HBM)
//	in TCM  = visible + set-up + path out of the slot (+ 6 ns from HBM)
//
// A command that reads the message is dispatched at once. It fetches the message when the
// message is in TCM.
func TestQueueMessageTakesItsFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyDelivery.Draw(t, "message")
		r, got := m.send(t, anyPESets.Draw(t, "sets")...)
		size := memory.Bytes(2 * m.n)
		idle := r.callsFor(r.scheduler + r.fullTime(m.n, 2))
		want := deliveryTimes{sent: simtime.Time(1+idle+1) * r.dispatch}
		want.visible = want.sent + r.scheduler + r.slotWriteTime(m.kind, m.a, m.b, size)
		want.fetched = max(want.visible+r.slotReadTime(m.kind, m.b, size), want.visible+r.callTime(1))
		neg := pe.CommandTime(r.spec.PE, size, pe.MathTime(r.spec.PE.Math, r.spec.PE.Math.Cycles.Simple, m.n), size)
		want.sender, want.receiver = want.sent+r.scheduler+r.setup+r.departureTime(m, size), want.fetched+neg
		if got != want {
			t.Fatalf("%+v: %+v, want %+v", m, got, want)
		}
	})
}

// TestAKernelEndsWithItsLastReceive checks that a kernel whose last operation is a receive
// ends when the message is in TCM.
func TestAKernelEndsWithItsLastReceive(t *testing.T) {
	for _, kind := range topology.BufferKinds {
		r := newRig(t, Options{})
		var visible simtime.Time
		run := r.run(Program{Targets: []PEID{0, 9}, Links: pair(0, 9), Queues: topology.IPCQ{BufferKind: kind}, Body: perRank(func(t *tl.PE) {
			t.Send(tl.East, t.Zeros(tl.Shape{1024}, tl.F16))
		}, func(t *tl.PE) {
			t.Recv(tl.West, tl.Shape{1024}, tl.F16)
			visible = r.clock(t)
		})})
		same(t, string(kind)+": the receiver ends at", run.Start+run.ExecOf(9), visible+r.slotReadTime(kind, 9, 2048))
	}
}

// TestTCMSlotsAreFastest checks that slots in TCM are never slower than slots in SRAM or
// HBM.
func TestTCMSlotsAreFastest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyDelivery.Draw(t, "message")
		ends := map[topology.BufferKind]simtime.Time{}
		for _, kind := range topology.BufferKinds {
			m.kind = kind
			_, got := m.send(t)
			ends[kind] = got.receiver
		}
		if tcm := ends[topology.BufferTCM]; tcm > ends[topology.BufferSRAM] || tcm > ends[topology.BufferHBM] {
			t.Fatalf("%d elements from PE %d to %d end at %v, want tcm the earliest", m.n, m.a, m.b, ends)
		}
	})
}

// TestLatencyRisesWithHopsAndBytes checks that the latency of a message rises with its
// distance and its size, for all three kinds of slots.
func TestLatencyRisesWithHopsAndBytes(t *testing.T) {
	for _, kind := range topology.BufferKinds {
		var before simtime.Time
		// The receivers are in the same cube; one, two and three cubes away in the same
		// row; one and three rows down from there; and in the other SIP.
		for _, b := range []PEID{1, 8, 16, 24, 24 + 32, 24 + 96, 128 + 24 + 96} {
			_, got := delivery{kind, 0, b, 128}.send(t)
			took := got.fetched - got.sent
			if took <= before {
				t.Errorf("%s: to PE %d it takes %v, want more than the %v of the nearer PE", kind, b, took, before)
			}
			before = took
		}
		before = 0
		for _, n := range []int{0, 1, 64, 128, 129, 256, 512, 1024, 2048} {
			_, got := delivery{kind, 0, 100, n}.send(t)
			took := got.fetched - got.sent
			if took <= before {
				t.Errorf("%s: %d elements take %v, want more than the %v of fewer elements", kind, n, took, before)
			}
			before = took
		}
	}
}

// TestSlotsAreAllocatedAndRunOut checks that slots are allocated at the start of a launch
// and freed at its end, and that a launch fails if there is not enough memory for them.
func TestSlotsAreAllocatedAndRunOut(t *testing.T) {
	const slots = 4 * 4096
	for kind, c := range map[topology.BufferKind]struct {
		set, want string
	}{
		topology.BufferHBM: {"cube.hbm.slice_size=40 KiB",
			"launch k: slots of the queue sip0.cube0.pe0 port2 -> sip0.cube0.pe1 port0: sip0.cube0.hbm1: out of memory: asked 16KiB aligned to 256B, free 8KiB of 40KiB, largest block 8KiB; free something, ask for less, or raise cube.hbm.slice_size in the topology"},
		topology.BufferSRAM: {"cube.sram.size=80 KiB",
			"launch k: slots of the queue sip0.cube0.pe1 port0 -> sip0.cube0.pe0 port2: sip0.cube0.sram: out of memory: asked 16KiB aligned to 256B, free 0B of 80KiB, largest block 0B; free something, ask for less, or raise cube.sram.size in the topology"},
		topology.BufferTCM: {"pe.tcm.size=160 KiB", ""}, // the smallest that is valid with 8 ports
	} {
		r := newRig(t, Options{}, c.set)
		var used [3]memory.Bytes
		p := Program{Targets: []PEID{0, 1}, Queues: topology.IPCQ{BufferKind: kind}, Body: func(*tl.PE) {
			used[0] = r.Memory(r.slotMemory(kind, 0)).Allocator.Used()
			used[1] = r.Memory(r.slotMemory(kind, 1)).Allocator.Used()
		}}
		for i := range 2 {
			p.Links = append(p.Links, Connection{0, tl.Numbered(i), 1, tl.Numbered(1 - i)})
		}
		r.run(p)
		used[2] = r.Memory(r.slotMemory(kind, 0)).Allocator.Used()
		want := [3]memory.Bytes{2 * slots, 2 * slots, 0}
		if kind == topology.BufferSRAM { // both PEs share the SRAM
			want = [3]memory.Bytes{4 * slots, 4 * slots, 0}
		}
		same(t, string(kind)+" used at PE 0, at PE 1, after the launch", used, want)

		r = newRig(t, Options{}, c.set)
		p.Links = []Connection{{0, tl.Numbered(1), 1, tl.Numbered(1)}, {0, tl.Numbered(0), 1, tl.Numbered(2)}, {0, tl.Numbered(2), 1, tl.Numbered(0)}}
		_, err := r.try(p)
		switch {
		case c.want == "" && err != nil:
			t.Error(err)
		case c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("%s: %v, want %s", kind, err, c.want)
		}
		same(t, string(kind)+" used after the failed launch", r.Memory(r.slotMemory(kind, 0)).Allocator.Used(), 0)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
