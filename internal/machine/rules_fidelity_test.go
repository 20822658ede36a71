package machine

import (
	"bytes"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// TestFidelitiesAgreeOnAMessage checks that a message without contention takes the same
// time in both fidelities, for any size and with slots in any memory.
func TestFidelitiesAgreeOnAMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyDelivery.Draw(t, "message")
		_, train := m.sendWith(t, fabric.Train)
		_, flit := m.sendWith(t, fabric.Flit)
		if train != flit {
			t.Fatalf("%+v: with trains %+v, with flits %+v", m, train, flit)
		}
	})
}

// TestFidelitiesAgreeOnATile checks that a load or a store of a tile, dense or strided,
// takes the same time in both fidelities.
func TestFidelitiesAgreeOnATile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := anyMemory.Draw(t, "memory")
		width := rapid.IntRange(1, 500).Draw(t, "width")
		rows, cols := rapid.IntRange(1, 40).Draw(t, "rows"), rapid.IntRange(1, width).Draw(t, "cols")
		store := rapid.Bool().Draw(t, "store")
		var took [2]simtime.Time
		for i, fid := range []fabric.Fidelity{fabric.Train, fabric.Flit} {
			r := newRig(t, Options{Fidelity: fid})
			x := r.place(id, 40, width)
			took[i] = r.runAlone(func(t *tl.PE) {
				if !store {
					t.Load(x, tl.Shape{rows, cols}, tl.F16)
					return
				}
				v := t.Zeros(tl.Shape{rows, cols}, tl.F16)
				spendCalls(t, 2000)
				t.Store(x, v)
			})
		}
		if took[0] != took[1] {
			t.Fatalf("[%d %d] of width %d at %v (store: %v): %v with trains, %v with flits", rows, cols, width, id, store, took[0], took[1])
		}
	})
}

// TestFidelitiesAreCloseUnderContention runs programs with contention in both fidelities.
// It checks that their times differ by at most the fraction given for each program.
func TestFidelitiesAreCloseUnderContention(t *testing.T) {
	gemm := func(p product) func(t *testing.T, fid fabric.Fidelity) simtime.Time {
		return func(t *testing.T, fid fabric.Fidelity) simtime.Time { return p.multiplyWith(t, fid).duration() }
	}
	queues := func(kind topology.BufferKind, n int, ids ...PEID) func(t *testing.T, fid fabric.Fidelity) simtime.Time {
		return func(t *testing.T, fid fabric.Fidelity) simtime.Time {
			r := newRig(t, Options{Fidelity: fid})
			return r.run(Program{Targets: ids, Links: ring(ids...), Queues: topology.IPCQ{BufferKind: kind}, Body: func(t *tl.PE) {
				x := t.Zeros(tl.Shape{n}, tl.F16)
				for range 6 {
					t.Send(tl.East, x)
					x = x.Add(t.Recv(tl.West, tl.Shape{n}, tl.F16))
				}
			}}).Critical()
		}
	}
	all := make([]PEID, 256)
	for i := range all {
		all[i] = PEID(i)
	}
	for _, c := range []struct {
		name   string
		within float64 // the largest difference, as a fraction of the time with flits
		run    func(t *testing.T, fid fabric.Fidelity) simtime.Time
	}{
		{"product, both operands streamed", 0.03, gemm(product{m: 32, k: 3072, n: 32})},
		{"ragged product", 0.01, gemm(product{m: 100, k: 333, n: 70})},
		{"ring of 256, 128 B", 0, queues(topology.BufferTCM, 64, all...)},
		{"ring of 256, 16 KiB", 0.04, queues(topology.BufferTCM, 8192, all...)},
		{"ring of a cube, 16 KiB, slots in SRAM", 0.07, queues(topology.BufferSRAM, 8192, all[:8]...)},
		{"ring of a cube, 16 KiB, slots in HBM", 0.05, queues(topology.BufferHBM, 8192, all[:8]...)},
	} {
		train, flit := c.run(t, fabric.Train), c.run(t, fabric.Flit)
		difference := float64(max(train-flit, flit-train)) / float64(flit)
		t.Logf("%s: %v with trains, %v with flits, a difference of %.3f %%", c.name, train, flit, 100*difference)
		if difference > c.within {
			t.Errorf("%s: %v with trains, want %v within %v %%", c.name, train, flit, 100*c.within)
		}
	}
}

// recordLog runs a kernel with transfers, messages, composites and signals on all PEs, and
// returns the encoded op log.
func recordLog(t *testing.T) []byte {
	t.Helper()
	r := newRig(t, Options{Log: true})
	ids := everyPE(r.Machine)
	x, y := make([]tl.Ptr, len(ids)), make([]tl.Ptr, len(ids))
	for i, id := range ids {
		x[i], y[i] = r.tensor(id, 64, 64), r.tensor(id, 64, 64)
	}
	r.run(Program{Targets: ids, Links: ring(ids...), Body: func(t *tl.PE) {
		me, far := x[t.Rank()], x[(t.Rank()*37+11)%len(ids)]
		v := t.Load(far, tl.Shape{64, 64}, tl.F16)
		for range 3 {
			t.Send(tl.East, v)
			v = v.Add(t.Recv(tl.West, tl.Shape{64, 64}, tl.F16))
			t.Composite(tl.Gemm(t.Ref(me, tl.Shape{64, 64}, tl.F16), v, y[t.Rank()]))
			t.Notify((t.Rank()+5)%t.NumRanks(), 0, tl.Add, 1)
		}
		t.WaitSignal(0, tl.EQ, 3)
		t.Store(me, v)
	}})
	var file bytes.Buffer
	if err := oplog.Encode(&file, oplog.Header{}, r.Log); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestLogsAreIdentical checks that a run writes the same op log, byte for byte, with any
// GOMAXPROCS.
func TestLogsAreIdentical(t *testing.T) {
	want := recordLog(t)
	for _, procs := range []int{1, 2} {
		old := runtime.GOMAXPROCS(procs)
		got := recordLog(t)
		runtime.GOMAXPROCS(old)
		if !bytes.Equal(got, want) {
			t.Errorf("GOMAXPROCS=%d gives a different log of %d bytes; the first has %d", procs, len(got), len(want))
		}
	}
}
