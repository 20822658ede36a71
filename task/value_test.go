package task

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/inproc"
	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// countWithRegion calls the kernel `count` in a task that has a region. The kernel does not
// access the region.
func countWithRegion(t *tl.PE, _ tl.Ptr, n int) { count(t, n) }

// TestValueTimes checks how long an orchestration waits for a value. A builder on the
// device reads the value from memory when the end of the task is known. If the next task is
// on another rank, the builder of that rank receives the value in a message. The host reads
// the value over its link, and then builds another graph for the next task.
func TestValueTimes(t *testing.T) {
	const ops = 700
	for _, across := range []bool{false, true} {
		for _, r := range Runtimes {
			self := newSystem(t, "ring6", torch.Options{}, "sip.cube_mesh.w=1", "sip.cube_mesh.h=1")
			d := kernelTime(t, self, ops)
			devices := []int{1, 3}
			x, err := self.Zeros(torch.F32, torch.Shape{2}, torch.On(self.PE(1, 0, 0), self.PE(3, 0, 0)))
			if err != nil {
				t.Fatal(err)
			}
			before := self.Now()
			if _, err := x.At(0); err != nil {
				t.Fatal(err)
			}
			link := self.Now() - before
			m, _ := messageTime(t, self.Topology(), 1, 3)
			got, err := Run(self, Options{Runtime: r, Devices: devices, Single: across}, func(b *Builder) {
				if !across && b.Rank() == 1 {
					return
				}
				own := []*Tensor{b.TensorOn(0, x), nil}
				if across {
					own[1] = b.TensorOn(1, x)
				}
				submit := func(name string, rank int) ID {
					return b.Submit(name, countWithRegion, Args{InOut("x", own[rank]), Scalar("n", ops)}, OnRank(rank))
				}
				if v := b.Value(submit("first", 0), own[0], 0); v != 0 {
					t.Errorf("the value is %v, want 0", v)
				}
				if across {
					submit("second", 1)
				} else {
					b.Submit("second", count, Args{Scalar("n", ops)})
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			c := Default()
			R, w, handling := c.Control.RegisterRead, c.Control.PostedWrite, c.Control.handlingTime(d)
			first, second := c.submitTime(r, 0, 1), c.submitTime(r, 0, 0)
			if across {
				second = first
			}
			want := first + handling + R + second + handling
			build, messages := first+R+second, Time(0)
			if across {
				want += w + m + R
				build, messages = first+second, R+w+m+R // building on rank 0 does not count as building on rank 1
			}
			if r == HostBuildGraph {
				build, messages = 2*c.Host.Fixed+2*c.Host.PerTask+link, 0
				want = build + 2*handling
			}
			if got.Makespan != want {
				t.Errorf("%s, across ranks %v: makespan %v, want %v", r, across, got.Makespan, want)
			}
			wantPath := Critical{Tasks: 2, Build: build, Schedule: 2 * (handling - d), Compute: 2 * d, Communicate: messages}
			if got.Critical != wantPath {
				t.Errorf("%s, across ranks %v: critical path\n     %+v\nwant %+v", r, across, got.Critical, wantPath)
			}
			if s := got.Spans[1]; s.Released != -1 || s.Value == nil || *s.Value != 0 || got.Spans[0].Value != nil {
				t.Errorf("%s, across ranks %v: the spans are %+v, want the second to follow a value of task 0", r, across, got.Spans)
			}
		}
	}
}

// TestValuesDecide checks orchestrations that submit tasks until a value is small enough,
// on the simulated machine and on real ranks. Each rank reads its own values, so that ranks
// submit different numbers of tasks.
func TestValuesDecide(t *testing.T) {
	halve := func(t *tl.PE, x tl.Ptr) {
		t.Store(x, t.Load(x, tl.Shape{1}, tl.I32).Div(2))
	}
	var steps [2]int
	j := &job{ranks: 2, arrays: []array{{shape: tl.Shape{1}, init: func(rank, _ int) int32 { return int32(1000 * (1 + 9*rank)) }}}, submit: func(b *Builder, x []*Tensor) {
		n := 0
		for v := 1000.0; v > 10; n++ {
			v = b.Value(b.Submit("halve", halve, Args{InOut("x", x[0])}), x[0], 0)
		}
		steps[b.Rank()] = n
	}}
	want := contents{{{7}, {9}}} // 1000, 500, 250, 125, 62, 31, 15, 7 and 10000, 5000, 2500, 1250, 625, 312, 156, 78, 39, 19, 9
	for _, r := range Runtimes {
		o := Options{Runtime: r, Config: Default()}
		out := j.mustRunSimulated(t, o, torch.Options{KeepLog: true, Race: true})
		out.checkEqual(t, string(r), want)
		if steps != [2]int{7, 10} || out.Tasks != 17 || len(out.races) > 0 {
			t.Errorf("%s: %d steps, %d tasks, races %q; want 7 and 10 steps, and no races", r, steps, out.Tasks, out.races)
		}
		got, errs := j.runReal(o)
		commtest.Succeed(t, errs)
		got.checkEqual(t, string(r)+", on real ranks", want)
	}
}

// TestMistakesOfValues checks the errors for calls of Value that cannot return a value.
func TestMistakesOfValues(t *testing.T) {
	for _, c := range []struct {
		name   string
		submit func(b *Builder, x, y *Tensor, id ID)
		want   string
	}{
		{"no task", func(b *Builder, x, _ *Tensor, id ID) { b.Value(id+1, x, 0, 0) }, "Value at L: of task 1, and there are 1 tasks so far, counted from 0"},
		{"no tensor", func(b *Builder, _, _ *Tensor, id ID) { b.Value(id, nil, 0, 0) }, "Value at L: of a (task 0): the tensor is none of rank 0, where the task runs"},
		{"a tensor of others", func(b *Builder, _, _ *Tensor, id ID) { b.Value(id, &Tensor{}, 0, 0) }, "Value at L: of a (task 0): the tensor is none of rank 0, where the task runs"},
		{"too few indices", func(b *Builder, x, _ *Tensor, id ID) { b.Value(id, x, 0) }, "Value at L: of a (task 0): 1 indices for x [4 6] i32: write one for each of its 2 axes"},
		{"an index outside", func(b *Builder, x, _ *Tensor, id ID) { b.Value(id, x, 4, 0) }, "Value at L: of a (task 0): index [4 0] is outside of x [4 6] i32"},
		{"an element of other tasks", func(b *Builder, x, _ *Tensor, id ID) { b.Value(id, x, 3, 0) }, "Value at L: of a (task 0): x[3:4, 0:1] is in no region of the task: ask for an element that it reads or writes"},
		{"at peers", func(b *Builder, _, y *Tensor, id ID) { b.Value(id, y, 0, 0) }, "Value at L: of a (task 0): y[0:1, 0:1] is in no region of the task: ask for an element that it reads or writes"},
		{"written later", func(b *Builder, x, _ *Tensor, id ID) {
			b.Submit("b", affine, Args{InOut("x", x), Scalar("c", 1)})
			b.Value(id, x, 2, 5)
		}, "Value at L: of a (task 0): b (task 1), submitted at L, writes x[2:3, 5:6] later: ask for its value instead"},
	} {
		_, err := Build(t.Context(), 0, 2, func(b *Builder) {
			x := b.Declare(Tensor{Name: "x", DType: tl.I32, Shape: tl.Shape{4, 6}})
			y := b.Declare(Tensor{Name: "y", DType: tl.I32, Shape: tl.Shape{4, 6}})
			id := b.Submit("a", mix, Args{In("x", x.Rows(0, 2)), AtPeers("y", y), Out("z", x.Rows(2, 1)), Scalar("c", 1)})
			c.submit(b, x, y, id)
		})
		if got, want := replaceLines(fmt.Sprint(err)), "the orchestration of rank 0: "+c.want; got != want {
			t.Errorf("%s: got\n     %s\nwant %s", c.name, got, want)
		}
	}
	_, err := BuildAll(t.Context(), 2, func(b *Builder) {
		x := [2]*Tensor{}
		for rank := range x {
			x[rank] = b.DeclareOn(rank, Tensor{Name: "x", DType: tl.I32, Shape: tl.Shape{4}, Source: "x"})
		}
		id := b.Submit("a", affine, Args{InOut("x", x[0]), Scalar("c", 1)}, OnRank(0))
		for _, reach := range []func(string, Area) Arg{Gets, Puts} { // a task that only reads the element is no mistake
			b.Submit("b", give, Args{In("x", x[1].Rows(1, 2)), reach("there", x[0].Rows(1, 2)), Scalar("peer", 0)}, OnRank(1))
		}
		b.Value(id, x[0], 2)
	})
	if got, want := replaceLines(fmt.Sprint(err)), "the orchestration: Value at L: of a (task 0): b (task 2), submitted at L, writes x[2:3] later: submit a task of rank 0 behind it that reads the element, and ask for the value of that task"; got != want {
		t.Errorf("written by another rank: got\n     %s\nwant %s", got, want)
	}
	j := &job{ranks: 1, arrays: []array{{shape: tl.Shape{2}}}, submit: func(b *Builder, x []*Tensor) {
		b.Value(b.Submit("a", affine, Args{InOut("x", x[0]), Scalar("c", 1)}), x[0], 0)
	}}
	_, err = j.runSimulated(t, Options{Runtime: HostBuildGraph, Config: Default()}, torch.Options{NoData: true})
	const want = "the orchestration of rank 0: Value at L: values are not computed in this run: leave out --data=off, or submit tasks that do not depend on them"
	if got := replaceLines(fmt.Sprint(err)); got != want {
		t.Errorf("without values: got\n     %s\nwant %s", got, want)
	}
}

// orchestrationLines matches the lines of the orchestrations in three test files.
var orchestrationLines = regexp.MustCompile(`\b(value|domain|across)_test\.go:\d+`)

// replaceLines replaces each file and line of an orchestration in text by L.
func replaceLines(text string) string { return orchestrationLines.ReplaceAllString(text, "L") }

// TestMistakesAfterValues checks that a mistake that an orchestration makes after a call of
// Value ends the run, and is reported as a mistake of the program.
func TestMistakesAfterValues(t *testing.T) {
	for _, c := range []struct {
		runtime Runtime
		sets    []string
		then    func(b *Builder, x *Tensor)
		want    string
	}{
		{HostBuildGraph, nil, func(b *Builder, x *Tensor) { panic("no more") }, "the orchestration of rank 0: panic at L: no more"},
		{TensorMapAndRingBuffer, nil, func(b *Builder, x *Tensor) { runtime.Goexit() }, "the orchestration of rank 0: it ended its goroutine: return instead"},
		{HostBuildGraph, nil, func(b *Builder, x *Tensor) { b.Submit("", fill, nil) }, "the orchestration of rank 0: Submit at L: task 1 (): it has no name"},
		{AICPUBuildGraph, nil, func(b *Builder, x *Tensor) { b.Declare(Tensor{Name: "y", DType: tl.I8}) },
			"the orchestration of rank 0: Declare at L: y [] i8 after the first Value, when tasks run already: declare all tensors before it"},
		{AICPUBuildGraph, nil, func(b *Builder, x *Tensor) { b.Domain("all") },
			"the orchestration of rank 0: Domain at L: domain all: it is made after the first Value, when tasks run already: make all domains before it"},
		{AICPUBuildGraph, []string{"control.compute_cores=2"}, func(b *Builder, x *Tensor) { b.Submit("b", count, Args{Scalar("n", 1)}, Group(3)) },
			"rank 0: task 1 (b) at L is a group of 3, and the rank has 2 compute cores: make it smaller, or give the rank more, by tasks.control.compute_cores or a larger device"},
		{TensorMapAndRingBuffer, []string{"tensormap_and_ringbuffer.slots=2"}, func(b *Builder, x *Tensor) {
			b.Scope("big", func() {
				for range 3 {
					b.Submit("b", count, Args{Scalar("n", 1)})
				}
			})
		}, `rank 0: deadlock of tensormap_and_ringbuffer: scope "big" at L has 3 tasks, which keep their slots until it ends, and its ring has 2: task 3, submitted at L, can never be; make the scope smaller, or raise tasks.tensormap_and_ringbuffer.slots`},
		{HostBuildGraph, []string{"host_build_graph.tasks=2"}, func(b *Builder, x *Tensor) {
			for range 3 {
				b.Submit("b", count, Args{Scalar("n", 1)})
			}
		}, "rank 0 has 3 tasks, and host_build_graph keeps at most 2: take another runtime, or raise tasks.host_build_graph.tasks"},
	} {
		j := &job{ranks: 1, arrays: []array{{shape: tl.Shape{2}}}, submit: func(b *Builder, x []*Tensor) {
			b.Value(b.Submit("a", affine, Args{InOut("x", x[0]), Scalar("c", 1)}), x[0], 0)
			c.then(b, x[0])
		}}
		o := Options{Runtime: c.runtime, Config: loadConfig(t, c.sets...)}
		_, err := j.runSimulated(t, o, torch.Options{})
		_, errs := j.runReal(o)
		for where, err := range map[string]error{"simulated": err, "real": errs[0]} {
			var refused *Refused
			if got := replaceLines(fmt.Sprint(err)); got != c.want || !errors.As(err, &refused) {
				t.Errorf("%s, %s: got\n     %s\nwant %s, refused", where, c.runtime, got, c.want)
			}
		}
	}
}

// TestOrchestrationsThatExit checks that runtime.Goexit in an orchestration is an error, as
// a panic is.
func TestOrchestrationsThatExit(t *testing.T) {
	for name, build := range map[string]func(func(b *Builder)) error{
		"the orchestration of rank 0": func(f func(b *Builder)) error { _, err := Build(t.Context(), 0, 1, f); return err },
		"the orchestration":           func(f func(b *Builder)) error { _, err := BuildAll(t.Context(), 2, f); return err },
	} {
		err := build(func(*Builder) { runtime.Goexit() })
		if want := name + ": it ended its goroutine: return instead"; fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestHostLimitPerGraph checks that the task limit of host_build_graph holds for each graph
// between two calls of Value, not for all tasks of the program together.
func TestHostLimitPerGraph(t *testing.T) {
	j := &job{ranks: 1, arrays: []array{{shape: tl.Shape{2}}}, submit: func(b *Builder, x []*Tensor) {
		for range 3 {
			var last ID
			for range 2 {
				last = b.Submit("a", affine, Args{InOut("x", x[0]), Scalar("c", 1)})
			}
			b.Value(last, x[0], 1)
		}
	}}
	c := loadConfig(t, "host_build_graph.tasks=2")
	j.mustRunSimulated(t, Options{Runtime: HostBuildGraph, Config: c}, torch.Options{KeepLog: true}).checkEqual(t, "simulated", contents{{{364, 364}}})
}

// TestDeadlockOfAValue checks an orchestration that reads the value of a task. The task
// waits for another task, which is submitted later. The run must end in a deadlock, with an
// error that names both waits.
func TestDeadlockOfAValue(t *testing.T) {
	await := func(t *tl.PE, _ tl.Ptr) { t.WaitSignal(3, tl.GE, 1) }
	release := func(t *tl.PE) { t.Notify(t.Rank(), 3, tl.Add, 1) }
	for _, single := range []bool{false, true} {
		j := &job{ranks: 2, arrays: []array{{shape: tl.Shape{2}}}}
		play := func(b *Builder, rank int, x *Tensor) {
			id := b.Submit("await", await, Args{Out("x", x)}, OnRank(rank))
			b.Value(id, x, 0)
			b.Submit("release", release, nil, OnRank(rank))
		}
		if j.submitAll = func(b *Builder, x [][]*Tensor) { play(b, 1, x[1][0]) }; !single {
			j.submitAll, j.submit = nil, func(b *Builder, x []*Tensor) { play(b, b.Rank(), x[0]) }
		}
		for _, r := range Runtimes {
			o := Options{Runtime: r, Config: Default()}
			_, err := j.runSimulated(t, o, torch.Options{})
			var stuck *sim.Deadlock
			const want = "rank 1: of 1 tasks 1 have been submitted, 0 are ready and 0 have ended; the orchestration waits for a value of await (task 0), at L"
			if !errors.As(err, &stuck) || !strings.Contains(replaceLines(err.Error()), want) {
				t.Errorf("%s, for all ranks %v: got\n%v\nwant a deadlock and %s", r, single, err, want)
			}
			_, errs := j.runReal(o)
			const real = "0 of 1 tasks have ended, 0 are ready, the orchestration waits for a value of await (task 0), at L: tasks on rank 1, where await (task 0) waits for signal 3 GE 1"
			if err := errs[1]; err == nil || !strings.HasPrefix(replaceLines(err.Error()), real) {
				t.Errorf("%s, for all ranks %v, in reality: got\n%v\nwant %s", r, single, err, real)
			}
		}
	}
}

// TestDiscard checks that Discard leaves no goroutine behind for a program that asks for
// values and is not run.
func TestDiscard(t *testing.T) {
	before := runtime.NumGoroutine()
	var programs []*Program
	for range 20 {
		p, err := Build(t.Context(), 0, 1, func(b *Builder) {
			x := b.Declare(Tensor{Name: "x", DType: tl.I32, Shape: tl.Shape{2}})
			b.Value(b.Submit("a", affine, Args{InOut("x", x), Scalar("c", 1)}), x, 0)
			t.Error("the orchestration went on")
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Tasks) != 1 {
			t.Errorf("%d tasks before the value, want 1", len(p.Tasks))
		}
		programs = append(programs, p)
	}
	for _, p := range programs {
		p.Discard()
		p.Discard()
	}
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
}

// TestContextEndsBeforeAValue checks an orchestration whose context ends while it waits for
// a value. The orchestration must not receive the value, and the run must end, too.
func TestContextEndsBeforeAValue(t *testing.T) {
	for _, r := range Runtimes {
		errs := commtest.World(comm.Options{Backend: inproc.Name, Timeout: commtest.Patience}, 1, func(c *comm.Comm) error {
			signals, err := c.AllocWindow(0, 0)
			if err != nil {
				return err
			}
			rank := procpe.New(signals, procpe.Options{})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			gone := make(chan bool)
			p, err := Build(ctx, 0, 1, func(b *Builder) {
				defer close(gone)
				x := b.Declare(Tensor{Name: "x", DType: tl.I32, Shape: tl.Shape{2}})
				b.Value(b.Submit("a", affine, Args{InOut("x", x), Scalar("c", 1)}), x, 0)
				t.Error("the orchestration went on")
			})
			if err != nil {
				return err
			}
			cancel(errors.New("no time"))
			<-gone
			return runOn(rank, p, Options{Runtime: r}, func(v any) procpe.Tensor {
				x := v.(*Tensor)
				return procpe.Tensor{Name: x.Name, DType: x.DType, Shape: x.Shape, Memory: make([]byte, 8)}
			}, func() {})
		})
		var refused *Refused
		if want := "the orchestration of rank 0 has not ended: no time"; fmt.Sprint(errs[0]) != want || errors.As(errs[0], &refused) {
			t.Errorf("%s: got %v, want %s, not refused", r, errs[0], want)
		}
	}
}

// TestBuilderInAKernel checks that a kernel is stopped if it uses the builder while the
// orchestration waits for a value.
func TestBuilderInAKernel(t *testing.T) {
	j := &job{ranks: 1, arrays: []array{{shape: tl.Shape{2}}}, submit: func(b *Builder, x []*Tensor) {
		kernel := func(*tl.PE, tl.Ptr) { b.Submit("inner", count, Args{Scalar("n", 1)}) }
		b.Value(b.Submit("outer", kernel, Args{Out("x", x[0])}), x[0], 0)
	}}
	o := Options{Runtime: AICPUBuildGraph, Config: Default()}
	_, err := j.runSimulated(t, o, torch.Options{})
	_, errs := j.runReal(o)
	const want = "Submit at L: the orchestration waits for a value: a Builder is for its orchestration, not for kernels"
	for where, err := range map[string]error{"simulated": err, "real": errs[0]} {
		if err == nil || !strings.Contains(replaceLines(err.Error()), want) {
			t.Errorf("%s: %v, want %s", where, err, want)
		}
	}
}

// TestEndlessAfterValue checks an orchestration that never returns after it has read a
// value. The run must end with an error, whether or not the context is cancelled.
func TestEndlessAfterValue(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		goCtx, cancel := context.WithCancelCause(t.Context())
		stop := make(chan bool)
		c, err := torch.New(goCtx, torch.Options{Topology: sips(1), Stall: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		r := c.Main()
		x, err := r.Zeros(torch.I32, torch.Shape{2})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(r, Options{Runtime: HostBuildGraph}, func(b *Builder) {
			own := b.Tensor(x)
			b.Value(b.Submit("a", affine, Args{InOut("x", own), Scalar("c", 1)}), own, 0)
			if cancels {
				cancel(errors.New("no time"))
			}
			<-stop
		})
		want := "without an operation"
		if cancels {
			want = "no time"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("cancelled: %v: %v, want %s", cancels, err, want)
		}
		close(stop)
		cancel(nil)
		r.Close()
	}
}

// TestManyValues checks a program that reads 3,000 values. The test would be slow if the
// time to read a value grew with the number of values read before.
func TestManyValues(t *testing.T) {
	const n = 3000
	j := &job{ranks: 1, arrays: []array{{shape: tl.Shape{1}}}, submit: func(b *Builder, x []*Tensor) {
		for range n {
			b.Value(b.Submit("add", addOne, Args{InOut("x", x[0])}), x[0], 0)
		}
	}}
	c, err := torch.New(t.Context(), torch.Options{Topology: sips(1)})
	if err != nil {
		t.Fatal(err)
	}
	r := c.Main()
	defer r.Close()
	x, err := r.Zeros(torch.I32, torch.Shape{1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(r, Options{Runtime: AICPUBuildGraph}, func(b *Builder) { j.submit(b, []*Tensor{b.Tensor(x)}) })
	if err != nil {
		t.Fatal(err)
	}
	if v, err := x.At(0); err != nil || v != n || got.Tasks != n || got.Critical.Tasks != n {
		t.Errorf("x is %v, %v, after %d tasks, %d of them on the critical path; want %d", v, err, got.Tasks, got.Critical.Tasks, n)
	}
}

// addOne adds 1 to the element at x.
func addOne(t *tl.PE, x tl.Ptr) { t.Store(x, t.Load(x, tl.Shape{1}, tl.I32).Add(1)) }

// TestValuesOrder checks that tasks that are submitted after a call of Value come after the
// task whose value was read, and after the tasks whose values were read earlier. No edges
// are needed for this order. Without calls of Value, the same program must have a race.
func TestValuesOrder(t *testing.T) {
	for _, asks := range []bool{false, true} {
		j := &job{ranks: 1, arrays: []array{{shape: tl.Shape{4}}, {shape: tl.Shape{4}}}, submit: func(b *Builder, x []*Tensor) {
			one := b.Submit("one", affine, Args{InOut("x", x[0]), Scalar("c", 1)})
			two := b.Submit("two", affine, Args{InOut("x", x[1]), Scalar("c", 2)})
			if asks {
				b.Value(two, x[1], 0)
				b.Value(one, x[0], 0)
			}
			b.Submit("sum", mix, Args{In("x", x[0]), In("y", x[1]), Out("z", x[0]), Scalar("c", 0)})
			b.Submit("then", affine, Args{InOut("x", x[1]), Scalar("c", 0)}, After(2))
		}}
		out := j.mustRunSimulated(t, Options{Runtime: AICPUBuildGraph, Config: Default()}, torch.Options{Race: true, KeepLog: true})
		if got := slices.ContainsFunc(out.races, func(s string) bool { return strings.Contains(s, "no edge orders them") }); got == asks {
			t.Errorf("asked for values: %v, races %q", asks, out.races)
		}
		if asks {
			out.checkEqual(t, "values", contents{{slices.Repeat([]int32{-3}, 4)}, {slices.Repeat([]int32{6}, 4)}})
		}
	}
}
