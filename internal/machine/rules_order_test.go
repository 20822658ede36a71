package machine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// TestCompositesInARowOverlap checks that two composites that use different memory overlap:
// the second reads its operands while the first computes. The busy time of each engine is
// the sum over both composites.
func TestCompositesInARowOverlap(t *testing.T) {
	run := func(n int) (window simtime.Time, r *rig) {
		r = newRig(t, Options{Log: true})
		a, b := r.tensor(0, 32, 1024), r.tensor(0, 1024, 32)
		r.runAlone(func(t *tl.PE) {
			for range n {
				out := t.Ref(a, tl.Shape{32, 1024}, tl.F16)
				t.Composite(tl.Gemm(out, t.Ref(b, tl.Shape{1024, 32}, tl.F16), r.tensor(0, 32, 32)))
			}
		})
		ops := r.ops(oplog.Gemm)
		return ops[n-1].End - ops[0].Start, r
	}
	one, r1 := run(1)
	two, r2 := run(2)
	if two <= one || two >= 2*one {
		t.Errorf("two composites take %v, want more than the %v of one and less than twice as long", two, one)
	}
	ops := r2.ops(oplog.Gemm)
	if ops[1].Start >= ops[0].End {
		t.Errorf("the second begins at %v, want before the first ends at %v", ops[1].Start, ops[0].End)
	}
	for _, c := range []struct {
		engine   string
		one, two simtime.Time
	}{
		{"DMA read", r1.PE(0).DMABusy(memory.Read), r2.PE(0).DMABusy(memory.Read)},
		{"DMA write", r1.PE(0).DMABusy(memory.Write), r2.PE(0).DMABusy(memory.Write)},
		{"GEMM", r1.PE(0).Pipeline.Units[pe.GEMM].Busy, r2.PE(0).Pipeline.Units[pe.GEMM].Busy},
	} {
		if c.two != 2*c.one {
			t.Errorf("%s is busy for %v, want twice %v", c.engine, c.two, c.one)
		}
	}
}

// TestACompositeWaitsForTheCompositeItReads runs a composite that reads the result of an
// earlier composite. It checks that the second one starts to read when the first has ended.
func TestACompositeWaitsForTheCompositeItReads(t *testing.T) {
	r := newRig(t, Options{Log: true})
	a, b, c := r.tensor(0, 64, 64), r.tensor(0, 64, 64), r.tensor(0, 64, 64)
	sq := tl.Shape{64, 64}
	r.runAlone(func(t *tl.PE) {
		t.Composite(tl.Gemm(t.Ref(a, sq, tl.F16), t.Ref(a, sq, tl.F16), b))
		t.Composite(tl.Gemm(t.Ref(b, sq, tl.F16), t.Ref(b, sq, tl.F16), c))
	})
	ops := r.ops(oplog.Gemm)
	same(t, "the second begins to read at", ops[1].Start, ops[0].End)
}

// TestALoadWaitsForTheCompositeItReads checks that a load of the result of a composite
// starts when the composite has ended, without a Wait. A load of other memory does not
// wait.
func TestALoadWaitsForTheCompositeItReads(t *testing.T) {
	r := newRig(t, Options{Log: true})
	a, c := r.tensor(0, 32, 32), r.tensor(0, 32, 32)
	sq := tl.Shape{32, 32}
	r.runAlone(func(t *tl.PE) {
		t.Composite(tl.Gemm(t.Ref(a, sq, tl.F16), t.Ref(a, sq, tl.F16), c))
		t.Load(c, sq, tl.F16)
		t.Load(a, sq, tl.F16)
	})
	gemm, loads := r.op(oplog.Gemm), r.ops(oplog.Load)
	same(t, "the load of the result starts at", loads[0].Start, gemm.End)
	same(t, "the load of other memory starts at", loads[1].Start, loads[1].Issue+r.scheduler+r.setup)
}

// TestCompositesKeepProgramOrderWithStores checks two orders. A composite that reads the
// memory of an earlier store starts to read when the store has ended. A store to memory
// that an earlier composite reads waits for the composite.
func TestCompositesKeepProgramOrderWithStores(t *testing.T) {
	r := newRig(t, Options{Log: true})
	a, c := r.tensor(0, 64, 64), r.tensor(0, 64, 64)
	sq := tl.Shape{64, 64}
	r.runAlone(func(t *tl.PE) {
		x := t.Zeros(sq, tl.F16)
		t.Store(a, x)
		t.Composite(tl.Gemm(t.Ref(a, sq, tl.F16), t.Ref(a, sq, tl.F16), c))
		t.Store(a, x)
	})
	gemm, stores := r.op(oplog.Gemm), r.ops(oplog.Store)
	same(t, "the composite starts at", gemm.Start, stores[0].End)
	same(t, "the store after it starts at", stores[1].Start, gemm.End)
}

// TestADotAfterACompositeWaitsForItsLastTile checks that commands begin in program order.
// The operands of a Dot after a composite are fetched when the composite's last tile begins
// to run on the GEMM engine. The Dot runs when this tile has ended.
func TestADotAfterACompositeWaitsForItsLastTile(t *testing.T) {
	r := newRig(t, Options{Log: true})
	a, c := r.tensor(0, 32, 64), r.tensor(0, 32, 32)
	s := r.spec.PE
	idle := r.callsFor(r.scheduler + r.fullTime(32*64, 2) + r.fullTime(64*32, 2))
	r.runAlone(func(t *tl.PE) {
		x, y := t.Zeros(tl.Shape{32, 64}, tl.F16), t.Zeros(tl.Shape{64, 32}, tl.F16)
		spendCalls(t, idle)
		t.Composite(tl.Gemm(t.Ref(a, tl.Shape{32, 64}, tl.F16), y, c))
		x.Dot(y)
	})
	gemm, dot := r.op(oplog.Gemm), r.op(oplog.Dot)
	fetch := pe.CommandTime(s, 8192, 0, 0) // two tiles of 4 KiB
	run := pe.GemmTime(s.GEMM, 32, 64, 32)
	// One tile of 4 KiB, which is contiguous, is read, fetched together with the tile in
	// TCM, and begins to run.
	began := gemm.Start + r.transferTime(r.hbm(0), r.tcm(0), 4096) + fetch
	same(t, "the operands of the Dot are fetched from", dot.Start, began)
	same(t, "its result is in TCM at", dot.End, max(began+run, began+fetch)+run+pe.CommandTime(s, 0, 0, 4096))
}

// TestTheNextCommandIsFetchedWhileOneRuns checks that the engine fetches the operands of
// the next command while the current command runs.
func TestTheNextCommandIsFetchedWhileOneRuns(t *testing.T) {
	r := newRig(t, Options{Log: true})
	s := r.spec.PE
	const n = 8
	idle := r.callsFor(r.scheduler + r.fullTime(64*64, 2))
	r.runAlone(func(t *tl.PE) {
		x := t.Zeros(tl.Shape{64, 64}, tl.F16)
		spendCalls(t, idle)
		for range n {
			x.Dot(x)
		}
	})
	fetch, store := pe.CommandTime(s, 2*8192, 0, 0), pe.CommandTime(s, 0, 0, 16384)
	run := pe.GemmTime(s.GEMM, 64, 64, 64)
	ops := r.ops(oplog.Dot)
	for i, op := range ops {
		want := ops[0].Start + fetch + simtime.Time(i+1)*run + store
		if run < fetch || run < store {
			t.Fatalf("fetch %v and store %v are longer than the run of %v: choose another case", fetch, store, run)
		}
		if op.End != want {
			t.Errorf("product %d ends at %v, want %v", i, op.End, want)
		}
		// There are two sets of registers. The fetch into one begins when the command in the
		// other begins to run.
		if i > 0 {
			same(t, fmt.Sprintf("product %d is fetched from", i), op.Start, ops[0].Start+fetch+simtime.Time(i-1)*run)
		}
	}
}

// TestAKernelMayEndWithAnyTransfer checks that a kernel may return right after any
// operation, without waiting for that operation.
func TestAKernelMayEndWithAnyTransfer(t *testing.T) {
	for _, c := range []struct {
		name string
		body func(t *tl.PE, x tl.Ptr)
	}{
		{"Notify", func(t *tl.PE, _ tl.Ptr) { t.Notify(1-t.Rank(), 0, tl.Set, 1) }},
		{"RecvInto", func(t *tl.PE, x tl.Ptr) {
			t.Send(tl.Parent, t.Zeros(tl.Shape{64}, tl.F16))
			t.RecvInto(tl.Parent, x, tl.Shape{64}, tl.F16)
		}},
		{"Send of a Ref", func(t *tl.PE, x tl.Ptr) {
			h := t.RecvAsync(tl.Parent, tl.Shape{64}, tl.F16)
			t.Send(tl.Parent, t.Ref(x, tl.Shape{64}, tl.F16))
			h.Wait()
		}},
		{"Composite", func(t *tl.PE, x tl.Ptr) { t.Composite(tl.Stream(tl.OpNeg, x, t.Ref(x, tl.Shape{64}, tl.F16))) }},
		{"Put", func(t *tl.PE, x tl.Ptr) { t.Put(1-t.Rank(), x, t.Zeros(tl.Shape{64}, tl.F16)) }},
		{"Get", func(t *tl.PE, x tl.Ptr) { t.Get(1-t.Rank(), x, tl.Shape{64}, tl.F16) }},
	} {
		r := newRig(t, Options{})
		x := []tl.Ptr{r.tensor(0, 64), r.tensor(100, 64)}
		x[0].Window, x[1].Window = 1, 1
		_, err := r.try(Program{
			Targets: []PEID{0, 100}, Links: []Connection{{0, tl.Parent, 100, tl.Parent}},
			Windows: [][]memory.Part{{{VA: r.va(x[0]), Bytes: 128}, {VA: r.va(x[1]), Bytes: 128}}},
			Body:    func(t *tl.PE) { c.body(t, x[t.Rank()]) },
		})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestTheNextTileIsFetchedWhileOneRuns checks that the next tile of a composite is fetched
// while the engine works on the current tile. A MATH command after the composite fetches
// its operands when the last tile has been fetched.
func TestTheNextTileIsFetchedWhileOneRuns(t *testing.T) {
	r := newRig(t, Options{Log: true})
	s, c := r.spec.PE, r.tensor(0, 32, 32)
	const tiles = 6
	idle := r.callsFor(r.scheduler + 2*r.fullTime(32*64*tiles, 2))
	r.runAlone(func(t *tl.PE) {
		x, y := t.Zeros(tl.Shape{32, 64 * tiles}, tl.F16), t.Zeros(tl.Shape{64 * tiles, 32}, tl.F16)
		spendCalls(t, idle)
		t.Composite(tl.Gemm(x, y, c))
		x.Neg()
	})
	fetch, run := pe.CommandTime(s, 8192, 0, 0), pe.GemmTime(s.GEMM, 32, 64, 32)
	if run < fetch {
		t.Fatalf("the fetch of %v is longer than the run of %v: choose another case", fetch, run)
	}
	begins := r.op(oplog.Gemm).Issue + r.scheduler
	same(t, "the operands of the next command are fetched from", r.op(oplog.Math).Start, begins+fetch+(tiles-2)*run+fetch)
}

// TestCommGoesBeforeCompute checks that class comm has priority: a put that is issued after
// 16 stores of 128 KiB starts as soon as the first store has ended.
func TestCommGoesBeforeCompute(t *testing.T) {
	r := newRig(t, Options{Log: true})
	y := r.tensor(0, 16, 65536)
	x, windows := r.window(128, 0, 1)
	r.run(Program{Targets: []PEID{0, 1}, Windows: windows, Body: perRank(func(t *tl.PE) {
		v, small := t.Zeros(tl.Shape{65536}, tl.F16), t.Zeros(tl.Shape{128}, tl.F16)
		spendCalls(t, r.callsFor(r.scheduler+r.fullTime(65536, 2)+r.fullTime(128, 2)))
		for i := range 16 {
			t.Store(y.At(i), v)
		}
		t.Put(1, x[0], small)
	}, func(*tl.PE) {})})
	stores, put := r.ops(oplog.Store), r.op(oplog.Put)
	ends := make([]simtime.Time, len(stores))
	for i, s := range stores {
		ends[i] = s.End
	}
	same(t, "the put starts at", put.Start, slices.Min(ends))
	if last := slices.Max(ends); put.End >= last {
		t.Errorf("the put ends at %v, want before the last store at %v", put.End, last)
	}
}
