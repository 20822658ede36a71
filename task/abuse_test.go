package task

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// vector returns a tensor of four elements, all of them 1.
func vector(t *testing.T, r *torch.Rank) *torch.Tensor {
	t.Helper()
	x, err := r.FromSlice([]float32{1, 1, 1, 1}, torch.F32, torch.Shape{4})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// abuseLines matches file and line of the orchestrations in this file, as errors contain
// them.
var abuseLines = regexp.MustCompile(` at abuse_test\.go:\d+`)

// TestArgsAreCopied checks that the caller of Submit can reuse the slice of arguments for
// the next task.
func TestArgsAreCopied(t *testing.T) {
	r := newSystem(t, "default", torch.Options{})
	x := vector(t, r)
	_, err := Run(r, Options{Runtime: AICPUBuildGraph, Devices: []int{0}}, func(b *Builder) {
		args := Args{InOut("x", b.Tensor(x)), Scalar("n", 1)}
		after := []ID{0}
		for i := range 4 {
			args[0] = InOut("x", b.Tensor(x).Rows(i, 1))
			if i == 0 {
				b.Submit("increment", increment, args)
				continue
			}
			b.Submit("increment", increment, args, After(after...))
			after[0] = ID(i)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := x.Numpy()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.Float64s(), []float64{2, 2, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestEdgesAreCountedOnce checks that a task that is given twice to After counts as one
// edge.
func TestEdgesAreCountedOnce(t *testing.T) {
	p, err := Build(t.Context(), 0, 1, func(b *Builder) {
		for range 3 {
			b.Submit("count", count, Args{Scalar("n", 1)})
		}
		b.Submit("count", count, Args{Scalar("n", 1)}, After(2, 0, 2), After(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Tasks[3].After, []ID{0, 2}; !slices.Equal(got, want) {
		t.Errorf("edges from %v, want %v", got, want)
	}
}

// TestRefused checks that mistakes in orchestrations and configurations are refused. The
// error must name the line of the orchestration if there is one.
func TestRefused(t *testing.T) {
	r, other := newSystem(t, "default", torch.Options{}), newSystem(t, "default", torch.Options{})
	x, y := vector(t, r), vector(t, other)
	deep := torch.Must(r.Zeros(torch.F32, torch.Shape{1, 1, 2, 1, 2}))
	rows := x.Narrow(0, 1, 2)
	columns := torch.Must(r.Zeros(torch.F32, torch.Shape{2, 3})).Narrow(1, 0, 2)
	for _, c := range []struct {
		name   string
		config *Config
		submit func(b *Builder)
		want   string // with L for file and line
	}{
		{"another context", nil, func(b *Builder) { b.Tensor(y) }, "the orchestration of rank 0: Tensor at L: [4] f32 is a tensor of another torch.Context"},
		{"many axes", nil, func(b *Builder) { b.Tensor(deep) }, "the orchestration of rank 0: Tensor at L: [1 1 2 1 2] f32 has 5 axes, and tasks have tensors of up to 4: give a View with fewer"},
		{"a view", nil, func(b *Builder) { b.Tensor(x); b.Tensor(rows) }, "the orchestration of rank 0: Tensor at L: [2] f32 shares memory with tensor0 [4] f32, one being a view: use one of them, or conflicts would not be seen"},
		{"columns", nil, func(b *Builder) { b.Tensor(columns) }, "the orchestration of rank 0: Tensor at L: rank 0 is SIP 0, which holds something that is not whole rows, one after the other of the tensor [2 2] f32: place it with torch.On"},
		{"no such part", nil, func(b *Builder) {
			if b.Rank() == 1 {
				b.Tensor(x)
			}
		}, "the orchestration of rank 1: Tensor at L: rank 1 is SIP 1, which holds nothing of the tensor [4] f32: place it with torch.On"},
		{"no area", nil, func(b *Builder) { In("x", nil) }, "the orchestration of rank 0: Args at L: argument x is a nil tensor"},
		{"no tensor", nil, func(b *Builder) { Out("x", (*Tensor)(nil)) }, "the orchestration of rank 0: Args at L: argument x is a nil tensor"},
		{"no region", nil, func(b *Builder) { InOut("x", Region{}) }, "the orchestration of rank 0: Args at L: argument x is a Region of no tensor: regions come from Box and Rows"},
		{"a panic", nil, func(b *Builder) { panic("broken") }, "the orchestration of rank 0: panic at L: broken"},
		{"a panic of Go's", nil, func(b *Builder) { _ = []int{}[b.NumRanks()] }, "the orchestration of rank 0: panic at L: runtime error: index out of range [2] with length 0"},
		{"no orchestration", nil, nil, "the orchestration of rank 0 is nil"},
		{"no rings", &Config{}, func(b *Builder) {}, "the configuration of tasks:10:10: host_build_graph.tasks: expected a whole number from 1 to 16777216, got 0"},
	} {
		_, err := Run(r, Options{Runtime: TensorMapAndRingBuffer, Config: c.config}, c.submit)
		var refused *Refused
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v, want that it is refused", c.name, err)
			continue
		}
		got, _, _ := strings.Cut(err.Error(), "\n")
		if got = abuseLines.ReplaceAllString(got, " at L"); got != c.want {
			t.Errorf("%s: got\n     %s\nwant %s", c.name, got, c.want)
		}
	}
	bad := *Default()
	bad.origin, bad.Control.CoreSwitch = nil, -1
	if _, err := Run(r, Options{Runtime: HostBuildGraph, Config: &bad}, func(b *Builder) {}); err == nil || !strings.Contains(err.Error(), "core_switch") {
		t.Errorf("a core switch of -1 fs: %v, want an error that names it", err)
	}
}

// TestBuilderAfterBuild checks that a kernel cannot use the Builder of its program.
func TestBuilderAfterBuild(t *testing.T) {
	r := newSystem(t, "default", torch.Options{})
	var kept *Builder
	_, err := Run(r, Options{Runtime: HostBuildGraph, Devices: []int{0}}, func(b *Builder) {
		kept = b
		b.Submit("greedy", func(t *tl.PE) { kept.Submit("more", count, Args{Scalar("n", 1)}) }, nil)
	})
	if err == nil || !strings.Contains(err.Error(), "the program has been built: a Builder is for its orchestration, not for kernels") {
		t.Errorf("a kernel that submits: %v, want that it may not", err)
	}
}

// TestOrchestrationThatDoesNotEnd checks that Build does not wait for an endless
// orchestration when the context has ended.
func TestOrchestrationThatDoesNotEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped, over := errors.New("enough"), make(chan struct{})
	defer close(over)
	_, err := Build(ctx, 0, 1, func(b *Builder) {
		cancel(stopped)
		<-over
	})
	if !errors.Is(err, stopped) {
		t.Errorf("an orchestration that waits: %v, want %v", err, stopped)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	if _, err := Build(ctx, 0, 1, func(b *Builder) {
		for {
			b.Scope("for ever", nil)
		}
	}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an orchestration without end: %v, want %v", err, context.DeadlineExceeded)
	}
}

// TestScopeThatPanics checks that a scope ends if its body panics and the orchestration
// recovers from the panic.
func TestScopeThatPanics(t *testing.T) {
	p, err := Build(t.Context(), 0, 1, func(b *Builder) {
		func() {
			defer func() { _ = recover() }()
			b.Scope("broken", func() { panic("here") })
		}()
		b.Submit("count", count, Args{Scalar("n", 1)})
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Tasks[0].Scope, p.Tasks[0].Depth, p.Scopes[0].End); got != "-1 0 0" {
		t.Errorf("scope, depth and end are %s, want -1 0 0", got)
	}
}

// TestPutIntoOwnPart checks Put and Get whose peer is the kernel's own rank. A Put needs a
// region that the task writes, and a Get a region that the task reads.
func TestPutIntoOwnPart(t *testing.T) {
	put := func(t *tl.PE, x tl.Ptr) { t.Put(t.Rank(), x, t.Zeros(tl.Shape{4}, tl.F32)) }
	get := func(t *tl.PE, x tl.Ptr) { t.Get(t.Rank(), x, tl.Shape{4}, tl.F32) }
	for _, c := range []struct {
		name    string
		kernel  func(t *tl.PE, x tl.Ptr)
		arg     func(name string, a Area) Arg
		refused bool
	}{
		{"put, out", put, Out, false}, {"put, in", put, In, true}, {"put, at peers", put, AtPeers, true},
		{"get, in", get, In, false}, {"get, out", get, Out, true}, {"get, at peers", get, AtPeers, true},
	} {
		r := newSystem(t, "default", torch.Options{})
		x := vector(t, r)
		_, err := Run(r, Options{Runtime: HostBuildGraph, Devices: []int{0}}, func(b *Builder) {
			b.Submit("own", c.kernel, Args{c.arg("x", b.Tensor(x))})
		})
		if got := err != nil && strings.Contains(err.Error(), "is in no region that the task"); got != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v, want refused: %v", c.name, err, c.refused)
		}
	}
}

// TestHostCallsInOrchestrations checks that an orchestration cannot call the host API.
func TestHostCallsInOrchestrations(t *testing.T) {
	r := newSystem(t, "default", torch.Options{})
	x := vector(t, r)
	_, err := Run(r, Options{Runtime: HostBuildGraph, Devices: []int{0}}, func(b *Builder) { _, _ = x.Numpy() })
	if err == nil || !strings.Contains(err.Error(), "an orchestration its Builder") {
		t.Errorf("a read in an orchestration: %v, want that it may not", err)
	}
	if _, err := x.Numpy(); err != nil {
		t.Errorf("a read after it: %v", err)
	}
}

// TestSignalsOfOptions checks that kernels can use only the number of signals that
// Options.Signals allows.
func TestSignalsOfOptions(t *testing.T) {
	for signals, want := range map[int]string{
		0: "", 2: "", 1: "no signal 1: this kernel has 0 to 0", -1: "no signal 1: this kernel has none",
	} {
		r := newSystem(t, "default", torch.Options{NoData: true})
		_, err := Run(r, Options{Runtime: HostBuildGraph, Devices: []int{0}, Signals: signals}, func(b *Builder) {
			b.Submit("tell", func(t *tl.PE) { t.Notify(0, 1, tl.Set, 1) }, nil)
		})
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%d signals: %v, want %q", signals, err, want)
		}
	}
}

// TestOwnSignalsAreNoCommunication checks that notifying the task's own rank does not count
// as communication, and that waiting for a signal does.
func TestOwnSignalsAreNoCommunication(t *testing.T) {
	r := newSystem(t, "default", torch.Options{NoData: true})
	got, err := Run(r, Options{Runtime: HostBuildGraph, Devices: []int{0}}, func(b *Builder) {
		b.Submit("tell", func(t *tl.PE) { t.Notify(0, 1, tl.Set, 1) }, nil)
		b.Submit("await", func(t *tl.PE) { t.WaitSignal(1, tl.EQ, 1) }, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range got.Spans {
		if want := s.Name == "await"; s.Peers != want {
			t.Errorf("%s communicates with other ranks: %v, want %v", s.Name, s.Peers, want)
		}
	}
}
