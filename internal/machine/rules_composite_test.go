package machine

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// product is a composite GEMM of f16 matrices in the HBM of PE 0. Each operand is either
// streamed tile by tile or pinned, which means loaded before the composite starts.
type product struct {
	m, k, n    int
	pinA, pinB bool    // the operand is loaded before
	epilogue   []tl.Op // unary operations on the result
	bias       bool    // a row is added to every row of the result, before epilogue
}

// anyProduct draws a product of up to about a hundred tiles. Tiles at the edges may be
// smaller than others.
var anyProduct = rapid.Custom(func(t *rapid.T) product {
	p := product{
		m: rapid.IntRange(1, 100).Draw(t, "m"), k: rapid.IntRange(1, 400).Draw(t, "k"), n: rapid.IntRange(1, 100).Draw(t, "n"),
		pinA: rapid.Bool().Draw(t, "pin a"), pinB: rapid.Bool().Draw(t, "pin b"), bias: rapid.Bool().Draw(t, "bias"),
	}
	if rapid.Bool().Draw(t, "whole tiles") {
		p.m, p.k, p.n = (p.m+31)/32*32, (p.k+63)/64*64, (p.n+31)/32*32
	}
	if rapid.Bool().Draw(t, "epilogue") {
		p.epilogue = []tl.Op{tl.OpExp, tl.OpNeg}
	}
	return p
})

// tileStep is the work for one tile of a product, as the documentation describes it: the
// regions of HBM that are read and written, and how long each engine works.
type tileStep struct {
	reads, writes            []memory.Region
	fetch, gemm, math, store simtime.Time
}

// matrix is the address and the width of an f16 matrix in HBM.
type matrix struct {
	addr memory.Addr
	cols int
}

// box returns the region of the given number of rows and columns that starts at element
// (row, col).
func (x matrix) box(row, col, rows, cols int) memory.Region {
	stride := memory.Bytes(2 * x.cols)
	r := memory.Region{
		Addr: x.addr + memory.Addr(row)*memory.Addr(stride) + memory.Addr(2*col),
		Rows: int64(rows), RowBytes: memory.Bytes(2 * cols), Stride: stride,
	}
	if cols == x.cols {
		return memory.Contiguous(r.Addr, r.Bytes())
	}
	return r
}

// va returns the virtual address of a tensor.
func (r *rig) va(p tl.Ptr) memory.VA { return memory.VA(p.Addr) }

// addr returns the address of a tensor within the memory that holds it.
func (r *rig) addr(p tl.Ptr) memory.Addr {
	access, err := r.Space.Translate(r.va(p), 1)
	if err != nil {
		r.Fatal(err)
	}
	for seg := range access.Segments {
		return seg.Addr
	}
	return 0
}

// productRun is a product that has run, with the steps of which it consists.
type productRun struct {
	*rig
	steps          []tileStep
	op             oplog.Op     // the product in the op log
	pinnedPortTime simtime.Time // DMA port time of the loads of pinned operands
}

// multiply runs the product on a new machine in the default fidelity. The result also holds
// the steps of the product.
func (p product) multiply(t tester) *productRun {
	t.Helper()
	return p.multiplyWith(t, fabric.Train)
}

// multiplyWith runs the product on a new machine in fidelity fid. The result also holds the
// steps of the product.
func (p product) multiplyWith(t tester, fid fabric.Fidelity) *productRun {
	t.Helper()
	r := newRig(t, Options{Fidelity: fid, Log: true})
	a, b, c, bias := r.tensor(0, p.m, p.k), r.tensor(0, p.k, p.n), r.tensor(0, p.m, p.n), r.tensor(0, 1, p.n)
	r.runAlone(func(t *tl.PE) {
		x, y := t.Ref(a, tl.Shape{p.m, p.k}, tl.F16), t.Ref(b, tl.Shape{p.k, p.n}, tl.F16)
		if p.pinA {
			x = t.Load(a, tl.Shape{p.m, p.k}, tl.F16)
		}
		if p.pinB {
			y = t.Load(b, tl.Shape{p.k, p.n}, tl.F16)
		}
		if p.pinA || p.pinB { // long enough for a load of 100 × 400
			spendCalls(t, 2000)
		}
		var steps []tl.Step
		if p.bias {
			steps = append(steps, tl.Do(tl.OpAdd, t.Ref(bias, tl.Shape{1, p.n}, tl.F16)))
		}
		for _, op := range p.epilogue {
			steps = append(steps, tl.Do(op))
		}
		t.Wait(t.Composite(tl.Gemm(x, y, c), steps...))
	})
	out := &productRun{rig: r, op: r.op(oplog.Gemm)}
	for _, x := range []struct {
		pinned bool
		n      int
	}{{p.pinA, p.m * p.k}, {p.pinB, p.k * p.n}} {
		if x.pinned {
			out.pinnedPortTime += r.portTime(memory.Bytes(2 * x.n))
		}
	}
	out.steps = p.steps(r, matrix{r.addr(a), p.k}, matrix{r.addr(b), p.n}, matrix{r.addr(c), p.n}, matrix{r.addr(bias), p.n})
	return out
}

// steps returns the work for each tile of the product, in order: row by row of the result,
// with K as the innermost loop. a, b and bias are the operands, c is the result.
func (p product) steps(r *rig, a, b, c, bias matrix) (list []tileStep) {
	s, tile := r.spec.PE, r.spec.PE.GEMM.Tile
	port := func(bw topology.BytesPerSec, elems int) simtime.Time {
		return s.TCM.Overhead + max(bw.Serialize(memory.Bytes(2*elems)), s.FetchStore.Bandwidth.Serialize(memory.Bytes(2*elems)))
	}
	for row := 0; row < p.m; row += tile.M {
		for col := 0; col < p.n; col += tile.N {
			for in := 0; in < p.k; in += tile.K {
				rows, cols, ins := min(tile.M, p.m-row), min(tile.N, p.n-col), min(tile.K, p.k-in)
				st := tileStep{gemm: pe.GemmTime(s.GEMM, rows, ins, cols)}
				fetched := rows*ins + ins*cols
				if !p.pinA {
					st.reads = append(st.reads, a.box(row, in, rows, ins))
				}
				if !p.pinB {
					st.reads = append(st.reads, b.box(in, col, ins, cols))
				}
				if in+ins == p.k {
					if p.bias {
						st.reads = append(st.reads, bias.box(0, col, 1, cols))
						fetched += cols
						st.math += pe.MathTime(s.Math, s.Math.Cycles.Simple, rows*cols)
					}
					for _, op := range p.epilogue {
						cycles := map[tl.Op]int{tl.OpExp: s.Math.Cycles.Exp, tl.OpNeg: s.Math.Cycles.Simple}[op]
						st.math += pe.MathTime(s.Math, cycles, rows*cols)
					}
					st.store = port(s.TCM.WriteBandwidth, rows*cols)
					st.writes = append(st.writes, c.box(row, col, rows, cols))
				}
				st.fetch = port(s.TCM.ReadBandwidth, fetched)
				list = append(list, st)
			}
		}
	}
	return list
}

// portTime returns how long n bytes occupy the port of the DMA engine.
func (r *rig) portTime(n memory.Bytes) simtime.Time {
	bw, flit := r.spec.PE.DMA.Bandwidth, r.spec.System.Flit
	return simtime.Time(n/flit)*bw.Serialize(flit) + bw.Serialize(n%flit)
}

// busyTimes is how long each engine and each HBM channel works, without waiting. A channel
// counts whole bursts.
type busyTimes struct {
	fetch, gemm, math, store, read, write simtime.Time
	channels                              []simtime.Time
}

// busyTimes sums the times of all steps, for each engine and each HBM channel.
func (p *productRun) busyTimes() busyTimes {
	h := memory.NewHBM(p.spec.Cube.HBM)
	b := busyTimes{channels: make([]simtime.Time, h.Channels)}
	access := func(list []memory.Region, port *simtime.Time) {
		for _, r := range list {
			*port += p.portTime(r.Bytes())
			for off := memory.Bytes(0); off < r.Bytes(); {
				piece := h.BurstAt(r, off)
				b.channels[piece.Channel] += h.BurstTime
				off = piece.End
			}
		}
	}
	for _, s := range p.steps {
		b.fetch, b.gemm, b.math, b.store = b.fetch+s.fetch, b.gemm+s.gemm, b.math+s.math, b.store+s.store
		access(s.reads, &b.read)
		access(s.writes, &b.write)
	}
	return b
}

// longest returns the busy time of the engine or HBM channel that is busy longest.
func (b busyTimes) longest() simtime.Time {
	return max(b.fetch, b.gemm, b.math, b.store, b.read, b.write, slices.Max(b.channels))
}

// duration returns the time from the first transfer of the product until its whole result
// is in memory. If both operands are pinned, the time begins when the product reaches the
// engines.
func (p *productRun) duration() simtime.Time {
	return p.op.End - max(p.op.Start, p.op.Issue+p.scheduler)
}

// sequentialTime returns how long the product would take if the stages of all steps ran one
// after another, with one transfer at a time.
func (p *productRun) sequentialTime() simtime.Time {
	p.Helper()
	r := newRig(p.tester, Options{})
	l, err := r.Launch("series", []PEID{0}, func(proc *sim.Proc, at *PE) {
		do := func(op memory.Op, list []memory.Region) {
			for _, region := range list {
				req := at.Request(op, r.hbm(0), region, 0)
				at.DMA.Submit(&req)
				at.DMA.Drain(proc)
			}
		}
		for _, s := range p.steps {
			do(memory.Read, s.reads)
			proc.Sleep(s.fetch + s.gemm + s.math + s.store)
			do(memory.Write, s.writes)
		}
	}, sim.Event{})
	if err != nil {
		p.Fatal(err)
	}
	if err := r.Engine.Run(context.Background()); err != nil {
		p.Fatal(err)
	}
	return l.Critical()
}

// TestCompositeStagesOverlap runs a product of 32×3072×32 with both operands streamed, in
// both fidelities. It checks that the duration of the product is at most 10 % longer than
// the busy time of the busiest engine or HBM channel.
func TestCompositeStagesOverlap(t *testing.T) {
	for name, fid := range fidelities {
		p := product{m: 32, k: 3072, n: 32}.multiplyWith(t, fid)
		busiest, took := p.busyTimes().longest(), p.duration()
		ratio := float64(took) / float64(busiest)
		t.Logf("%s: the product takes %v, the busiest engine or channel works for %v: %.3f", name, took, busiest, ratio)
		if ratio < 1 || ratio > 1.1 {
			t.Errorf("%s: the product takes %v, which is %.3f of the longest busy time %v, want 1 to 1.1", name, took, ratio, busiest)
		}
	}
}

// TestCompositeIsBetweenRooflineAndSumOfStages checks two bounds for random products. A
// product takes at least as long as its busiest engine or channel works. It takes at most
// as long as its stages one after another.
func TestCompositeIsBetweenRooflineAndSumOfStages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyProduct.Draw(t, "product").multiply(t)
		if least, most, got := p.busyTimes().longest(), p.sequentialTime(), p.duration(); got < least || got > most {
			t.Fatalf("the product takes %v, want %v to %v", got, least, most)
		}
	})
}

// TestCompositeEnginesAreBusyForTheirSteps checks that the busy time of every engine is the
// sum of its steps, including epilogues. The DMA engine reads a pinned operand once as a
// whole, not tile by tile.
func TestCompositeEnginesAreBusyForTheirSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyProduct.Draw(t, "product").multiply(t)
		want, on := p.busyTimes(), p.PE(0)
		for _, c := range []struct {
			engine    string
			got, want simtime.Time
		}{
			{"DMA read", on.DMABusy(memory.Read), want.read + p.pinnedPortTime},
			{"DMA write", on.DMABusy(memory.Write), want.write},
			{"fetch", on.Pipeline.Fetch.Busy, want.fetch},
			{"GEMM", on.Pipeline.Units[pe.GEMM].Busy, want.gemm},
			{"MATH", on.Pipeline.Units[pe.MATH].Busy, want.math},
			{"store", on.Pipeline.Store.Busy, want.store},
		} {
			if c.got != c.want {
				t.Fatalf("%s is busy for %v, want %v", c.engine, c.got, c.want)
			}
		}
	})
}

// TestPinningRemovesPerTileReads checks that pinning an operand saves 48 reads of 4 KiB and
// makes the product faster. A pinned operand is loaded before the composite, so that the
// composite does not read its tiles. There are 3072 / 64 = 48 tiles with 32 · 64 elements
// of 2 bytes each.
func TestPinningRemovesPerTileReads(t *testing.T) {
	both := product{m: 32, k: 3072, n: 32}
	a, b := both, both
	a.pinA, b.pinB = true, true
	streamed := both.multiply(t)
	tiles := 48 * streamed.portTime(4096)
	for name, p := range map[string]*productRun{"a": a.multiply(t), "b": b.multiply(t)} {
		got := streamed.PE(0).DMABusy(memory.Read) - (p.PE(0).DMABusy(memory.Read) - p.pinnedPortTime)
		if got != tiles {
			t.Errorf("pinning %s removes %v, want %v", name, got, tiles)
		}
		if p.duration() >= streamed.duration() {
			t.Errorf("with %s pinned the product takes %v, want less than %v", name, p.duration(), streamed.duration())
		}
	}
}
