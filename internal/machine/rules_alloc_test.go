package machine

import (
	"runtime"
	"testing"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// countAllocations calls the function `round` 3,500 times on each PE of the program. It
// returns how many Go objects are allocated while rank 0 makes its last 1,000 calls. The
// earlier calls allocate everything that is allocated only once.
func countAllocations(t *testing.T, p Program, r *rig, round func(t *tl.PE, i int)) uint64 {
	t.Helper()
	const warm, measured = 2500, 1000
	var before, after runtime.MemStats
	p.Name = "k"
	p.Body = func(t *tl.PE) {
		for i := range warm + measured {
			if t.Rank() == 0 && i == warm {
				runtime.ReadMemStats(&before)
			}
			round(t, i)
		}
		if t.Rank() == 0 {
			runtime.ReadMemStats(&after)
		}
	}
	if _, err := r.Start(p, sim.Event{}); err != nil {
		t.Fatal(err)
	}
	r.mustRun(t)
	return after.Mallocs - before.Mallocs
}

// TestMessagesAllocateNothing checks that messages, loads, stores and signals allocate no
// Go memory if there is no op log.
func TestMessagesAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, c := range []struct {
		name  string
		kind  topology.BufferKind
		round func(t *tl.PE, x tl.Ptr, i int)
	}{
		{"small messages", topology.BufferTCM, func(t *tl.PE, _ tl.Ptr, _ int) {
			t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
			t.Recv(tl.West, tl.Shape{64}, tl.F16).Add(1)
		}},
		{"messages of two slots", topology.BufferTCM, func(t *tl.PE, _ tl.Ptr, _ int) {
			t.Send(tl.East, t.Zeros(tl.Shape{4000}, tl.F16))
			t.Recv(tl.West, tl.Shape{4000}, tl.F16)
		}},
		{"slots in SRAM", topology.BufferSRAM, func(t *tl.PE, _ tl.Ptr, _ int) {
			t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
			t.Recv(tl.West, tl.Shape{64}, tl.F16)
		}},
		{"slots in HBM", topology.BufferHBM, func(t *tl.PE, _ tl.Ptr, _ int) {
			t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
			t.Recv(tl.West, tl.Shape{64}, tl.F16)
		}},
		{"RecvAsync", topology.BufferTCM, func(t *tl.PE, _ tl.Ptr, _ int) {
			h := t.RecvAsync(tl.West, tl.Shape{64}, tl.F16)
			t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
			h.Wait()
		}},
		{"RecvAny", topology.BufferTCM, func(t *tl.PE, _ tl.Ptr, _ int) {
			t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
			t.RecvAny(tl.Shape{64}, tl.F16)
		}},
		{"Select", topology.BufferTCM, func(t *tl.PE, _ tl.Ptr, _ int) {
			t.Select(tl.CanSend(tl.East, tl.Shape{64}, tl.F16), tl.CanRecv(tl.West))
			t.Send(tl.East, t.Zeros(tl.Shape{64}, tl.F16))
			t.Select(tl.CanSignal(0, tl.NE, 0), tl.CanRecv(tl.West))
			t.Recv(tl.West, tl.Shape{64}, tl.F16)
		}},
		{"loads and stores", topology.BufferTCM, func(t *tl.PE, x tl.Ptr, _ int) {
			t.Store(x, t.Load(x, tl.Shape{64}, tl.F16))
		}},
		{"signals", topology.BufferTCM, func(t *tl.PE, _ tl.Ptr, i int) {
			t.Notify((t.Rank()+1)%t.NumRanks(), 0, tl.Add, 1)
			t.WaitSignal(0, tl.GE, i+1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Options{})
			ids := []PEID{0, 9}
			x := make([]tl.Ptr, len(ids))
			for i, id := range ids {
				x[i] = r.tensor(id, 64)
			}
			got := countAllocations(t, Program{Targets: ids, Links: ring(ids...), Queues: topology.IPCQ{BufferKind: c.kind}}, r, func(t *tl.PE, i int) { c.round(t, x[t.Rank()], i) })
			if got > 20 { // the Go runtime may allocate a few in 2,000 rounds
				t.Errorf("%d objects allocated in 2,000 rounds, want none", got)
			}
			r.Close()
		})
	}
}
