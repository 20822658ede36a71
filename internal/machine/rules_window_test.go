package machine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	topo "github.com/kernbench/kernbench/topology"
)

// outcome is what a run of a kernel over several SIPs shows.
type outcome struct {
	err    string
	first  string // the error of the first kernel of each launch that panicked
	events uint64
	end    []simtime.Time
	links  []fabric.Stats
	ops    map[int32][]string // by PE, in the order of the program
}

// splitRun says how runSplit runs a kernel.
type splitRun struct {
	topology string
	sips     int
	log      bool            // keep an op log
	whole    bool            // the SIPs are not simulated by themselves
	threads  int             // that run the SIPs
	vary     func(n int) int // chooses the windows and the order of the SIPs in them; may be nil
}

// runSplit runs k on a machine whose SIPs are simulated by themselves.
func (k randomKernel) runSplit(t tester, how splitRun) (o outcome) {
	t.Helper()
	sets := []string{fmt.Sprintf("system.sips.count=%d", how.sips), "system.sips.topology=" + how.topology}
	if strings.Contains(how.topology, "2d") {
		sets = append(sets, fmt.Sprintf("system.sips.w=%d", how.sips/2), "system.sips.h=2")
	}
	r := newRig(t, Options{Log: how.log, NoLines: true, Threads: how.threads}, sets...)
	defer r.Close()
	if r.launcher.dense = 1; how.whole {
		r.launcher.dense = r.NumPEs() + 1
	}
	split := false
	r.Engine.Vary = func(n int) int {
		if split = true; how.vary == nil {
			return 0
		}
		return how.vary(n)
	}
	run, err := r.Start(k.program(r), sim.Event{})
	if err != nil {
		t.Fatal(err)
	}
	runs := []*Run{run}
	if k.again > 0 { // the host acts while the kernel runs
		p := k.program(r)
		r.Engine.Go("host", func(proc *sim.Proc) {
			proc.Sleep(k.again)
			if err := r.CopyIn(p.Windows[0][0].VA, 64, nil, false, sim.Event{}); err != nil {
				t.Fatal(err)
			}
			proc.Sleep(k.again / 8)
			run, err := r.Start(p, sim.Event{})
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run)
		})
	}
	r.Engine.Limit = k.limit
	if err := r.Engine.Run(context.Background()); err != nil {
		o.err = err.Error()
	}
	if split == how.whole && run.Start >= 0 && k.again == 0 {
		t.Fatalf("the SIPs are simulated by themselves: %v, want %v", split, !how.whole)
	}
	for _, run := range runs {
		if o.end = append(o.end, run.end...); run.Err() != nil {
			o.first += run.Err().Error()
		}
	}
	o.events = r.Engine.Events()
	for id := range r.Graph.Links() {
		o.links = append(o.links, r.Fabric.Stats(topo.LinkID(id)))
	}
	if !how.log {
		return o
	}
	o.ops = map[int32][]string{}
	for i := range r.Log.Ops {
		op := &r.Log.Ops[i]
		o.ops[op.PE] = append(o.ops[op.PE], fmt.Sprint(op.Kind, op.Issue, op.Start, op.End, op.Shape))
	}
	return o
}

// anySplitKernel draws a random kernel over PEs of several SIPs.
func anySplitKernel(t *rapid.T) (k randomKernel, topology string, sips int) {
	k = anyTracedKernel(t)
	k.fidelity = fabric.Train
	topology = rapid.SampledFrom([]string{"ring_1d", "mesh_2d_no_wrap", "torus_2d", "line", "fully_connected", "switch"}).Draw(t, "topology")
	sips = rapid.SampledFrom([]int{2, 4, 6}).Draw(t, "SIPs")
	k.ids = nil
	for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, 12*sips-1), 2, 12, rapid.ID).Draw(t, "PEs") {
		k.ids = append(k.ids, PEID(n/12*128+[]int{0, 1, 2, 3, 9, 17, 60, 63, 100, 101, 126, 127}[n%12]))
	}
	if first := k.ids[0]; !slices.ContainsFunc(k.ids, func(id PEID) bool { return id/128 != first/128 }) {
		k.ids = append(k.ids, (first+128)%PEID(128*sips))
	}
	for range rapid.IntRange(0, 3).Draw(t, "faults") {
		at := rapid.IntRange(0, len(k.steps)).Draw(t, "step of the fault")
		k.steps = slices.Insert(k.steps, at, rapid.SampledFrom(faults).Draw(t, "fault"))
		k.sizes = slices.Insert(k.sizes, at, rapid.IntRange(0, len(k.ids)-1).Draw(t, "rank of the fault"))
	}
	if rapid.Bool().Draw(t, "acts") {
		k.again = simtime.Time(rapid.IntRange(100, 3000).Draw(t, "acts at")) * ns
	}
	k.limit = simtime.Time(rapid.SampledFrom([]int{1000, 3000, 100_000}).Draw(t, "limit")) * ns
	return k, topology, sips
}

// faults are steps in which one rank, the size of the step, fails.
var faults = []kernelStep{
	{"panic", func(t *tl.PE, rank int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		if t.Rank() == rank {
			panic("a fault")
		}
		return v
	}},
	{"wait for ever", func(t *tl.PE, rank int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		if t.Rank() == rank {
			t.WaitSignal(2000, tl.GE, 1)
		}
		return v
	}},
	{"loop for ever", func(t *tl.PE, rank int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		for t.Rank() == rank {
			v = v.Exp()
		}
		return v
	}},
	{"message that is not received", func(t *tl.PE, rank int, _, _ tl.Ptr, v tl.Tile) tl.Tile {
		if t.Rank() == rank {
			t.Send(tl.East, t.Zeros(tl.Shape{1}, tl.F16))
		}
		return v
	}},
}

// TestWindowsChangeNothing runs random kernels over several SIPs, with windows of random
// lengths in which the SIPs run in random orders and on several threads. All times and errors must be those of the
// longest windows. Without windows, only the order of events at one instant may differ.
func TestWindowsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, topology, sips := anySplitKernel(t)
		how := splitRun{topology: topology, sips: sips, threads: 1}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var want outcome
		for _, threads := range []int{1, rapid.SampledFrom([]int{2, 3, 8}).Draw(t, "threads")} {
			how.log, how.threads, how.vary = threads == 1, 1, nil
			want = k.runSplit(t, how)
			how.threads, how.vary = threads, rng.IntN
			got := k.runSplit(t, how)
			same(t, "error", got.err, want.err)
			same(t, "first error of a kernel", got.first, want.first)
			if want.first != "" {
				continue // other SIPs may have run longer
			}
			if !slices.Equal(got.end, want.end) {
				t.Fatalf("%d threads: PEs end at %v, want %v", threads, got.end, want.end)
			}
			if !slices.Equal(got.links, want.links) {
				t.Fatalf("%d threads: the counters of the links differ", threads)
			}
			same(t, fmt.Sprintf("events of %d threads", threads), got.events, want.events)
			for pe, ops := range got.ops {
				if !slices.Equal(ops, want.ops[pe]) {
					t.Fatalf("PE %d: operations\n%v\nwant\n%v", pe, ops, want.ops[pe])
				}
			}
		}
		if want.err != "" {
			return
		}
		whole := k.runSplit(t, splitRun{topology: topology, sips: sips, whole: true, threads: 2})
		same(t, "error of the whole machine", whole.err, "")
		same(t, "ends on the whole machine", len(whole.end), len(want.end))
		for i := range want.end {
			if d := float64(whole.end[i]-want.end[i]) / float64(want.end[i]); d > 0.1 || d < -0.1 {
				t.Fatalf("PE %d ends at %v, and without windows at %v", i, want.end[i], whole.end[i])
			}
		}
	})
}

// TestPrintsOfThreads checks that the lines of kernels in SIPs that are simulated by themselves
// appear in the same order with any number of threads, and that none is lost.
func TestPrintsOfThreads(t *testing.T) {
	var want []string
	for threads := 1; threads <= 3; threads++ {
		m := build(t, Options{Threads: threads}, "default", "system.sips.count=3")
		m.launcher.dense = 1
		var lines []string
		m.Print = func(text string) { lines = append(lines, text) }
		_, err := m.Start(Program{Name: "k", Targets: []PEID{5, 128, 300}, Body: func(t *tl.PE) {
			for i := range 5 {
				t.Full(tl.Shape{1 << (8 + 2*t.Rank())}, tl.F16, 1).Exp()
				t.WaitSignal(0, tl.EQ, 0) // until the engine has reached the kernel's time
				t.Printf("line %d", i)
			}
		}}, sim.Event{})
		if err != nil {
			t.Fatal(err)
		}
		if m.mustRun(t); threads == 1 {
			want = lines
		}
		if len(lines) != 15 || !slices.Equal(lines, want) {
			t.Errorf("%d threads: lines\n%s\nwant 15:\n%s", threads, strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
	}
}
