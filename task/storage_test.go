package task

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// runBoth runs a job on the simulated machine and on real ranks. It returns the error of
// the simulated run under the key "simulated", and the error of the real rank 0 under the
// key "real".
func (j *job) runBoth(t tester, o Options) map[string]error {
	t.Helper()
	_, err := j.runSimulated(t, o, torch.Options{})
	_, errs := j.runReal(o)
	return map[string]error{"simulated": err, "real": errs[0]}
}

// TestHostRefusesWhatDoesNotFit checks that host_build_graph refuses a graph with more
// tasks than its storage holds, before anything runs. The other runtimes reuse storage and
// must run the same graph.
func TestHostRefusesWhatDoesNotFit(t *testing.T) {
	ran := 0
	touch := func(t *tl.PE, x tl.Ptr) { ran++ }
	for _, c := range []struct {
		tasks int
		want  *TooMany
	}{{4, nil}, {5, &TooMany{Rank: 0, Tasks: 5, Limit: 4}}} {
		ran = 0
		j := &job{ranks: 1, arrays: []array{{shape: []int{4}}}, submit: func(b *Builder, x []*Tensor) {
			for range c.tasks {
				b.Submit("touch", touch, Args{InOut("x", x[0])})
			}
		}}
		o := Options{Runtime: HostBuildGraph, Config: loadConfig(t, "host_build_graph.tasks=4", "aicpu_build_graph.tasks=4", "tensormap_and_ringbuffer.slots=4")}
		errs := j.runBoth(t, o)
		errs["checked"] = j.program(t, 0).Check(o)
		for where, err := range errs {
			if c.want == nil {
				if err != nil {
					t.Errorf("%s: %d tasks in 4: %v, want no error", where, c.tasks, err)
				}
				continue
			}
			var got *TooMany
			const text = "rank 0 has 5 tasks, and host_build_graph keeps at most 4: take another runtime, or raise tasks.host_build_graph.tasks"
			if !errors.As(err, &got) || *got != *c.want || err.Error() != text {
				t.Errorf("%s: %d tasks in 4: got\n     %v\nwant %s", where, c.tasks, err, text)
			}
		}
		if want := map[bool]int{true: 2 * c.tasks}[c.want == nil]; ran != want {
			t.Errorf("%d tasks in 4 ran %d times, want %d", c.tasks, ran, want)
		}
		for _, r := range []Runtime{AICPUBuildGraph, TensorMapAndRingBuffer} {
			o.Runtime = r
			for where, err := range j.runBoth(t, o) {
				if err != nil {
					t.Errorf("%s: %d tasks in 4 under %s, which reuses storage: %v, want no error", where, c.tasks, r, err)
				}
			}
		}
	}
}

// scopesJob returns a job whose tasks and scopes are given as letters and parentheses, such
// as "a(b(c)d)". The name of a scope is "scope" and the number of scopes that were opened
// before it.
func scopesJob(text string) *job {
	return &job{ranks: 1, submit: func(b *Builder, _ []*Tensor) {
		opened := 0
		var read func(s string) string
		read = func(s string) string {
			for s != "" && s[0] != ')' {
				if s[0] == '(' {
					name := fmt.Sprint("scope ", opened)
					opened++
					b.Scope(name, func() { s = read(s[1:]) })
				} else {
					b.Submit(s[:1], count, Args{Scalar("n", 1)})
				}
				s = s[1:]
			}
			return s
		}
		read(text)
	}}
}

// TestScopesAndTheirRings checks that a scope with more tasks than its task ring has slots
// is reported as a deadlock. The error must name the scope. All other programs must run.
func TestScopesAndTheirRings(t *testing.T) {
	for _, c := range []struct {
		program      string
		rings, slots int
		want         string // the error; "" if the program runs
	}{
		{"abcdefghij", 4, 1, ""},
		{"(abcd)", 4, 4, ""},
		{"(abcde)", 4, 4, `scope "scope 0" has 5, ring has 4, task 4`},
		{"xxxxxxx(abcde)", 4, 4, `scope "scope 0" has 5, ring has 4, task 11`},
		{"(ab)(cd)(ef)", 4, 2, ""},
		{"(a(b(c(d))))", 5, 1, ""}, // one ring per scope
		{"(a(b(c(d))))", 4, 1, `scope "scope 2" has 2, ring has 1, task 3`}, // the last two scopes share a ring
		{"(a(b(c(d))))", 2, 3, `scope "scope 0" has 4, ring has 3, task 3`},
		{"(a(b(c(d))))", 1, 4, ""},
		{"((((abcd))))", 1, 4, ""},
		{"((((a)b)c)d)", 1, 1, ""}, // each scope frees its slot when it ends
		{"(a(bcde)(fghi)j)", 4, 4, ""},
		{"(a(bcde)(fghi)jkl)", 4, 4, ""},
		{"(a(bcde)(fghi)jklm)", 4, 4, `scope "scope 0" has 5, ring has 4, task 12`}, // 5 of 13 tasks: the others are in another ring
		{"(a(bcde)j)", 2, 5, `scope "scope 0" has 6, ring has 5, task 5`},
		{"((bcde)aj)", 2, 4, ""}, // the tasks of the inner scope have freed their slots
		{"()", 4, 1, ""},
	} {
		o := Options{Runtime: TensorMapAndRingBuffer, Config: loadConfig(t, fmt.Sprint("tensormap_and_ringbuffer.rings=", c.rings), fmt.Sprint("tensormap_and_ringbuffer.slots=", c.slots))}
		j := scopesJob(c.program)
		p := j.program(t, 0)
		for where, err := range j.runBoth(t, o) {
			var scope *ScopeError
			got := ""
			if errors.As(err, &scope) {
				got = fmt.Sprintf("scope %q has %d, ring has %d, task %d", scope.Scope.Name, scope.Tasks, scope.Slots, scope.At)
				text := fmt.Sprintf("rank 0: deadlock of tensormap_and_ringbuffer: scope %q at %s has %d tasks, which keep their slots until it ends, and its ring has %d: task %d, submitted at %s, can never be; make the scope smaller, or raise tasks.tensormap_and_ringbuffer.slots",
					scope.Scope.Name, scope.Scope.Line, scope.Tasks, scope.Slots, scope.At, p.Tasks[scope.At].Line)
				if !strings.HasSuffix(err.Error(), text) || !strings.HasPrefix(scope.Scope.Line, "storage_test.go:") {
					t.Errorf("%s: %s: the error is\n     %v\nwant %s", where, c.program, err, text)
				}
			} else if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: %s in %d rings of %d slots: got %q, want %q", where, c.program, c.rings, c.slots, got, c.want)
			}
		}
		if need := p.minSlots(c.rings); (need <= c.slots) != (c.want == "") {
			t.Errorf("%s in %d rings: the reference needs %d slots, and of %d the table says %q", c.program, c.rings, need, c.slots, c.want)
		}
	}
}

// runRandomly runs the tasks of a schedule on the given number of cores such that tasks end
// in random order. It reports whether all tasks ended.
func (s *schedule) runRandomly(r *rand.Rand, cores int) bool {
	var running []ID
	for !s.allEnded() {
		stuck := len(running) == 0
		for moved := true; moved && !s.submitted(); {
			if moved = s.hasSpace() && (stuck || r.IntN(3) > 0); moved {
				s.submit()
				stuck = false
			}
		}
		for {
			id, ok := s.takeTask(cores)
			if !ok {
				break
			}
			cores -= s.Tasks[id].Members
			running = append(running, id)
		}
		if len(running) == 0 {
			return false
		}
		k := r.IntN(len(running))
		cores += s.Tasks[running[k]].Members
		s.end(running[k])
		running = append(running[:k], running[k+1:]...)
	}
	return true
}

// TestScopesNeedMinSlots checks that a program runs with the number of slots that minSlots
// returns, in whatever order its tasks end, and that it is refused with one slot less.
func TestScopesNeedMinSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, r := drawTasks(t, 20)
		s := drawSample(r, tasks)
		p := s.job(false).program(t, 0)
		c := Default()
		c.TensorMap.Rings = drawInt(r, 1, 5)
		need := p.minSlots(c.TensorMap.Rings)
		for _, slots := range []int{need, need - 1} {
			if slots == 0 {
				continue
			}
			c.TensorMap.Slots = slots
			err := newLimits(TensorMapAndRingBuffer, c, s.cores).extend(p)
			if ended := newSchedule(p, newLimits(TensorMapAndRingBuffer, c, s.cores)).runRandomly(r, s.cores); ended != (err == nil) {
				t.Fatalf("%d tasks, %d rings of %d slots, where %d are needed: came to an end: %v, and %v", tasks, c.TensorMap.Rings, slots, need, ended, err)
			}
			var scope *ScopeError
			if got := errors.As(err, &scope); got != (slots < need) || got && scope.Tasks <= slots {
				t.Fatalf("%d tasks, %d rings of %d slots, where %d are needed: %v", tasks, c.TensorMap.Rings, slots, need, err)
			}
		}
	})
}

// TestBackPressure checks when building waits for storage. With space for k tasks, building
// task i must not begin until task i-1 has been built and the end of task i-k is known.
// Under tensormap_and_ringbuffer, building task i must begin at that instant. With space
// for one task, the tasks must run one after another.
func TestBackPressure(t *testing.T) {
	const tasks = 12
	j := scopesJob(strings.Repeat("x", tasks))
	for _, r := range []Runtime{AICPUBuildGraph, TensorMapAndRingBuffer} {
		for _, room := range []int{1, 2, 5} {
			c := loadConfig(t, "control.compute_cores=8",
				fmt.Sprintf("%s.per_task=1ns", AICPUBuildGraph), fmt.Sprintf("%s.per_task=1ns", TensorMapAndRingBuffer),
				fmt.Sprintf("%s.tasks=%d", AICPUBuildGraph, room), fmt.Sprintf("%s.slots=%d", TensorMapAndRingBuffer, room))
			out := j.mustRunSimulated(t, Options{Runtime: r, Config: c}, torch.Options{})
			var builds, noticed [tasks]Time
			for _, w := range out.Control {
				if w.Kind == Building {
					builds[w.Task] = w.From
				}
			}
			for _, s := range out.Spans {
				noticed[s.Task] = s.Noticed
			}
			for i := range tasks {
				want := Time(0)
				if i > 0 {
					want = builds[i-1] + c.submitTime(r, 0, 0)
				}
				if i >= room {
					want = max(want, noticed[i-room])
				}
				if r == TensorMapAndRingBuffer && builds[i] != want || builds[i] < want {
					t.Errorf("%s with room for %d: task %d is built from %v on, want %v", r, room, i, builds[i], want)
				}
			}
			each := c.submitTime(r, 0, 0) + c.Control.handlingTime(out.Compute/tasks)
			if room == 1 && out.Makespan != tasks*each {
				t.Errorf("%s with room for one: makespan %v, want %v, one after the other", r, out.Makespan, tasks*each)
			}
		}
	}
}
