package machine

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/ipcq"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// compass lists the ports of rank 0 in gather, in the order of RecvAny.
var compass = []tl.Port{tl.North, tl.South, tl.East, tl.West}

// gather returns a program in which rank i+1 sends counts[i] messages to port compass[i] of
// rank 0. Rank 0 runs the kernel `body`, which receives the messages.
func gather(counts [4]int, body func(t *tl.PE)) Program {
	p := Program{Targets: []PEID{0, 1, 2, 3, 4}, Body: func(t *tl.PE) {
		if t.Rank() == 0 {
			body(t)
			return
		}
		for range counts[t.Rank()-1] {
			t.Send(tl.Parent, t.Zeros(tl.Shape{64}, tl.F16))
		}
	}}
	for i, port := range compass {
		p.Links = append(p.Links, Connection{0, port, PEID(i + 1), tl.Parent})
	}
	return p
}

// TestRecvAnyIsFair checks that RecvAny is round-robin over the ports that have a message:
// it starts its search after the port of the previous message.
func TestRecvAnyIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var counts [4]int
		var want []tl.Port
		for i := range counts {
			counts[i] = rapid.IntRange(0, 4).Draw(t, compass[i].String()) // at most the number of slots
		}
		for left, turn := counts, 0; left != [4]int{}; turn++ {
			if i := turn % 4; left[i] > 0 {
				left[i]--
				want = append(want, compass[i])
			}
		}
		r := newRig(t, Options{})
		var got []tl.Port
		r.run(gather(counts, func(t *tl.PE) {
			spendCalls(t, 1000)
			for range want {
				_, port := t.RecvAny(tl.Shape{64}, tl.F16)
				got = append(got, port)
			}
		}))
		if !slices.Equal(got, want) {
			t.Fatalf("%v messages are received from %v, want %v", counts, got, want)
		}
	})
}

// TestRecvAnyStarvesNoPort checks that RecvAny receives one message from each port in turn
// while all ports have messages.
func TestRecvAnyStarvesNoPort(t *testing.T) {
	r := newRig(t, Options{})
	const each = 50
	var ports []tl.Port
	r.run(gather([4]int{each, each, each, each}, func(t *tl.PE) {
		for range 4 * each {
			_, port := t.RecvAny(tl.Shape{64}, tl.F16)
			ports = append(ports, port)
			spendCalls(t, 200) // slower than the senders
		}
	}))
	for i := 4; i+4 <= len(ports)-4; i++ {
		round := slices.Sorted(slices.Values(ports[i : i+4]))
		if !slices.Equal(round, compass) {
			t.Fatalf("messages %d to %d are from %v, want one from each port", i, i+3, ports[i:i+4])
		}
	}
}

// TestRecvAsyncOverlaps checks that RecvAsync copies its message as soon as it arrives,
// while the kernel does other work, so that the tile is in TCM when Wait returns. If the
// kernel calls Recv after the other work instead, the copy begins late.
func TestRecvAsyncOverlaps(t *testing.T) {
	const busy = 3000
	for _, async := range []bool{true, false} {
		r := newRig(t, Options{Log: true})
		var waited simtime.Time
		run := r.run(Program{Targets: []PEID{0, 100}, Links: pair(0, 100), Body: perRank(func(t *tl.PE) {
			t.Send(tl.East, t.Zeros(tl.Shape{2048}, tl.F16))
		}, func(t *tl.PE) {
			var x tl.Tile
			if async {
				h := t.RecvAsync(tl.West, tl.Shape{2048}, tl.F16)
				spendCalls(t, busy)
				x = h.Wait()
			} else {
				spendCalls(t, busy)
				x = t.Recv(tl.West, tl.Shape{2048}, tl.F16)
			}
			waited = r.clock(t)
			x.Neg()
		})})
		fetched := r.op(oplog.Math).Start - run.Start
		if async {
			same(t, "RecvAsync: Wait returns at", waited-run.Start, (1+busy+1)*r.dispatch)
			same(t, "RecvAsync: the tile is fetched at", fetched, r.callTime(1+busy+1+1))
		} else {
			same(t, "Recv returns at", waited-run.Start, (busy+1)*r.dispatch)
			same(t, "Recv: the tile is fetched at", fetched, r.callTime(busy+1)+r.slotReadTime(topology.BufferTCM, 100, 4096))
		}
	}
}

// TestRecvAsyncKeepsOrder checks that several receives on one port get the messages of the
// port in the order in which the receives were issued.
func TestRecvAsyncKeepsOrder(t *testing.T) {
	r := newRig(t, Options{})
	r.run(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Body: perRank(func(t *tl.PE) {
		for i := range 6 {
			t.Send(tl.East, t.Zeros(tl.Shape{i + 1}, tl.F16))
		}
	}, func(t *tl.PE) {
		var list []tl.Receive
		for i := range 6 { // each has a different size: another order would be an error
			list = append(list, t.RecvAsync(tl.West, tl.Shape{i + 1}, tl.F16))
		}
		for _, h := range slices.Backward(list) {
			h.Wait()
			h.Wait() // a second Wait returns the same tile
		}
	})})
}

// TestRecvIntoCopiesDirectlyToMemory checks that RecvInto copies a message from its slot to
// memory without a tile in between. It must take only the DMA set-up and the time of the
// path between the two memories.
func TestRecvIntoCopiesDirectlyToMemory(t *testing.T) {
	for _, kind := range []topology.BufferKind{topology.BufferTCM, topology.BufferSRAM} {
		for _, n := range []int{1, 128, 1024, 2048} {
			r := newRig(t, Options{Log: true})
			y := r.tensor(1, n)
			var visible simtime.Time
			run := r.run(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Queues: topology.IPCQ{BufferKind: kind}, Body: perRank(func(t *tl.PE) {
				t.Send(tl.East, t.Zeros(tl.Shape{n}, tl.F16))
			}, func(t *tl.PE) {
				t.RecvInto(tl.West, y, tl.Shape{n}, tl.F16)
				visible = r.clock(t)
			})})
			same(t, fmt.Sprintf("%d elements in slots in %s: the receiver ends at", n, kind), run.Start+run.ExecOf(1),
				visible+r.setup+r.transferTime(r.slotMemory(kind, 1), r.hbm(1), memory.Bytes(2*n)))
			same(t, "in the log, the receive ends at", r.op(oplog.Recv).End, run.Start+run.ExecOf(1))
		}
	}
}

// TestAMismatchNamesBothMessages checks the error of a receive whose size or dtype differs
// from the message. The error must name the size and dtype of both.
func TestAMismatchNamesBothMessages(t *testing.T) {
	const from = "the message from sip0.cube0.pe0 east is [64] f16, and "
	for _, c := range []struct {
		name string
		body func(t *tl.PE, y tl.Ptr)
		op   string
		want string
	}{
		{"size", func(t *tl.PE, _ tl.Ptr) { t.Recv(tl.West, tl.Shape{32}, tl.F16) }, "Recv", from + "[32] f16 was asked for: send and receive must agree on dtype and size"},
		{"dtype", func(t *tl.PE, _ tl.Ptr) { t.Recv(tl.West, tl.Shape{8, 8}, tl.I16) }, "Recv", from + "[8 8] i16 was asked for: send and receive must agree on dtype and size"},
		{"dtype and size", func(t *tl.PE, _ tl.Ptr) { t.RecvAsync(tl.West, tl.Shape{64}, tl.F32).Wait() }, "Wait", from + "[64] f32 was asked for: send and receive must agree on dtype and size"},
		{"nothing", func(t *tl.PE, _ tl.Ptr) { t.RecvAny(tl.Shape{0}, tl.F16) }, "RecvAny", from + "[0] f16 was asked for: send and receive must agree on dtype and size"},
		{"into memory", func(t *tl.PE, y tl.Ptr) { t.RecvInto(tl.West, y, tl.Shape{65}, tl.F16) }, "RecvInto", from + "[65] f16 was asked for: send and receive must agree on dtype and size"},
	} {
		r := newRig(t, Options{})
		y := r.tensor(1, 65)
		e := r.failure(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Body: perRank(func(t *tl.PE) {
			t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
		}, func(t *tl.PE) { c.body(t, y) })})
		var m *ipcq.Mismatch
		if !errors.As(e, &m) {
			t.Errorf("%s: %v, want a *ipcq.Mismatch", c.name, e)
			continue
		}
		same(t, c.name+": operation", e.Op, c.op)
		same(t, c.name, m.Error(), c.want)
	}
}

// TestShapesMayDiffer checks that a receive may have a different shape than the message if
// the number of elements is the same.
func TestShapesMayDiffer(t *testing.T) {
	r := newRig(t, Options{})
	r.run(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Body: perRank(func(t *tl.PE) {
		t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
	}, func(t *tl.PE) { t.Recv(tl.West, tl.Shape{4, 2, 8}, tl.F16) })})
}

// TestMessagesOfNoBytesTakeSlots checks that a message of 0 B needs a slot and a credit
// like any other message.
func TestMessagesOfNoBytesTakeSlots(t *testing.T) {
	x := blockedSender{delivery{topology.BufferTCM, 0, 9, 0}, 4, simtime.Microsecond}
	for _, kind := range topology.BufferKinds {
		x.kind = kind
		_, after, credit := x.run(t)
		same(t, string(kind)+": the sender continues after the fifth send at", after[4], credit)
	}
}

// TestQueuesAreNewInEveryLaunch checks that a launch with queues takes the same time when
// it is repeated, because no state of the queues survives a launch.
func TestQueuesAreNewInEveryLaunch(t *testing.T) {
	r := newRig(t, Options{})
	var ends []simtime.Time
	for range 3 {
		run, err := r.Start(Program{Name: "k", Targets: []PEID{0, 1}, Links: pair(0, 1), Body: perRank(func(t *tl.PE) {
			for range 10 {
				t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
			}
		}, func(t *tl.PE) {
			for range 10 {
				t.Recv(tl.West, tl.Shape{64}, tl.F16)
			}
		})}, sim.Event{})
		if err != nil {
			t.Fatal(err)
		}
		r.mustRun(t)
		ends = append(ends, run.Critical())
	}
	if ends[1] != ends[0] || ends[2] != ends[0] {
		t.Errorf("launches take %v, want all the same", ends)
	}
}
