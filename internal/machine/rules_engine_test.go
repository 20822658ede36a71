package machine

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// anyPESets draws changes to the settings of the engines of a PE. Some draws change
// nothing.
var anyPESets = rapid.Custom(func(t *rapid.T) []string {
	if rapid.Bool().Draw(t, "default") {
		return nil
	}
	n := func(key string, from, to int) string { return set(key, rapid.IntRange(from, to).Draw(t, key)) }
	bandwidth := func(key string) string { return n(key, 10, 2000) + " GB/s" }
	return []string{
		n("pe.gemm.array.m", 1, 64), n("pe.gemm.array.k", 1, 64), n("pe.gemm.array.n", 1, 64),
		n("pe.gemm.fill_cycles", 0, 50), n("pe.gemm.clock", 300, 3000) + " MHz",
		n("pe.math.vector_width", 1, 300), n("pe.math.clock", 300, 3000) + " MHz",
		n("pe.math.cycles.simple", 0, 9), n("pe.math.cycles.div", 0, 9), n("pe.math.cycles.sqrt", 0, 9), n("pe.math.cycles.exp", 0, 9),
		n("pe.tcm.overhead", 0, 5) + " ns", bandwidth("pe.tcm.read_bandwidth"), bandwidth("pe.tcm.write_bandwidth"),
		bandwidth("pe.fetch_store.bandwidth"),
		n("pe.cpu.clock", 300, 3000) + " MHz", n("pe.cpu.dispatch_cycles", 1, 5),
		n("pe.scheduler.overhead", 0, 9) + " ns", n("pe.dma.setup", 0, 9) + " ns",
	}
})

// mathOps lists the elementwise operations, reductions and rearrangements of tiles. The
// field cycles says how many cycles of each kind (simple, div, sqrt, exp) an operation
// takes for one vector.
var mathOps = []struct {
	name    string
	cycles  topology.MathCycles
	args    int  // number of tiles that it reads
	reduces bool // its time depends on the elements that it reads, not on those of its result
	run     func(x, y tl.Tile) tl.Tile
}{
	{"Add", topology.MathCycles{Simple: 1}, 2, false, func(x, y tl.Tile) tl.Tile { return x.Add(y) }},
	{"Sub", topology.MathCycles{Simple: 1}, 2, false, func(x, y tl.Tile) tl.Tile { return x.Sub(y) }},
	{"Mul", topology.MathCycles{Simple: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Mul(2) }},
	{"Div", topology.MathCycles{Div: 1}, 2, false, func(x, y tl.Tile) tl.Tile { return x.Div(y) }},
	{"Maximum", topology.MathCycles{Simple: 1}, 2, false, func(x, y tl.Tile) tl.Tile { return x.Maximum(y) }},
	{"Minimum", topology.MathCycles{Simple: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Minimum(0) }},
	{"Lt", topology.MathCycles{Simple: 1}, 2, false, func(x, y tl.Tile) tl.Tile { return x.Lt(y) }},
	{"Eq", topology.MathCycles{Simple: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Eq(0) }},
	{"Neg", topology.MathCycles{Simple: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Neg() }},
	{"Abs", topology.MathCycles{Simple: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Abs() }},
	{"FMA", topology.MathCycles{Simple: 1}, 2, false, func(x, y tl.Tile) tl.Tile { return x.FMA(y, 1) }},
	{"Clamp", topology.MathCycles{Simple: 2}, 2, false, func(x, y tl.Tile) tl.Tile { return x.Clamp(0, y) }},
	{"Exp", topology.MathCycles{Exp: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Exp() }},
	{"Log", topology.MathCycles{Exp: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Log() }},
	{"Sqrt", topology.MathCycles{Sqrt: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Sqrt() }},
	{"Rsqrt", topology.MathCycles{Sqrt: 1, Div: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Rsqrt() }},
	{"Sigmoid", topology.MathCycles{Exp: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Sigmoid() }},
	{"Tanh", topology.MathCycles{Exp: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Tanh() }},
	{"Softmax", topology.MathCycles{Simple: 3, Exp: 1, Div: 1}, 1, true, func(x, _ tl.Tile) tl.Tile { return x.Softmax() }},
	{"Sum", topology.MathCycles{Simple: 1}, 1, true, func(x, _ tl.Tile) tl.Tile { return x.Sum(0) }},
	{"Max", topology.MathCycles{Simple: 1}, 1, true, func(x, _ tl.Tile) tl.Tile { return x.Max(-1) }},
	{"Min", topology.MathCycles{Simple: 1}, 1, true, func(x, _ tl.Tile) tl.Tile { return x.Min(0) }},
	{"To", topology.MathCycles{Simple: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.To(tl.F64) }},
	{"Trans", topology.MathCycles{Simple: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Trans() }},
	{"Broadcast", topology.MathCycles{Simple: 1}, 1, false, func(x, _ tl.Tile) tl.Tile { return x.Broadcast(append(tl.Shape{3}, x.Shape()...)) }},
}

// elems returns the number of elements of x, and its size in bytes.
func elems(x tl.Tile) (int, memory.Bytes) {
	n := 1
	for _, d := range x.Shape() {
		n *= d
	}
	return n, memory.Bytes(n * x.DType().Size())
}

// fullTime returns the time of the operation Full for n elements of `size` bytes each.
func (r *rig) fullTime(n, size int) simtime.Time {
	math := r.spec.PE.Math
	return pe.CommandTime(r.spec.PE, 0, pe.MathTime(math, math.Cycles.Simple, n), memory.Bytes(n*size))
}

// TestMathTakesItsFormula checks that an operation of the MATH engine, without contention,
// takes exactly the time of its dispatch, the time of the scheduler, and
//
//	operands / fetch + ⌈elements / vector_width⌉ · cycles / clock + result / store
//
// Here operands and result are sizes in bytes, fetch and store are bandwidths, and cycles
// is the time of one vector in cycles. For a reduction and a softmax, elements is the
// number of elements of the operand. For other operations, it is the number of elements of
// the result.
func TestMathTakesItsFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t, Options{Log: true}, anyPESets.Draw(t, "sets")...)
		m, n := rapid.IntRange(1, 70).Draw(t, "rows"), rapid.IntRange(1, 70).Draw(t, "cols")
		math := r.spec.PE.Math
		took := make([]simtime.Time, len(mathOps))
		run := r.run(Program{Targets: []PEID{0}, Body: func(t *tl.PE) {
			x := t.Full(tl.Shape{m, n}, tl.F32, 1)
			y := t.Full(tl.Shape{m, n}, tl.F32, 2)
			spendCalls(t, r.callsFor(r.scheduler+2*r.fullTime(m*n, 4)))
			for i, op := range mathOps {
				worked, stored := elems(op.run(x, y))
				if op.reduces {
					worked = m * n
				}
				cycles := op.cycles.Simple*math.Cycles.Simple + op.cycles.Div*math.Cycles.Div +
					op.cycles.Sqrt*math.Cycles.Sqrt + op.cycles.Exp*math.Cycles.Exp
				took[i] = pe.CommandTime(r.spec.PE, memory.Bytes(op.args*m*n*4), pe.MathTime(math, cycles, worked), stored)
				if i < len(mathOps)-1 {
					spendCalls(t, r.callsFor(r.scheduler+took[i]))
				}
			}
		}})
		ops := r.Log.Ops[2:]
		for i, op := range mathOps {
			if got := ops[i]; got.Start != got.Issue+r.scheduler || got.End != got.Start+took[i] {
				t.Fatalf("%s of [%d %d], issued at %v, runs from %v to %v, want it to start %v later and take %v",
					op.name, m, n, got.Issue, got.Start, got.End, r.scheduler, took[i])
			}
		}
		if got, want := run.Start+run.Critical(), ops[len(mathOps)-1].End; got != want {
			t.Fatalf("the kernel ends at %v, want %v, the end of its last command", got, want)
		}
	})
}

// TestDotTakesItsFormula checks that Dot, without contention, takes exactly the time of its
// dispatch, the time of the scheduler, and
//
//	operands / fetch + (⌈m/array.m⌉·⌈k/array.k⌉·⌈n/array.n⌉ + fill) / clock + result / store
//
// Here operands and result are sizes in bytes, fetch and store are bandwidths, and fill is
// the number of cycles to fill the array. The accumulator, if there is one, counts as an
// operand.
func TestDotTakesItsFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := anyPESets.Draw(t, "sets")
		size := rapid.IntRange(0, 100)
		m, k, n := size.Draw(t, "m"), size.Draw(t, "k"), size.Draw(t, "n")
		accumulate := rapid.Bool().Draw(t, "accumulate")
		r := newRig(t, Options{}, sets...)

		fetched, stored := memory.Bytes(2*(m*k+k*n)), memory.Bytes(4*m*n)
		if accumulate {
			fetched += stored
		}
		took := pe.CommandTime(r.spec.PE, fetched, pe.GemmTime(r.spec.PE.GEMM, m, k, n), stored)
		idle := r.callsFor(r.scheduler + r.fullTime(m*k, 2) + r.fullTime(k*n, 2) + r.fullTime(m*n, 4))
		got := r.runAlone(func(t *tl.PE) {
			a, b := t.Zeros(tl.Shape{m, k}, tl.F16), t.Zeros(tl.Shape{k, n}, tl.F16)
			acc := t.Zeros(tl.Shape{m, n}, tl.F32)
			spendCalls(t, idle)
			if accumulate {
				a.Dot(b, acc)
			} else {
				a.Dot(b)
			}
		})
		if want := r.callTime(3+idle+1) + took; got != want {
			t.Fatalf("Dot of %d×%d×%d ends at %v, want %v", m, k, n, got, want)
		}
		if got := r.PE(0).Pipeline.Units[pe.GEMM].Busy; got != pe.GemmTime(r.spec.PE.GEMM, m, k, n) {
			t.Fatalf("the GEMM engine is busy for %v, want %v", got, pe.GemmTime(r.spec.PE.GEMM, m, k, n))
		}
	})
}

// TestReshapeTakesOneDispatch checks that Reshape takes only its dispatch, because the
// bytes of the tile stay the same.
func TestReshapeTakesOneDispatch(t *testing.T) {
	r := newRig(t, Options{})
	var before, after simtime.Time
	r.runAlone(func(t *tl.PE) {
		x := t.Zeros(tl.Shape{64}, tl.F16)
		before = r.clock(t)
		x.Reshape(8, 8)
		after = r.clock(t)
	})
	same(t, "Reshape", after-before, r.dispatch)
}

// anyMemory draws a memory: the HBM slice of any PE, the SRAM of any cube, or the TCM of PE
// 0.
var anyMemory = rapid.Custom(func(t *rapid.T) memory.ID {
	id := anyPE.Draw(t, "of")
	p := memory.ID{Kind: oplog.HBM, SIP: int32(id / 128), Cube: int32(id / 8 % 16), PE: int32(id % 8)}
	switch rapid.IntRange(0, 2).Draw(t, "memory") {
	case 1:
		p.Kind, p.PE = oplog.SRAM, 0
	case 2:
		p = memory.ID{Kind: oplog.TCM}
	}
	return p
})

// TestLoadAndStoreTakeTheirFormula checks that Load and Store without contention take
// exactly the sum of dispatch, scheduler, DMA set-up and the closed-form time of the path.
// A Load or Store of no elements takes only its dispatch.
func TestLoadAndStoreTakeTheirFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := anyPESets.Draw(t, "sets")
		id := anyMemory.Draw(t, "memory")
		store := rapid.Bool().Draw(t, "store")
		n := 1024 * rapid.IntRange(1, 40).Draw(t, "whole groups") // elements of 2 B, a multiple of 8 bursts
		if rapid.Bool().Draw(t, "small") {
			n = rapid.IntRange(0, 1024).Draw(t, "elements")
		}
		r := newRig(t, Options{}, sets...)
		x := r.place(id, n)
		size := memory.Bytes(2 * n)

		idle := r.callsFor(r.scheduler + r.fullTime(n, 2))
		got := r.runAlone(func(t *tl.PE) {
			if !store {
				t.Load(x, tl.Shape{n}, tl.F16)
				return
			}
			y := t.Zeros(tl.Shape{n}, tl.F16)
			spendCalls(t, idle)
			t.Store(x, y)
		})
		var want simtime.Time
		switch {
		case n == 0 && !store:
			want = r.dispatch
		case n == 0:
			want = simtime.Time(1+idle+1) * r.dispatch
		case store:
			want = r.callTime(1+idle+1) + r.storeTime(id, size)
		default:
			want = r.callTime(1) + r.loadTime(id, size)
		}
		if got != want {
			t.Fatalf("%v at %v (store: %v): ends at %v, want %v", size, id, store, got, want)
		}
	})
}

// TestAMaskedLoadMovesOnlyValidElements checks that a masked load takes only the time of
// the elements that the mask selects.
func TestAMaskedLoadMovesOnlyValidElements(t *testing.T) {
	for _, c := range []struct{ mask, moves int }{{-3, 0}, {0, 0}, {1, 1}, {100, 100}, {1024, 1024}, {5000, 1024}} {
		r := newRig(t, Options{})
		x := r.tensor(0, 1024)
		got := r.runAlone(func(t *tl.PE) { t.Load(x, tl.Shape{1024}, tl.F16, tl.Mask(c.mask)) })
		want := r.dispatch
		if c.moves > 0 {
			want = r.callTime(1) + r.setup + r.transferTime(r.hbm(0), r.tcm(0), memory.Bytes(2*c.moves))
		}
		if got != want {
			t.Errorf("mask %d: the load ends at %v, want %v", c.mask, got, want)
		}
	}
}
