package machine

import (
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// everyOperation returns a program for two PEs that uses each kind of operation.
func everyOperation(r *rig) Program {
	x, y, z := r.tensor(0, 64, 64), r.tensor(1, 64, 64), r.tensor(0, 64, 64)
	x.Window, y.Window = 1, 1
	sq := tl.Shape{64, 64}
	return Program{
		Targets: []PEID{0, 1}, Links: pair(0, 1), Queues: topology.IPCQ{BufferKind: topology.BufferTCM},
		Windows: [][]memory.Part{{{VA: r.va(x), Bytes: 8192}, {VA: r.va(y), Bytes: 8192}}},
		Body: perRank(func(t *tl.PE) {
			a := t.Load(x, sq, tl.F16)
			t.Load(x, tl.Shape{0}, tl.F16)
			t.Scratch(tl.Shape{64}, tl.F16)
			b := t.Full(sq, tl.F16, 1).Add(a).Trans().Reshape(64, 64)
			t.Arange(64, tl.F16)
			b.Sum(0)
			b.Softmax()
			a.Dot(b).To(tl.F16)
			b.Reshape(1, 64, 64).Broadcast(tl.Shape{2, 64, 64})
			t.Wait(t.Composite(tl.Gemm(t.Ref(x, sq, tl.F16), t.Ref(x, sq, tl.F16), z)))
			t.Wait(t.Composite(tl.Gemm(a, b, z)))
			t.Wait(t.Composite(tl.Stream(tl.OpAdd, z, t.Ref(x, sq, tl.F16), b)))
			t.Wait(t.Composite(tl.Stream(tl.OpAdd, z, a, b)))
			t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, z, x, sq, tl.F16)))
			t.Send(tl.East, b)
			t.Send(tl.East, t.Ref(x, sq, tl.F16))
			t.Put(1, x, a)
			t.Store(x, a)
			t.Notify(1, 3, tl.Set, 1)
		}, func(t *tl.PE) {
			t.Recv(tl.West, sq, tl.F16)
			t.RecvInto(tl.West, y, sq, tl.F16)
			t.WaitSignal(3, tl.EQ, 1)
			t.Get(0, y, sq, tl.F16)
		}),
	}
}

// TestLogTimesAreInOrder checks the times of every operation in the op log. An operation
// must be issued before it starts, and must start before it ends. All three times must be
// within the run of the kernel.
func TestLogTimesAreInOrder(t *testing.T) {
	r := newRig(t, Options{Log: true})
	run := r.run(everyOperation(r))
	seen := map[oplog.Kind]bool{}
	for _, op := range r.Log.Ops {
		seen[op.Kind] = true
		if !(run.Start <= op.Issue && op.Issue <= op.Start && op.Start <= op.End && op.End <= run.Start+run.Critical()) {
			t.Errorf("%s: issued at %v, from %v to %v, in a kernel that runs from %v to %v",
				r.Log.Describe(op.ID), op.Issue, op.Start, op.End, run.Start, run.Start+run.Critical())
		}
	}
	for kind := oplog.Load; kind < oplog.NumKinds; kind++ {
		switch kind {
		case oplog.HostWrite, oplog.HostRead, oplog.Zero, oplog.Barrier: // not operations of kernels
		case oplog.TaskBegin, oplog.TaskEnd: // operations of workers
		default:
			if !seen[kind] {
				t.Errorf("no operation of kind %v", kind)
			}
		}
	}
}
