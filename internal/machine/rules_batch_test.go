package machine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// TestFragmentsTakeTheSameTimeTogether checks that messages of many fragments have the same
// times whether fragments travel together, as in the model train, or each by itself, as in
// the model flit. Sizes, slots and the delays of both PEs are random, and nothing else uses
// the links.
func TestFragmentsTakeTheSameTimeTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots, flits := rapid.IntRange(1, 9).Draw(t, "slots"), rapid.IntRange(1, 16).Draw(t, "flits a slot")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 160), 1, 6).Draw(t, "flits of each message")
		delays := func(name string) []int {
			return rapid.SliceOfN(rapid.IntRange(0, 300), len(sizes), len(sizes)).Draw(t, name)
		}
		early, late := delays("delays of the sender"), delays("delays of the receiver")
		b := PEID(rapid.IntRange(1, 255).Draw(t, "to"))
		var times [2][]simtime.Time // by fidelity: after each send, and after each receive
		for fidelity := range times {
			r := newRig(t, Options{Fidelity: fabric.Fidelity(fidelity)}, set("pe.ipcq.n_slots", slots), set("pe.ipcq.slot_size", 256*flits)+" B")
			sent, received := make([]simtime.Time, len(sizes)), make([]simtime.Time, len(sizes))
			run := r.run(Program{Targets: []PEID{0, b}, Links: pair(0, b), Body: perRank(func(t *tl.PE) {
				for i, n := range sizes {
					spendCalls(t, early[i])
					t.Send(tl.East, t.Zeros(tl.Shape{128 * n}, tl.F16))
					sent[i] = r.clock(t)
				}
			}, func(t *tl.PE) {
				for i, n := range sizes {
					spendCalls(t, late[i])
					t.Recv(tl.West, tl.Shape{128 * n}, tl.F16)
					received[i] = r.clock(t)
				}
			})})
			times[fidelity] = slices.Concat(sent, received, run.end)
		}
		for i, want := range times[fabric.Flit] {
			if got := times[fabric.Train][i]; got != want {
				t.Fatalf("time %d of %d sends, as many receives and the end: %v, want %v", i, len(sizes), got, want)
			}
		}
	})
}

// TestEventsOfAMessageOfManySlots checks that a message takes the same number of events
// whether it fills two slots or many.
func TestEventsOfAMessageOfManySlots(t *testing.T) {
	events := func(slots int) uint64 {
		n := 2048 * slots
		r := newRig(t, Options{}, "pe.ipcq.n_slots=32")
		r.run(Program{Targets: []PEID{0, 100}, Links: pair(0, 100), Body: perRank(func(t *tl.PE) {
			t.Send(tl.East, t.Zeros(tl.Shape{n}, tl.F16))
		}, func(t *tl.PE) {
			t.Recv(tl.West, tl.Shape{n}, tl.F16)
		})})
		return r.Engine.Events()
	}
	want := events(2)
	for _, slots := range []int{3, 17, 32} {
		if got := events(slots); got != want {
			t.Errorf("%d slots: %d events, want %d as for two slots", slots, got, want)
		}
	}
}
