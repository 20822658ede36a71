package machine

import (
	"context"
	"testing"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// instants is a handler that records the times of its events.
type instants struct {
	eng *sim.Engine
	at  []simtime.Time
}

func (n *instants) Handle(sim.Kind, uint64) { n.at = append(n.at, n.eng.Now()) }

// TestMachineMessageTakesItsFormula checks that Machine.Message takes exactly the
// closed-form time of its bytes on the fabric. It uses no DMA engine.
func TestMachineMessageTakesItsFormula(t *testing.T) {
	for _, b := range []PEID{1, 8, 100, 255} {
		r := newRig(t, Options{})
		n := &instants{eng: r.Engine}
		r.Message(0, b, sim.Event{Target: r.Engine.Register(n)})
		if err := r.Engine.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.Close()
		same(t, "messages", len(n.at), 1)
		same(t, "it arrives at", n.at[0], r.transferTime(r.tcm(0), r.tcm(b), r.spec.PE.IPCQ.CreditBytes))
	}
}

// TestHostPeekTakesAsLongAsACopy checks that HostPeek takes as long as a copy to the host
// and adds nothing to the op log. It also checks that Peek fails in a run that does not
// compute values.
func TestHostPeekTakesAsLongAsACopy(t *testing.T) {
	measure := func(read func(r *rig, p tl.Ptr, done sim.Event) error) (simtime.Time, int) {
		r := newRig(t, Options{Log: true})
		defer r.Close()
		n := &instants{eng: r.Engine}
		if err := read(r, r.tensor(100, 64), sim.Event{Target: r.Engine.Register(n)}); err != nil {
			t.Fatal(err)
		}
		if err := r.Engine.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		return n.at[0], len(r.Log.Ops)
	}
	want, copyOps := measure(func(r *rig, p tl.Ptr, done sim.Event) error {
		_, err := r.CopyOut(r.va(p), 2, done)
		return err
	})
	got, peekOps := measure(func(r *rig, p tl.Ptr, done sim.Event) error { return r.HostPeek(r.va(p), 2, done) })
	same(t, "HostPeek takes", got, want)
	same(t, "operations of a copy and of HostPeek", [2]int{copyOps, peekOps}, [2]int{1, 0})
	r := newRig(t, Options{})
	defer r.Close()
	if _, err := r.Peek(r.va(r.tensor(0, 4)), 2); err != cpu.ErrNoValues {
		t.Errorf("Peek without values: %v, want %v", err, cpu.ErrNoValues)
	}
}
