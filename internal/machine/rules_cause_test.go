package machine

import (
	"testing"

	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// TestLogRecordsWhatReleasedAnOperation checks that the op log records what an operation
// waited for: an operand, the previous command, an earlier access to the same memory, the
// send of a message, a notification, or a composite that the kernel waited for.
func TestLogRecordsWhatReleasedAnOperation(t *testing.T) {
	r := newRig(t, Options{Log: true})
	ids := []PEID{0, 1}
	x, y := []tl.Ptr{r.tensor(0, 64, 64), r.tensor(1, 64, 64)}, r.tensor(0, 64, 64)
	all := tl.Shape{64, 64}
	r.run(Program{Targets: ids, Links: []Connection{{0, tl.East, 1, tl.West}}, Body: func(t *tl.PE) {
		if t.Rank() == 1 {
			v := t.Recv(tl.West, all, tl.F16) // released by the Send
			t.WaitSignal(3, tl.EQ, 1)         // released by the Notify
			t.Store(x[1], v)
			return
		}
		a := t.Load(x[0], all, tl.F16)
		b := a.Exp()                                                 // released by the Load
		a.Exp()                                                      // released by the Exp before it
		t.Store(x[0], b)                                             // released by the Exp that makes b
		t.Load(x[0], all, tl.F16)                                    // released by the Store
		t.Wait(t.Composite(tl.Gemm(t.Ref(x[0], all, tl.F16), a, y))) // the Store releases the Gemm, the Gemm the Wait
		t.Send(tl.East, b)                                           // did not wait
		t.Notify(1, 3, tl.Set, 1)
	}})
	named := map[string]oplog.ID{}
	count := map[string]int{}
	for i := range r.Log.Ops {
		op := &r.Log.Ops[i]
		name := op.Kind.String() + string(rune('0'+op.PE))
		count[name]++
		named[name+string(rune('0'+count[name]))] = op.ID
	}
	for _, c := range []struct{ name, by string }{
		{"Load01", ""}, {"Math01", "Load01"}, {"Math02", "Math01"}, {"Store01", "Math01"}, {"Load02", "Store01"},
		{"Gemm01", "Store01"}, {"Wait01", "Gemm01"}, {"Send01", ""},
		{"Recv11", "Send01"}, {"WaitSignal11", "Notify01"},
	} {
		if named[c.name] == 0 {
			t.Errorf("no %s in the log: %v", c.name, named)
			continue
		}
		if op := r.Log.Op(named[c.name]); op.Cause != named[c.by] {
			t.Errorf("%s was released by operation %d, want %s, which is %d", c.name, op.Cause, c.by, named[c.by])
		}
	}
}
