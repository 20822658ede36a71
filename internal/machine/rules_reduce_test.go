package machine

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// chunk is what a step of a ReducePeers works on.
const chunk = 16 << 10

// reduction is a ReducePeers of a vector at the first of some PEs.
type reduction struct {
	*rig
	pes   []PEID
	x     []tl.Ptr // the part of each PE
	out   tl.Ptr
	to    memory.ID // where out is
	dtype tl.DType
	n     int
}

// newReduction maps the parts of a window of n elements, and the result in a memory of the
// root.
func newReduction(r *rig, pes []PEID, n int, dtype tl.DType, to topology.Kind) *reduction {
	x := &reduction{rig: r, pes: pes, dtype: dtype, n: n}
	halves := max(1, n*dtype.Size()/2) // tensors are of f16
	view := func(p tl.Ptr) tl.Ptr {
		p.DType = dtype
		return p
	}
	for _, id := range pes {
		p := view(r.tensor(id, halves))
		p.Window = 1
		x.x = append(x.x, p)
	}
	x.to = r.PE(pes[0]).Memory(to)
	x.out = view(r.place(x.to, halves))
	return x
}

// program runs a kernel at the root.
func (x *reduction) program(root func(t *tl.PE)) Program {
	var parts []memory.Part
	for _, p := range x.x {
		parts = append(parts, memory.Part{VA: x.va(p), Bytes: memory.Bytes(x.n * x.dtype.Size())})
	}
	return Program{Targets: x.pes, Windows: [][]memory.Part{parts}, Body: func(t *tl.PE) {
		if t.Rank() == 0 {
			root(t)
		}
	}}
}

// reduce is the operation.
func (x *reduction) reduce(t *tl.PE, op tl.Op, peers ...int) {
	t.Wait(t.Composite(tl.ReducePeers(op, x.out, x.x[0], tl.Shape{x.n}, x.dtype, peers...)))
}

// formula is the time of the operation by the document, where the DMA engine has one
// request under way: from the dispatch to the last byte written.
func (x *reduction) formula(peers []int) simtime.Time {
	const deep, outputs = 8, 2
	s := &x.spec.PE
	elem := x.dtype.Size()
	port := func(bw topology.BytesPerSec, n int) simtime.Time {
		return s.TCM.Overhead + max(bw.Serialize(memory.Bytes(n)), s.FetchStore.Bandwidth.Serialize(memory.Bytes(n)))
	}
	var (
		called                        = x.callTime(1)
		arrived, fetched, run, stored simtime.Time // the last of each
		began, end                    simtime.Time
		free                          []simtime.Time // when each step has been fetched
		written                       []simtime.Time // when each chunk is in memory
	)
	for at := 0; at < x.n*elem; at += chunk {
		bytes := min(chunk, x.n*elem-at)
		for i, peer := range peers {
			asked := called
			if step := len(free); step >= deep {
				asked = max(asked, free[step-deep])
			}
			arrived = max(asked+x.setup, arrived) + x.transferTime(x.hbm(x.pes[peer]), x.tcm(x.pes[0]), memory.Bytes(bytes))
			fetched = max(arrived, fetched, began) + port(s.TCM.ReadBandwidth, bytes)
			free = append(free, fetched)
			if i > 0 {
				began = max(fetched, run)
				run = began + pe.MathTime(s.Math, s.Math.Cycles.Simple, bytes/elem)
			}
		}
		done := max(fetched, run)
		if c := len(written); c >= outputs {
			done = max(done, written[c-outputs])
		}
		stored = max(done, stored) + port(s.TCM.WriteBandwidth, bytes)
		end = max(stored+x.setup, end) + x.transferTime(x.tcm(x.pes[0]), x.to, memory.Bytes(bytes))
		written = append(written, end)
	}
	return end
}

// TestReducePeersTakesItsFormula: with one request of the DMA engine at a time, to the
// femtosecond, for any number of peers, size and dtype, whichever engine sets the pace.
func TestReducePeersTakesItsFormula(t *testing.T) {
	for _, slow := range []string{"pe.math.vector_width=64", "pe.math.vector_width=4", "pe.fetch_store.bandwidth=16 GB/s", "pe.fetch_store.bandwidth=4 GB/s"} {
		for _, ranks := range []int{1, 2, 3, 5, 7} {
			for i, dtype := range []tl.DType{tl.F16, tl.F32, tl.F64, tl.I8} {
				for name, fid := range fidelities {
					bytes := []int{8, 200, 1992, chunk, 2*chunk + 1000, 12 * chunk}[(i+ranks)%6]
					r := newRig(t, Options{Log: true, Fidelity: fid}, set("pe.dma.outstanding", 1), slow)
					var pes []PEID
					var peers []int // the last first
					for i := range ranks {
						pes, peers = append(pes, PEID(9*i)), append(peers, ranks-1-i)
					}
					to := topology.KindHBM
					if bytes > chunk { // or writes compete with reads of the root's own part
						to = topology.KindSRAM
					}
					x := newReduction(r, pes, bytes/dtype.Size(), dtype, to)
					run := r.run(x.program(func(t *tl.PE) { x.reduce(t, tl.OpAdd, peers...) }))
					what := fmt.Sprintf("%s, %s: %d B of %v of %d ranks", name, slow, bytes, dtype, ranks)
					op := r.op(oplog.ReducePeers)
					same(t, what+" end", op.End-run.Start, x.formula(peers))
					same(t, what+" start", op.Start-run.Start, r.callTime(1)+r.setup)
					same(t, what+" have steps", int(op.Tiles), (bytes+chunk-1)/chunk*ranks)
				}
			}
		}
	}
}

// TestReducePeersOfOneChunk: where the reads set the pace, the operation takes the sum of
// them, one fetch, operation and store, and the write.
func TestReducePeersOfOneChunk(t *testing.T) {
	const n, bytes = 249, 1992
	for _, ranks := range []int{2, 3, 5, 7} {
		r := newRig(t, Options{Log: true}, set("pe.dma.outstanding", 1))
		var pes []PEID
		for i := range ranks {
			pes = append(pes, PEID(30*i))
		}
		x := newReduction(r, pes, n, tl.F64, topology.KindHBM)
		run := r.run(x.program(func(t *tl.PE) { x.reduce(t, tl.OpMinimum) }))
		want := r.callTime(1) + r.setup + pe.CommandTime(r.spec.PE, bytes, pe.MathTime(r.spec.PE.Math, r.spec.PE.Math.Cycles.Simple, n), bytes) +
			r.setup + r.transferTime(r.tcm(0), r.hbm(0), bytes)
		for _, id := range pes {
			want += r.transferTime(r.hbm(id), r.tcm(0), bytes)
		}
		same(t, fmt.Sprintf("%d ranks", ranks), r.op(oplog.ReducePeers).End-run.Start, want)
		same(t, fmt.Sprintf("the root of %d ranks", ranks), run.ExecOf(0), want)
	}
}

// TestReducePeersOverlapsItsReads: with more requests under way the operation is faster,
// and no faster than its reads keep the port of the DMA engine busy.
func TestReducePeersOverlapsItsReads(t *testing.T) {
	const bytes = 5*chunk + 1000
	for _, ranks := range []int{2, 3, 5, 7} {
		var took []simtime.Time
		for _, outstanding := range []int{1, 2, 8} {
			r := newRig(t, Options{Log: true}, set("pe.dma.outstanding", outstanding))
			var pes []PEID
			for i := range ranks {
				pes = append(pes, PEID(9*i))
			}
			x := newReduction(r, pes, bytes/4, tl.F32, topology.KindSRAM)
			took = append(took, r.run(x.program(func(t *tl.PE) { x.reduce(t, tl.OpAdd) })).ExecOf(0))
			if least := simtime.Time(ranks) * r.portTime(bytes); took[len(took)-1] < least {
				t.Errorf("%d ranks, %d outstanding: %v, less than the %v of the port", ranks, outstanding, took[len(took)-1], least)
			}
		}
		if took[1] >= took[0] || took[2] >= took[0] { // 8 may be slower than 2: reads of one slice share its channels
			t.Errorf("%d ranks: %v with 1, 2 and 8 requests outstanding, want less with several", ranks, took)
		}
	}
}

// TestReducePeersIsItsSlowestGet: on a machine where only links between devices take time,
// the reads of a chunk go at once, and the farthest is d = ranks/2 devices away. A flit
// passes d links, the rest of the chunk follows on the last.
func TestReducePeersIsItsSlowestGet(t *testing.T) {
	for _, ranks := range []int{2, 3, 5, 7} {
		for _, dtype := range []tl.DType{tl.BF16, tl.F32, tl.U64} {
			for _, bytes := range []int{8, 256, 4096} {
				r := newPresetRig(t, Options{Log: true}, "alpha_beta", set("system.sips.count", ranks))
				var pes []PEID
				for i := range ranks {
					pes = append(pes, PEID(i))
				}
				x := newReduction(r, pes, bytes/dtype.Size(), dtype, topology.KindHBM)
				run := r.run(x.program(func(t *tl.PE) { x.reduce(t, tl.OpMaximum) }))
				flit := r.spec.System.Flit
				link := r.spec.System.SIPs.Link
				want := simtime.Time(ranks/2)*link.Latency + link.Bandwidth.Serialize(memory.Bytes(bytes))
				want += simtime.Time(ranks/2-1) * link.Bandwidth.Serialize(min(flit, memory.Bytes(bytes)))
				same(t, fmt.Sprintf("%d B of %v of %d ranks", bytes, dtype, ranks), run.Critical(), want)
			}
		}
	}
}

// TestReducePeersIsDispatchedOnce: the CPU goes on after one dispatch, whatever the size,
// and eight chunks and two results are all that the operation takes of TCM.
func TestReducePeersIsDispatchedOnce(t *testing.T) {
	const need = (8 + 2) * chunk
	r := newRig(t, Options{})
	x := newReduction(r, []PEID{0, 1, 2}, 1<<20, tl.F32, topology.KindHBM) // twice as large as TCM
	var after simtime.Time
	run := r.run(x.program(func(t *tl.PE) {
		keep := t.Zeros(tl.Shape{(2<<20 - need) / 4}, tl.F32)
		h := t.Composite(tl.ReducePeers(tl.OpAdd, x.out, x.x[0], tl.Shape{x.n}, x.dtype))
		after = r.clock(t)
		t.Wait(h)
		keep.Sum(0) // an error if it has gone
	}))
	same(t, "the CPU after two calls", after-run.Start, 2*r.dispatch)
}

// TestReducePeersRefuses: what only the machine knows, with kernel, PE, operation and line.
func TestReducePeersRefuses(t *testing.T) {
	const k = "kernel k on sip0.cube0.pe0: "
	for _, c := range []struct {
		root func(t *tl.PE, x *reduction)
		want string
	}{
		{func(t *tl.PE, x *reduction) {
			t.Zeros(tl.Shape{2<<20 - 32768}, tl.I8).Pin() // two chunks and two results are the least
			x.reduce(t, tl.OpAdd, 1, 0)
		}, k + "ReducePeers(add, [4096] f32 of ranks [1 0]) at rules_reduce_test.go:LINE: TCM overflow: 64KiB asked, 32KiB of 2MiB free: use fewer or smaller tiles, or Free pinned ones"},
		{func(t *tl.PE, x *reduction) {
			t.Composite(tl.ReducePeers(tl.OpAdd, x.out, x.x[0].At(1), tl.Shape{4096}, tl.F32, 1))
		}, k + "ReducePeers(add, [4096] f32 of ranks [1]) at rules_reduce_test.go:LINE: elements 1 to 4096 are not all in the shard of rank 1 of the window, which has 4096: move the pointer, or mask what lies beyond"},
		{func(t *tl.PE, x *reduction) {
			t.Composite(tl.ReducePeers(tl.OpAdd, x.x[0].At(8), x.x[0], tl.Shape{64}, tl.F32))
		}, k + "ReducePeers(add, [64] f32 of all ranks) at rules_reduce_test.go:LINE: the result overlaps an operand in memory, which is read tile by tile while it is written: give it memory of its own"},
		{func(t *tl.PE, x *reduction) {
			t.Composite(tl.ReducePeers(tl.OpAdd, x.out, x.x[0].Strided(2), tl.Shape{64}, tl.F32))
		}, k + "ReducePeers(add, [64] f32 of all ranks) at rules_reduce_test.go:LINE: the elements of a row are not side by side: composites need dense rows"},
	} {
		x := newReduction(newRig(t, Options{}), []PEID{0, 1}, 4096, tl.F32, topology.KindHBM)
		got := regexp.MustCompile(`_test\.go:\d+`).ReplaceAllString(x.failure(x.program(func(t *tl.PE) { c.root(t, x) })).Error(), "_test.go:LINE")
		same(t, "the error", got, c.want)
	}
}

// TestReducePeersOfNothing takes the time that it takes to say so: two calls.
func TestReducePeersOfNothing(t *testing.T) {
	for _, shape := range []tl.Shape{{0}, {0, 8}, {8, 0}, {2, 0, 3}} {
		r := newRig(t, Options{Log: true})
		x := newReduction(r, []PEID{0, 1}, 64, tl.F32, topology.KindHBM)
		run := r.run(x.program(func(t *tl.PE) {
			t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, x.out, x.x[0], shape, tl.F32)))
		}))
		same(t, fmt.Sprint(shape), run.ExecOf(0), 2*r.dispatch)
	}
}

// TestReducePeersInPlace: the result may be the root's own part of the window.
func TestReducePeersInPlace(t *testing.T) {
	r := newRig(t, Options{Log: true})
	x := newReduction(r, []PEID{0, 1, 2}, 5000, tl.F32, topology.KindHBM)
	x.out = x.x[0]
	r.run(x.program(func(t *tl.PE) { x.reduce(t, tl.OpAdd) }))
	op := r.op(oplog.ReducePeers)
	same(t, "written", op.Mem[0], op.Args[0].Mem[0])
}

// TestReducePeersGoesBeforeLoads: its reads are of class comm. Behind eight loads that are
// under way, they are the next, and the loads that came before them wait.
func TestReducePeersGoesBeforeLoads(t *testing.T) {
	r := newRig(t, Options{Log: true})
	x := newReduction(r, []PEID{0, 1}, 1024, tl.F32, topology.KindHBM)
	big := r.tensor(0, 64<<10)
	r.run(x.program(func(t *tl.PE) {
		for i := range 16 {
			t.Load(big.At(4096*i), tl.Shape{4096}, tl.F16)
		}
		x.reduce(t, tl.OpAdd, 1)
	}))
	loads, op := r.ops(oplog.Load), r.op(oplog.ReducePeers)
	if first := loads[7].Start; op.Start <= first || op.Start >= loads[9].Start {
		t.Errorf("it starts at %v, the loads before it at %v and %v", op.Start, first, loads[9].Start)
	}
}
