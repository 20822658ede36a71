package machine

import (
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// measure runs a program. It returns the run and the breakdown of the PE `id`. It checks
// that the parts of the breakdown add up to the time of the program.
func (r *rig) measure(id PEID, p Program) (b Breakdown, run *Run) {
	r.Helper()
	r.Measuring = true
	run = r.run(p)
	b, ok := run.Breakdown(func(pe PEID) bool { return pe == id }, run.Start)
	if !ok {
		r.Fatalf("PE %d was not measured", id)
	}
	same(r, "the sum of all parts", b.Total(), run.Critical())
	return b, run
}

// overlap returns how long the intervals [a, b] and [c, d] overlap.
func overlap(a, b, c, d simtime.Time) simtime.Time { return max(0, min(b, d)-max(a, c)) }

// TestBreakdownOfAKernelAlone checks the breakdown of kernels on one PE against the
// formulas of commands and transfers.
func TestBreakdownOfAKernelAlone(t *testing.T) {
	sq := tl.Shape{64, 64}
	r := newRig(t, Options{})
	s := r.spec.PE
	const rows = 64 * 64 * 2 // bytes of a 64×64 tile
	full, dot := r.fullTime(64*64, 2), pe.CommandTime(s, 2*rows, pe.GemmTime(s.GEMM, 64, 64, 64), 2*rows)
	moved := func(n memory.Bytes) simtime.Time { return r.transferTime(r.hbm(0), r.tcm(0), n) }
	idle := r.callsFor(r.scheduler + full)
	square := moved(rows)
	// loadDuringDot returns the breakdown of a Dot and a load of n bytes right after it.
	loadDuringDot := func(n memory.Bytes) Breakdown {
		begins := r.dispatch + r.setup // after the start of the Dot
		hidden := overlap(0, dot, begins, begins+moved(n))
		b := Breakdown{Compute: full + dot, OverlappedMemory: hidden, Memory: moved(n) - hidden}
		b.Idle = r.callTime(1) + simtime.Time(1+idle)*r.dispatch - full // until the Dot starts
		return b
	}
	for _, c := range []struct {
		name string
		body func(t *tl.PE, x, y tl.Ptr)
		want Breakdown
	}{
		{"nothing", func(*tl.PE, tl.Ptr, tl.Ptr) {}, Breakdown{}},
		{"calls that use only the CPU", func(t *tl.PE, _, _ tl.Ptr) { spendCalls(t, 20) }, Breakdown{Idle: 20 * r.dispatch}},
		{"a load", func(t *tl.PE, x, _ tl.Ptr) { t.Load(x, sq, tl.F16) },
			Breakdown{Memory: square, Idle: r.callTime(1) + r.setup}},
		{"a product of a loaded tile", func(t *tl.PE, x, _ tl.Ptr) { a := t.Load(x, sq, tl.F16); a.Dot(a) },
			Breakdown{Memory: square, Compute: dot, Idle: r.callTime(1) + r.setup}},
		{"a store of a computed tile", func(t *tl.PE, x, _ tl.Ptr) { t.Store(x, t.Zeros(sq, tl.F16)) },
			Breakdown{Compute: full, Memory: r.transferTime(r.tcm(0), r.hbm(0), rows), Idle: r.callTime(1) + r.setup}},
		{"a short load during a product", func(t *tl.PE, x, _ tl.Ptr) {
			a := t.Zeros(sq, tl.F16)
			spendCalls(t, idle)
			a.Dot(a)
			t.Load(x, tl.Shape{1024}, tl.F16)
		}, loadDuringDot(2048)},
		{"a long load during a product", func(t *tl.PE, _, y tl.Ptr) {
			a := t.Zeros(sq, tl.F16)
			spendCalls(t, idle)
			a.Dot(a)
			t.Load(y, tl.Shape{65536}, tl.F16)
		}, loadDuringDot(131072)},
	} {
		r := newRig(t, Options{})
		x, y := r.tensor(0, 64, 64), r.tensor(0, 65536)
		b, _ := r.measure(0, Program{Targets: []PEID{0}, Body: func(t *tl.PE) { c.body(t, x, y) }})
		same(t, c.name, b, c.want)
	}
}

// TestBreakdownOfACompositeThatWaitsForItsWrites runs a composite whose writes are slow, so
// that the stores of its last results wait for the writes of earlier results. It checks
// that these stores count as Compute, although no other work of the engines overlaps them.
func TestBreakdownOfACompositeThatWaitsForItsWrites(t *testing.T) {
	const n = 4 * 2048 // four chunks of 4 KiB
	r := newRig(t, Options{})
	s := r.spec.PE
	x, far := r.tensor(0, n), r.tensor(255, n)
	b, _ := r.measure(0, Program{Targets: []PEID{0}, Body: func(t *tl.PE) {
		t.Composite(tl.Stream(tl.OpNeg, far, t.Ref(x, tl.Shape{n}, tl.F16)))
	}})
	fetch, run, store := pe.CommandTime(s, 4096, 0, 0), pe.MathTime(s.Math, s.Math.Cycles.Simple, 2048), pe.CommandTime(s, 0, 0, 4096)
	if write := r.setup + r.transferTime(r.tcm(0), r.hbm(255), 4096); write < 3*run {
		t.Fatalf("a write takes %v, and MATH %v: choose another case", write, 3*run)
	}
	// MATH computes one chunk after another. The third and the fourth result are stored
	// when the first and the second have been written.
	same(t, "engines compute for", b.Compute, fetch+4*run+2*store)
}

// TestCompositesAreOfClassCompute checks that the transfers of composites are of class
// compute, like loads and stores, and count as Memory.
func TestCompositesAreOfClassCompute(t *testing.T) {
	for _, c := range []struct {
		name    string
		command func(t *tl.PE, x, y tl.Ptr) tl.Command
	}{
		{"a stream", func(t *tl.PE, x, y tl.Ptr) tl.Command {
			return tl.Stream(tl.OpNeg, y, t.Ref(x, tl.Shape{64, 64}, tl.F16))
		}},
		{"a product", func(t *tl.PE, x, y tl.Ptr) tl.Command {
			a := t.Ref(x, tl.Shape{64, 64}, tl.F16)
			return tl.Gemm(a, a, y)
		}},
	} {
		r := newRig(t, Options{})
		x, y := r.tensor(0, 64, 64), r.tensor(0, 64, 64)
		b, _ := r.measure(0, Program{Targets: []PEID{0}, Body: func(t *tl.PE) { t.Composite(c.command(t, x, y)) }})
		if b.Comm+b.OverlappedComm != 0 || b.Memory == 0 {
			t.Errorf("%s on one PE: %+v, want memory and no communication", c.name, b)
		}
	}
}

// TestBreakdownOfCommunication checks the breakdown of a PE that sends to, receives from or
// waits for another PE.
func TestBreakdownOfCommunication(t *testing.T) {
	const a, b, n, size = 0, 100, 1024, 2048
	sq := tl.Shape{64, 64}
	terms := newRig(t, Options{})
	s := terms.spec.PE
	const rows = 64 * 64 * 2
	full, square := terms.fullTime(n, 2), terms.fullTime(64*64, 2)
	dot := pe.CommandTime(s, 2*rows, pe.GemmTime(s.GEMM, 64, 64, 64), 2*rows)
	d, callTime := terms.dispatch, terms.callTime
	idle := terms.callsFor(terms.scheduler + full + square)
	both := pe.MathTime(s.Math, s.Math.Cycles.Simple, n) + square // one tile is stored while the other is computed
	put := terms.transferTime(terms.tcm(a), terms.tcm(b), size)
	toHBM := terms.transferTime(terms.tcm(a), terms.hbm(b), size)
	fromHBM := terms.transferTime(terms.hbm(b), terms.tcm(a), size)
	notice := terms.notifyTime(a, b)
	for _, c := range []struct {
		name  string
		kind  topology.BufferKind
		at    PEID
		left  func(t *tl.PE, x tl.Ptr)
		right func(t *tl.PE, x tl.Ptr)
		want  Breakdown
	}{
		{
			// The receiver waits from the end of its dispatch on. The copy out of a slot in TCM
			// is not a request of a DMA channel.
			"a receive that waits", topology.BufferTCM, b,
			func(t *tl.PE, _ tl.Ptr) { x := t.Zeros(tl.Shape{n}, tl.F16); spendCalls(t, idle); t.Send(tl.East, x) },
			func(t *tl.PE, _ tl.Ptr) { t.Recv(tl.West, tl.Shape{n}, tl.F16) },
			Breakdown{Comm: callTime(1+idle) + terms.slotWriteTime(topology.BufferTCM, a, b, size), Idle: d + terms.slotReadTime(topology.BufferTCM, b, size)},
		},
		{
			"a receive from slots in SRAM", topology.BufferSRAM, b,
			func(t *tl.PE, _ tl.Ptr) { x := t.Zeros(tl.Shape{n}, tl.F16); spendCalls(t, idle); t.Send(tl.East, x) },
			func(t *tl.PE, _ tl.Ptr) { t.Recv(tl.West, tl.Shape{n}, tl.F16) },
			Breakdown{
				Comm: callTime(1+idle) + terms.slotWriteTime(topology.BufferSRAM, a, b, size) + terms.slotReadTime(topology.BufferSRAM, b, size) - terms.setup,
				Idle: d + terms.setup,
			},
		},
		{
			"a wait for a signal", topology.BufferTCM, b,
			func(t *tl.PE, _ tl.Ptr) { spendCalls(t, idle); t.Notify(1, 0, tl.Set, 1) },
			func(t *tl.PE, _ tl.Ptr) { t.WaitSignal(0, tl.EQ, 1) },
			Breakdown{Comm: simtime.Time(idle)*d + notice, Idle: d},
		},
		{
			// The product begins during the wait and ends before the wait does.
			"a wait for a signal during a product", topology.BufferTCM, b,
			func(t *tl.PE, _ tl.Ptr) { spendCalls(t, 10*idle); t.Notify(1, 0, tl.Set, 1) },
			func(t *tl.PE, _ tl.Ptr) {
				x := t.Zeros(sq, tl.F16)
				spendCalls(t, idle)
				x.Dot(x)
				t.WaitSignal(0, tl.EQ, 1)
			},
			Breakdown{
				Compute: square + dot, OverlappedComm: dot - d + terms.scheduler,
				Comm: simtime.Time(10*idle+1)*d + notice - callTime(2+idle) - dot, Idle: callTime(2+idle) - square,
			},
		},
		{
			// The signal has arrived before the PE asks for it.
			"a signal that has arrived", topology.BufferTCM, b,
			func(t *tl.PE, _ tl.Ptr) { t.Notify(1, 0, tl.Set, 1) },
			func(t *tl.PE, _ tl.Ptr) { spendCalls(t, 10*idle); t.WaitSignal(0, tl.EQ, 1) },
			Breakdown{Idle: simtime.Time(10*idle+1) * d},
		},
		{
			// The send overlaps the product, which ends last.
			"a send during a product", topology.BufferTCM, a,
			func(t *tl.PE, _ tl.Ptr) {
				x, y := t.Zeros(tl.Shape{n}, tl.F16), t.Zeros(sq, tl.F16)
				spendCalls(t, idle)
				y.Dot(y)
				t.Send(tl.East, x)
			},
			func(t *tl.PE, _ tl.Ptr) { t.Recv(tl.West, tl.Shape{n}, tl.F16) },
			Breakdown{
				Compute: both + dot, OverlappedComm: overlap(0, dot, d+terms.setup, d+terms.setup+put), Idle: callTime(3+idle) - both,
			},
		},
		{
			"a put", topology.BufferTCM, a,
			func(t *tl.PE, x tl.Ptr) { v := t.Zeros(tl.Shape{n}, tl.F16); spendCalls(t, idle); t.Put(1, x, v) },
			func(*tl.PE, tl.Ptr) {},
			Breakdown{Compute: full, Comm: toHBM, Idle: callTime(2+idle) + terms.setup - full},
		},
		{
			"a get", topology.BufferTCM, a,
			func(t *tl.PE, x tl.Ptr) { t.Get(1, x, tl.Shape{n}, tl.F16) },
			func(*tl.PE, tl.Ptr) {},
			Breakdown{Comm: fromHBM, Idle: callTime(1) + terms.setup},
		},
		{
			"a PE that ends early", topology.BufferTCM, b,
			func(t *tl.PE, x tl.Ptr) { t.Get(1, x, tl.Shape{n}, tl.F16) },
			func(t *tl.PE, _ tl.Ptr) { spendCalls(t, 2) },
			Breakdown{Idle: 2 * d, Comm: callTime(1) + terms.setup + fromHBM - 2*d},
		},
	} {
		r := newRig(t, Options{})
		x, windows := r.window(n, a, b)
		got, _ := r.measure(c.at, Program{
			Targets: []PEID{a, b}, Links: pair(a, b), Windows: windows, Queues: topology.IPCQ{BufferKind: c.kind},
			Body: perRank(func(t *tl.PE) { c.left(t, x[0]) }, func(t *tl.PE) { c.right(t, x[1]) }),
		})
		same(t, c.name, got, c.want)
	}
}

// TestBreakdownFromAnInstantOn checks that the breakdown from a given instant on covers the
// time from this instant to the end. None of its parts may be larger than in the breakdown
// of the whole run.
func TestBreakdownFromAnInstantOn(t *testing.T) {
	r := newRig(t, Options{})
	x := r.tensor(0, 64, 64)
	whole, run := r.measure(0, Program{Targets: []PEID{0}, Body: func(t *tl.PE) {
		a := t.Load(x, tl.Shape{64, 64}, tl.F16)
		t.Store(x, a.Dot(a).To(tl.F16))
	}})
	every := func(PEID) bool { return true }
	for _, part := range []simtime.Time{0, 1, 3, 7, 8} {
		from := run.Start + run.Critical()*part/8
		b, ok := run.Breakdown(every, from)
		same(t, "there is a breakdown", ok, true)
		same(t, "the sum of all parts", b.Total(), run.Start+run.Critical()-from)
		if b.Compute > whole.Compute || b.Memory > whole.Memory || b.OverlappedMemory > whole.OverlappedMemory || b.Idle > whole.Idle {
			t.Errorf("from %v on the breakdown is %+v, that of the whole run %+v", from, b, whole)
		}
	}
	if _, ok := run.Breakdown(func(PEID) bool { return false }, run.Start); ok {
		t.Error("there is a breakdown of no PE")
	}
}

// TestMeasuringAppliesToProgramsThatStart checks that the machine measures exactly the
// programs that start while Measuring is true.
func TestMeasuringAppliesToProgramsThatStart(t *testing.T) {
	r := newRig(t, Options{})
	x := r.tensor(0, 64, 64)
	p := Program{Name: "k", Targets: []PEID{0}, Body: func(t *tl.PE) { t.Load(x, tl.Shape{64, 64}, tl.F16).Neg() }}
	every := func(PEID) bool { return true }
	for _, on := range []bool{false, true, false} {
		r.Measuring = on
		run, err := r.Start(p, sim.Event{})
		if err != nil {
			t.Fatal(err)
		}
		r.mustRun(t)
		_, ok := run.Breakdown(every, run.Start)
		same(t, "there is a breakdown", ok, on)
		first := r.PE(0)
		same(t, "the engines record their use", first.DMA.Usage != nil && first.Pipeline.Usage != nil, on)
	}
	r.Close()
}
