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

// chunk is the number of bytes that one step of ReducePeers reads from one rank.
const chunk = 16 << 10

// reduction is a ReducePeers of a vector over several PEs. The first PE, the root, runs it.
type reduction struct {
	*rig
	pes   []PEID
	x     []tl.Ptr // the part of each PE
	out   tl.Ptr
	to    memory.ID // the memory of out
	dtype tl.DType
	n     int
}

// newReduction maps a window with a part of n elements at each PE. It also maps the result
// in a memory of the root, which is the first PE of pes. `to` is the kind of this memory.
func newReduction(r *rig, pes []PEID, n int, dtype tl.DType, to topology.Kind) *reduction {
	x := &reduction{rig: r, pes: pes, dtype: dtype, n: n}
	halves := max(1, n*dtype.Size()/2) // tensor maps elements of f16
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

// program returns a program in which the root runs the given kernel and the other PEs do
// nothing.
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

// reduce runs ReducePeers over the given peers, or over all ranks if there are none, and
// waits for its end.
func (x *reduction) reduce(t *tl.PE, op tl.Op, peers ...int) {
	t.Wait(t.Composite(tl.ReducePeers(op, x.out, x.x[0], tl.Shape{x.n}, x.dtype, peers...)))
}

// formula computes the documented time of ReducePeers over the given peers, from the start
// of the kernel until the last byte is written. It assumes that the DMA engine has one
// request in flight at a time.
func (x *reduction) formula(peers []int) simtime.Time {
	const readAhead, outputs = 8, 2 // buffers for chunks read, and for results
	s := &x.spec.PE
	elem := x.dtype.Size()
	port := func(bw topology.BytesPerSec, n int) simtime.Time {
		return s.TCM.Overhead + max(bw.Serialize(memory.Bytes(n)), s.FetchStore.Bandwidth.Serialize(memory.Bytes(n)))
	}
	var (
		called                        = x.callTime(1)
		arrived, fetched, run, stored simtime.Time // when the latest step has passed each stage
		began, end                    simtime.Time
		free                          []simtime.Time // when each step has been fetched, which frees its buffer
		written                       []simtime.Time // when each chunk is in memory
	)
	for at := 0; at < x.n*elem; at += chunk {
		bytes := min(chunk, x.n*elem-at)
		for i, peer := range peers {
			asked := called
			if step := len(free); step >= readAhead {
				asked = max(asked, free[step-readAhead])
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

// TestReducePeersTakesItsFormula checks that ReducePeers takes exactly the time that the
// method `formula` returns, if one DMA request is in flight at a time. It varies the
// fidelity, the number of ranks, the size, the dtype and the engine that is the bottleneck.
func TestReducePeersTakesItsFormula(t *testing.T) {
	for _, setting := range []string{"pe.math.vector_width=64", "pe.math.vector_width=4", "pe.fetch_store.bandwidth=16 GB/s", "pe.fetch_store.bandwidth=4 GB/s"} {
		for _, ranks := range []int{1, 2, 3, 5, 7} {
			for i, dtype := range []tl.DType{tl.F16, tl.F32, tl.F64, tl.I8} {
				for name, fid := range fidelities {
					bytes := []int{8, 200, 1992, chunk, 2*chunk + 1000, 12 * chunk}[(i+ranks)%6]
					r := newRig(t, Options{Log: true, Fidelity: fid}, set("pe.dma.outstanding", 1), setting)
					var pes []PEID
					var peers []int // in descending order
					for i := range ranks {
						pes, peers = append(pes, PEID(9*i)), append(peers, ranks-1-i)
					}
					to := topology.KindHBM
					if bytes > chunk { // otherwise writes compete with reads of the root's own window
						to = topology.KindSRAM
					}
					x := newReduction(r, pes, bytes/dtype.Size(), dtype, to)
					run := r.run(x.program(func(t *tl.PE) { x.reduce(t, tl.OpAdd, peers...) }))
					what := fmt.Sprintf("%s, %s: %d B of %v of %d ranks", name, setting, bytes, dtype, ranks)
					op := r.op(oplog.ReducePeers)
					same(t, what+" end", op.End-run.Start, x.formula(peers))
					same(t, what+" start", op.Start-run.Start, r.callTime(1)+r.setup)
					same(t, what+" steps", int(op.Tiles), (bytes+chunk-1)/chunk*ranks)
				}
			}
		}
	}
}

// TestReducePeersOfOneChunk runs a ReducePeers of one chunk, with one DMA request in flight
// at a time, so that the reads are the bottleneck. It checks that the time of the
// ReducePeers is the sum of all reads, one fetch, one MATH operation, one store and the
// write.
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
			want += r.loadTime(r.hbm(id), bytes) - r.setup
		}
		same(t, fmt.Sprintf("%d ranks", ranks), r.op(oplog.ReducePeers).End-run.Start, want)
		same(t, fmt.Sprintf("the root of %d ranks", ranks), run.ExecOf(0), want)
	}
}

// TestReducePeersOverlapsItsReads checks that ReducePeers is faster with more than one DMA
// request in flight, but takes at least as long as its reads occupy the port of the DMA
// engine.
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
				t.Errorf("%d ranks, %d outstanding: %v, want at least the %v of the port", ranks, outstanding, took[len(took)-1], least)
			}
		}
		if took[1] >= took[0] || took[2] >= took[0] { // 8 may be slower than 2, because reads of one HBM slice share its channels
			t.Errorf("%d ranks: %v with 1, 2 and 8 requests outstanding, want less time with 2 and 8 than with 1", ranks, took)
		}
	}
}

// TestReducePeersTakesAsLongAsItsSlowestRead runs ReducePeers on a machine where only links
// between devices take time. It checks that the reads of a chunk run at the same time. The
// farthest peer is ranks/2 devices away: the request and then the first flit pass ranks/2
// links, and the rest of the chunk follows it on the last link.
func TestReducePeersTakesAsLongAsItsSlowestRead(t *testing.T) {
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
				want += simtime.Time(ranks/2)*link.Latency + link.Bandwidth.Serialize(r.spec.PE.IPCQ.CreditBytes) // the request
				same(t, fmt.Sprintf("%d B of %v of %d ranks", bytes, dtype, ranks), run.Critical(), want)
			}
		}
	}
}

// TestReducePeersIsDispatchedOnce checks that the CPU continues after one dispatch of
// ReducePeers, for any size. ReducePeers must use TCM for only eight chunks and two
// results.
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
		keep.Sum(0) // an error if the tile was evicted
	}))
	same(t, "the CPU after two calls", after-run.Start, 2*r.dispatch)
}

// TestReducePeersErrors checks the errors of ReducePeers that only the machine can detect.
// They must name the kernel, PE, operation and line.
func TestReducePeersErrors(t *testing.T) {
	const k = "kernel k on sip0.cube0.pe0: "
	for _, c := range []struct {
		root func(t *tl.PE, x *reduction)
		want string
	}{
		{func(t *tl.PE, x *reduction) {
			t.Zeros(tl.Shape{2<<20 - 32768}, tl.I8).Pin() // leaves 32 KiB; the operation needs two chunks and two results
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

// TestReducePeersOfNoElements checks that a ReducePeers of 0 elements takes only the
// dispatches of ReducePeers and of Wait.
func TestReducePeersOfNoElements(t *testing.T) {
	for _, shape := range []tl.Shape{{0}, {0, 8}, {8, 0}, {2, 0, 3}} {
		r := newRig(t, Options{Log: true})
		x := newReduction(r, []PEID{0, 1}, 64, tl.F32, topology.KindHBM)
		run := r.run(x.program(func(t *tl.PE) {
			t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, x.out, x.x[0], shape, tl.F32)))
		}))
		same(t, fmt.Sprint(shape), run.ExecOf(0), 2*r.dispatch)
	}
}

// TestReducePeersInPlace checks that ReducePeers may write its result into the root's own
// part of the window.
func TestReducePeersInPlace(t *testing.T) {
	r := newRig(t, Options{Log: true})
	x := newReduction(r, []PEID{0, 1, 2}, 5000, tl.F32, topology.KindHBM)
	x.out = x.x[0]
	r.run(x.program(func(t *tl.PE) { x.reduce(t, tl.OpAdd) }))
	op := r.op(oplog.ReducePeers)
	same(t, "written", op.Mem[0], op.Args[0].Mem[0])
}

// TestReducePeersGoesBeforeLoads checks that reads of ReducePeers are of class comm, so
// that the DMA engine starts them before loads. The kernel issues 16 loads, and then a
// ReducePeers with one read. The first eight loads are already in flight. The read must
// start before the ninth load.
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
	if eighth, ninth := loads[7].Start, loads[8].Start; op.Start <= eighth || op.Start >= ninth {
		t.Errorf("it starts at %v, want a time between %v and %v, the starts of the eighth and ninth load", op.Start, eighth, ninth)
	}
}
