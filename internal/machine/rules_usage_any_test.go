package machine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// kernelStep is a step of a random kernel, which all PEs of a ring run.
type kernelStep struct {
	name string
	// do runs the step and returns a tile for the next step. n is the size of the step. x and
	// y are tensors in the HBM of the PE; other PEs may also write x. v is the tile of the
	// previous step.
	do func(t *tl.PE, n int, x, y tl.Ptr, v tl.Tile) tl.Tile
}

// nextRank returns the rank of the next PE of the ring.
func nextRank(t *tl.PE) int { return (t.Rank() + 1) % t.NumRanks() }

// kernelSteps are steps without composites.
var kernelSteps = []kernelStep{
	{"load", func(t *tl.PE, n int, x, _ tl.Ptr, _ tl.Tile) tl.Tile { return t.Load(x, tl.Shape{n, n}, tl.F16) }},
	{"store", func(t *tl.PE, n int, _, y tl.Ptr, v tl.Tile) tl.Tile { t.Store(y, v); return v }},
	{"dot", func(t *tl.PE, n int, _, _ tl.Ptr, _ tl.Tile) tl.Tile {
		a := t.Zeros(tl.Shape{n, n}, tl.F16)
		return a.Dot(a).To(tl.F16)
	}},
	{"math", func(t *tl.PE, _ int, _, _ tl.Ptr, v tl.Tile) tl.Tile { return v.Exp() }},
	{"nothing", func(t *tl.PE, n int, _, _ tl.Ptr, v tl.Tile) tl.Tile { spendCalls(t, n); return v }},
	{"send", func(t *tl.PE, n int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		t.Send(tl.East, t.Zeros(tl.Shape{n, n}, tl.F16))
		return t.Recv(tl.West, tl.Shape{n, n}, tl.F16)
	}},
	{"send from memory", func(t *tl.PE, n int, x, y tl.Ptr, v tl.Tile) tl.Tile {
		t.Send(tl.East, t.Ref(x, tl.Shape{n}, tl.F16))
		t.RecvInto(tl.West, y, tl.Shape{n}, tl.F16)
		return v
	}},
	{"receive while computing", func(t *tl.PE, n int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		h := t.RecvAsync(tl.West, tl.Shape{n}, tl.F16)
		t.Send(tl.East, t.Zeros(tl.Shape{n}, tl.F16))
		v.Exp()
		h.Wait()
		return v
	}},
	{"receive from any port", func(t *tl.PE, n int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		t.Send(tl.East, t.Zeros(tl.Shape{n}, tl.F16))
		t.Select(tl.CanRecv(tl.West))
		t.RecvAny(tl.Shape{n}, tl.F16)
		return v
	}},
	{"put", func(t *tl.PE, n int, x, _ tl.Ptr, v tl.Tile) tl.Tile {
		t.Put(nextRank(t), x, t.Zeros(tl.Shape{n, n}, tl.F16))
		return v
	}},
	{"get", func(t *tl.PE, n int, x, _ tl.Ptr, _ tl.Tile) tl.Tile {
		return t.Get(nextRank(t), x, tl.Shape{n, n}, tl.F16)
	}},
	{"signal", func(t *tl.PE, n int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		t.Notify(nextRank(t), n, tl.Add, 1)
		t.WaitSignal(n, tl.GE, 1)
		t.Notify(t.Rank(), n, tl.Add, -1)
		t.WaitSignal(n, tl.LE, 0)
		t.Send(tl.West, t.Zeros(tl.Shape{1}, tl.F16)) // the previous rank may change the signal again
		t.Recv(tl.East, tl.Shape{1}, tl.F16)
		return v
	}},
}

// compositeSteps are steps with composites. They are separate because the op log does not
// say when a composite keeps the engines busy.
var compositeSteps = []kernelStep{
	{"product", func(t *tl.PE, n int, x, y tl.Ptr, v tl.Tile) tl.Tile {
		a := t.Ref(x, tl.Shape{n, n}, tl.F16)
		t.Composite(tl.Gemm(a, a, y))
		return v
	}},
	{"stream", func(t *tl.PE, n int, x, _ tl.Ptr, v tl.Tile) tl.Tile {
		t.Wait(t.Composite(tl.Stream(tl.OpNeg, x, t.Ref(x, tl.Shape{n, n}, tl.F16))))
		return v
	}},
	{"reduction over peers", func(t *tl.PE, n int, x, y tl.Ptr, v tl.Tile) tl.Tile {
		t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, y, x, tl.Shape{n, n}, tl.F16), tl.Do(tl.OpMul, 2)))
		return v
	}},
}

// randomKernel is a kernel of random steps, with the size of each step.
type randomKernel struct {
	steps    []kernelStep
	sizes    []int
	ids      []PEID
	queues   topology.IPCQ
	fidelity fabric.Fidelity
	limit    simtime.Time // 0 is none
	split    bool         // each SIP is simulated by itself
	again    simtime.Time // if positive, the host copies data at this time and launches the kernel again
}

// anyKernel draws a kernel with up to 12 of the given steps.
func anyKernel(t *rapid.T, choices []kernelStep) (k randomKernel) {
	k.ids = rapid.SampledFrom([][]PEID{{0, 1}, {0, 100}, {3, 9, 200}}).Draw(t, "PEs")
	k.queues.BufferKind = rapid.SampledFrom(topology.BufferKinds).Draw(t, "slots")
	k.fidelity = rapid.SampledFrom([]fabric.Fidelity{fabric.Train, fabric.Flit}).Draw(t, "fidelity")
	names := make([]string, len(choices))
	for i, d := range choices {
		names[i] = d.name
	}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 12).Draw(t, "steps") {
		i := slices.Index(names, name)
		k.steps, k.sizes = append(k.steps, choices[i]), append(k.sizes, rapid.SampledFrom([]int{1, 16, 64, 90}).Draw(t, "size"))
	}
	return k
}

// run runs the kernel on a new machine. If `measure` is true, it measures when each engine
// is busy. If rec is given, it records a trace there.
func (k randomKernel) run(t tester, measure bool, rec ...*trace.Recorder) (*rig, *Run) {
	t.Helper()
	o := Options{Log: true, Fidelity: k.fidelity}
	if len(rec) > 0 {
		o.Trace = rec[0]
	}
	r := newRig(t, o)
	if r.Measuring = measure; k.split {
		r.launcher.dense = 1
	}
	return r, r.run(k.program(r))
}

// program maps the tensors of the kernel on the machine r and returns a program that runs
// the kernel.
func (k randomKernel) program(r *rig) Program {
	r.Helper()
	const n = 90
	x, windows := r.window(n*n, k.ids...)
	y := make([]tl.Ptr, len(k.ids))
	for i, id := range k.ids {
		y[i] = r.tensor(id, n, n)
		x[i].Rank, x[i].Stride = 2, y[i].Stride
	}
	return Program{Name: "k", Targets: k.ids, Links: ring(k.ids...), Windows: windows, Queues: k.queues, Body: func(t *tl.PE) {
		v := t.Zeros(tl.Shape{n, n}, tl.F16)
		for i, s := range k.steps {
			v = s.do(t, k.sizes[i], x[t.Rank()], y[t.Rank()], v)
		}
	}}
}

// sumIntervals computes the breakdown of a PE over the time [from, end), independently of
// Run.Breakdown. It visits each interval in which no engine changes between busy and idle.
// `own` is the time at which the kernel ended on the PE.
func sumIntervals(u *pe.Usage, from, own, end simtime.Time) (b Breakdown) {
	comm := slices.Concat(u.DMA[fabric.Comm], u.Waits, pe.Spans{{Start: own, End: end}})
	at := []simtime.Time{from, end}
	for _, list := range []pe.Spans{u.Compute, u.DMA[fabric.Compute], comm} {
		for _, s := range list {
			at = append(at, max(from, min(end, s.Start)), max(from, min(end, s.End)))
		}
	}
	slices.Sort(at)
	for i := range at[1:] {
		during := func(list pe.Spans) bool {
			return slices.ContainsFunc(list, func(s pe.Span) bool { return s.Start <= at[i] && at[i+1] <= s.End })
		}
		took := at[i+1] - at[i]
		computing, moving, communicating := during(u.Compute), during(u.DMA[fabric.Compute]), during(comm)
		switch {
		case computing:
			b.Compute += took
			if moving {
				b.OverlappedMemory += took
			}
			if communicating {
				b.OverlappedComm += took
			}
		case communicating:
			b.Comm += took
		case moving:
			b.Memory += took
		default:
			b.Idle += took
		}
	}
	return b
}

// TestAnyBreakdownAddsUp computes the breakdown of random kernels, for every PE and from a
// random instant on. It checks that the parts of each breakdown add up to its time and
// equal the result of sumIntervals.
func TestAnyBreakdownAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyKernel(t, slices.Concat(kernelSteps, compositeSteps))
		_, run := k.run(t, true)
		end := run.Start + run.Critical()
		from := run.Start + run.Critical()*simtime.Time(rapid.IntRange(0, 8).Draw(t, "from"))/8
		for i, id := range run.Targets {
			b, ok := run.Breakdown(func(pe PEID) bool { return pe == id }, from)
			u := run.cores[id].Usage()
			if want := sumIntervals(u, from, run.end[i], end); !ok || b != want || b.Total() != end-from {
				t.Fatalf("PE %d from %v to %v: %+v, in total %v, want %+v", id, from, end, b, b.Total(), want)
			}
			if memory := u.DMA[fabric.Compute].Total(); b.OverlappedMemory > b.Compute || b.OverlappedComm > b.Compute || b.OverlappedMemory+b.Memory > memory {
				t.Fatalf("PE %d: %+v, and memory is busy for %v", id, b, memory)
			}
		}
	})
}

// TestComputeIsTheTimeOfCommands checks that the measured compute time of a PE is exactly
// the time in which the op log has a command in progress.
func TestComputeIsTheTimeOfCommands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyKernel(t, kernelSteps)
		r, run := k.run(t, true)
		for _, id := range run.Targets {
			var want pe.Spans
			for _, op := range r.Log.Ops {
				if op.PE == int32(id) && slices.Contains([]oplog.Kind{oplog.Full, oplog.Cast, oplog.Dot, oplog.Math}, op.Kind) {
					want.Add(op.Start, op.End)
				}
			}
			if got := run.cores[id].Usage().Compute; !slices.Equal(got, want) {
				t.Fatalf("PE %d computes %v, want %v", id, got, want)
			}
		}
	})
}

// TestMeasuringTakesNoTime checks that measuring the use of engines changes no simulated
// time. Without measuring, there is no breakdown.
func TestMeasuringTakesNoTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := anyKernel(t, slices.Concat(kernelSteps, compositeSteps))
		_, with := k.run(t, true)
		_, without := k.run(t, false)
		if with.Start != without.Start || !slices.Equal(with.end, without.end) {
			t.Fatalf("with measuring, the kernel runs from %v to %v, want %v to %v", with.Start, with.end, without.Start, without.end)
		}
		if _, ok := without.Breakdown(func(PEID) bool { return true }, without.Start); ok {
			t.Fatal("there is a breakdown although Measuring is false")
		}
	})
}

// BenchmarkMeasured measures the simulation of a ring of 256 PEs, with and without
// recording when engines are busy.
func BenchmarkMeasured(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(map[bool]string{false: "off", true: "on"}[on], func(b *testing.B) {
			for b.Loop() {
				m := build(b, Options{}, "default")
				m.Measuring = on
				if _, err := m.Start(ringProgram(everyPE(m), 100), sim.Event{}); err != nil {
					b.Fatal(err)
				}
				m.mustRun(b)
				m.Close()
			}
		})
	}
}
