package analysis_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/internal/trace/analysis"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// hostOp is an operation of host code. All ranks execute the same operations in the same
// order, each its own part.
type hostOp struct {
	Kind     string
	Rank, To int // the rank that acts, and its peer
	Elems    int
	After    time.Duration // timeout of a wait
	Runtime  task.Runtime  // of a program of tasks
}

var (
	local  = []string{"launch", "launch on a peer", "copy in", "copy over", "read", "synchronize"}
	shared = []string{"all reduce", "all reduce async", "two at once", "barrier", "message", "message from any", "wait", "poll", "timeout", "monitored barrier"}
)

// drawHostOp returns a generator of random host operations of the given kinds.
func drawHostOp(ranks int, kinds ...string) *rapid.Generator[hostOp] {
	return rapid.Custom(func(t *rapid.T) hostOp {
		d := hostOp{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Rank: rapid.IntRange(0, ranks-1).Draw(t, "rank"), To: rapid.IntRange(1, ranks-1).Draw(t, "to"),
			Elems: rapid.SampledFrom([]int{1, 100, 3000}).Draw(t, "elements"), After: time.Duration(rapid.IntRange(1, 900).Draw(t, "after")),
			Runtime: rapid.SampledFrom(task.Runtimes).Draw(t, "runtime"),
		}
		d.To = (d.Rank + d.To) % ranks
		return d
	})
}

// addOne adds 1 to each of n elements. It is a kernel.
func addOne(t *tl.PE, x tl.Ptr, n int) { t.Store(x, t.Load(x, tl.Shape{n}, tl.F32).Add(1)) }

// rowWise places a tensor over the cubes and PEs of a device by rows.
var rowWise = torch.DPPolicy{Cube: torch.RowWise, PE: torch.RowWise}

// host is the state of a rank's host code.
type host struct {
	*torch.Rank
	pes   int
	x     *torch.Tensor
	works []*dist.Work
}

func newHost(r *torch.Rank) *host {
	h := &host{Rank: r, pes: r.NumPEs() / r.Topology().Spec().System.SIPs.Count}
	h.x = h.tensor(100)
	return h
}

// tensor returns a new tensor with `elems` elements on each PE.
func (h *host) tensor(elems int) *torch.Tensor {
	return torch.Must(h.Zeros(torch.F32, torch.Shape{h.pes * elems}, rowWise))
}

// do executes operation d on this rank.
func (h *host) do(d hostOp) {
	own, mine := d.Rank == h.Rank.Rank(), h.tensor(d.Elems)
	later := func(w *dist.Work, err error) {
		torch.OK(err)
		h.works = append(h.works, w)
	}
	switch d.Kind {
	case "launch":
		if own {
			torch.Must(h.Launch("add one", func(t *tl.PE, x tl.Ptr) { addOne(t, x, 100) }, h.x))
		}
	case "launch on a peer": // on PEs of another rank, which may be in use
		if own {
			h.SetDevice(d.To)
			torch.Must(h.Launch("add one", func(t *tl.PE, x tl.Ptr) { addOne(t, x, d.Elems) }, h.tensor(d.Elems)))
			h.SetDevice(h.Rank.Rank())
		}
	case "copy in":
		if own {
			torch.OK(mine.CopyFrom(make([]float32, mine.Numel())))
		}
	case "copy over":
		if own {
			torch.OK(h.x.CopyFrom(h.tensor(100)))
		}
	case "read":
		if own {
			torch.Must(h.x.Numpy())
		}
	case "synchronize":
		if own {
			torch.OK(h.Synchronize())
		}
	case "all reduce":
		torch.OK(dist.AllReduce(h.Rank, h.x, dist.SUM))
	case "all reduce async":
		later(dist.AllReduceAsync(h.Rank, mine, dist.SUM))
	case "two at once":
		later(dist.CoalescingAsync(h.Rank, func() error {
			return errors.Join(dist.AllReduce(h.Rank, mine, dist.SUM), dist.Broadcast(h.Rank, h.tensor(1), 0))
		}))
	case "barrier":
		torch.OK(dist.Barrier(h.Rank))
	case "monitored barrier":
		if err := dist.MonitoredBarrier(h.Rank, d.After, false); err != nil && !errors.As(err, new(*dist.TimeoutError)) {
			torch.OK(err)
		}
	case "message", "message from any":
		from := d.Rank
		if d.Kind == "message from any" {
			from = dist.AnySource
		}
		if own {
			later(dist.ISend(h.Rank, mine, d.To, d.Elems))
		} else if h.Rank.Rank() == d.To {
			later(dist.IRecv(h.Rank, mine, from, d.Elems))
		}
	case "wait":
		for _, w := range h.works {
			torch.OK(w.Wait())
		}
	case "poll":
		for len(h.works) > 0 && !h.works[0].IsCompleted() {
		}
	case "timeout":
		if len(h.works) > 0 {
			if err := h.works[len(h.works)-1].WaitTimeout(d.After); err != nil && !errors.As(err, new(*dist.TimeoutError)) {
				torch.OK(err)
			}
		}
	case "tasks":
		h.tasks(d)
	default:
		panic(d.Kind)
	}
}

// tasks runs a program of tasks on two devices. The orchestration waits for a value before
// it submits the remaining tasks.
func (h *host) tasks(d hostOp) {
	on := torch.On(h.PE(0, 0, 0), h.PE(1, 0, 0))
	x := torch.Must(h.Zeros(torch.F32, torch.Shape{2, 10}, on))
	torch.Must(task.Run(h.Rank, task.Options{Runtime: d.Runtime, Devices: []int{0, 1}, Single: true}, func(b *task.Builder) {
		rows := []*task.Tensor{b.TensorOn(0, x), b.TensorOn(1, x)}
		var last []task.ID
		for i := range 4 {
			on := (i + d.Rank) % 2
			last = []task.ID{b.Submit("add one", addOne, task.Args{task.InOut("x", rows[on]), task.Scalar("n", 10)}, task.OnRank(on), task.After(last...))}
			if i == d.To {
				b.Value(last[0], rows[on], 0, 0)
			}
		}
	}))
}

// program is a list of operations of the main rank, then of all ranks, then of the main
// rank again.
type program struct{ Before, Ranks, After []hostOp }

// run runs the program and returns its makespan. It records a trace if `file` is not empty.
func (p *program) run(t *rapid.T, g *topology.Graph, file string) torch.Time {
	c := torch.Must(torch.New(t.Context(), torch.Options{Topology: g, Trace: file}))
	defer c.Close()
	main := newHost(c.Main())
	for _, d := range p.Before {
		main.do(d)
	}
	if len(p.Ranks) > 0 {
		if err := c.Spawn(func(r *torch.Rank) error {
			torch.OK(dist.InitProcessGroup(r, dist.Backend))
			h := newHost(r)
			for _, d := range p.Ranks {
				h.do(d)
			}
			h.do(hostOp{Kind: "wait", Elems: 1})
			return dist.DestroyProcessGroup(r)
		}, 3); err != nil {
			t.Fatalf("Spawn: %v", err)
		}
	}
	for _, d := range p.After {
		main.do(d)
	}
	torch.OK(c.Main().Synchronize())
	torch.OK(hosted.SaveTrace(c, trace.About{}))
	return c.Makespan()
}

// TestPathOfAnyProgram runs random host programs. It checks that the critical path is
// exactly as long as the makespan. No segment of the path may be a latency of the host or
// the wait of an idle worker. Recording the trace must not change any time.
func TestPathOfAnyProgram(t *testing.T) {
	spec, err := topology.Load(t.Context(), "ring6", "system.sips.count=3", "sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "cube.pe_layout.pe_per_corner=1")
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "trace.json")
	rapid.Check(t, func(t *rapid.T) {
		mainOps := rapid.SliceOfN(drawHostOp(3, append(slices.Clone(local), "tasks")...), 0, 4)
		p := program{
			Before: mainOps.Draw(t, "before"),
			Ranks:  rapid.SliceOfN(drawHostOp(3, slices.Concat(local, shared)...), 0, 10).Draw(t, "ranks"),
			After:  mainOps.Draw(t, "after"),
		}
		makespan := p.run(t, g, file)
		if plain := p.run(t, g, ""); plain != makespan {
			t.Fatalf("with a trace it takes %v, without %v", makespan, plain)
		}
		checkTrace(t, file, makespan)
	})
}

// checkTrace checks the critical path, the launches and the profiles of the trace in a
// file. `makespan` is the makespan of the recorded program.
func checkTrace(t *rapid.T, file string, makespan simtime.Time) {
	tr, err := analysis.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	path, err := tr.ProgramPath()
	if err != nil {
		t.Fatal(err)
	}
	at := simtime.Time(0)
	for _, s := range path.Segments {
		if s.At != at || s.For <= 0 {
			t.Fatalf("a segment at %v for %v, want it at %v and longer than 0: %+v", s.At, s.For, at, s)
		}
		if at += s.For; s.Count == 0 && !strings.Contains(s.Where, ".pe") {
			t.Fatalf("a latency at the host: %+v", s)
		}
		if s.Kind == "wait: task" {
			t.Fatalf("the path has an idle worker in place of the activity that it waits for: %+v", s)
		}
	}
	if at != makespan || tr.Program.Makespan != makespan {
		t.Fatalf("the path takes %v, the program of the trace %v, want %v", at, tr.Program.Makespan, makespan)
	}
	for _, l := range tr.Launches() {
		if l.End() > makespan {
			t.Fatalf("launch %d ends at %v, after the makespan of %v", l.Number, l.End(), makespan)
		}
		if _, err := tr.CriticalPath(l); err != nil {
			t.Fatal(err)
		}
	}
	for _, by := range []analysis.By{analysis.ByOp, analysis.ByLine} {
		profile, err := tr.Profile(by, analysis.Whole)
		if err != nil {
			t.Fatal(err)
		}
		sum := simtime.Time(0)
		for _, w := range profile.Rows {
			sum += w.Path
		}
		if sum != makespan {
			t.Fatalf("the profile by %s adds up to %v, want %v", by, sum, makespan)
		}
	}
}
