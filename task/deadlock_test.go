package task

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestDeadlockBetweenRanks checks ranks whose first task waits for the other's second task.
// Two cores must suffice. On one core the ranks must deadlock; the error names the waits.
func TestDeadlockBetweenRanks(t *testing.T) {
	await := func(t *tl.PE) { t.WaitSignal(3, tl.GE, 1) }
	release := func(t *tl.PE) { t.Notify(next(t), 3, tl.Add, 1) }
	j := &job{ranks: 2, submit: func(b *Builder, _ []*Tensor) {
		b.Submit("await", await, nil)
		b.Submit("release", release, nil)
	}}
	for _, r := range Runtimes {
		o := Options{Runtime: r, Config: loadConfig(t, "control.compute_cores=2")}
		j.mustRunSimulated(t, o, torch.Options{})
		_, errs := j.runReal(o)
		commtest.Succeed(t, errs)

		o.Config = loadConfig(t, "control.compute_cores=1")
		_, err := j.runSimulated(t, o, torch.Options{})
		var stuck *sim.Deadlock
		if !errors.As(err, &stuck) || len(stuck.Blocked) != 2 {
			t.Fatalf("%s on one core: got %v, want a deadlock of two", r, err)
		}
		text := fmt.Sprintf("launch tasks: deadlock at %v: 2 processes wait and nothing can wake them", stuck.At)
		for rank := range 2 {
			text += fmt.Sprintf("\n  await (task 0)@sip%d.cube0.pe0 waits for signal 3 GE 1 since %v, at deadlock_test.go:19", rank, stuck.At)
		}
		for rank := range 2 {
			text += fmt.Sprintf("\nrank %d: of 2 tasks 2 have been submitted, 1 are ready and 0 have ended", rank)
		}
		if err.Error() != text {
			t.Errorf("%s on one core: got\n%v\nwant\n%s", r, err, text)
		}
		_, errs = j.runReal(o)
		for rank, err := range errs {
			text := fmt.Sprintf("0 of 2 tasks have ended, 1 are ready: tasks on rank %d, where await (task 0) waits for signal 3 GE 1: rank %[1]d: wait, signal 3", rank)
			if err == nil || !strings.HasPrefix(err.Error(), text) || !strings.HasSuffix(err.Error(), ": a deadlock, every rank waits: rank 0: wait, signal 3 GE 1; rank 1: wait, signal 3 GE 1") {
				t.Errorf("%s on one core: real rank %d: got %v, want %s, in a deadlock", r, rank, err, text)
			}
		}
		if err := errors.Join(errs...); !errors.Is(err, comm.ErrDeadlock) {
			t.Errorf("%s on one core: real ranks: got %v, want a deadlock", r, err)
		}
	}
}

// TestRaces checks that a conflict without an edge is reported as a race under the runtime
// that does not infer edges. There must be no race under the other runtimes, or with an
// edge.
func TestRaces(t *testing.T) {
	for _, explicit := range []bool{false, true} {
		j := &job{ranks: 1, arrays: []array{{shape: []int{4, 4}}}, submit: func(b *Builder, x []*Tensor) {
			var first []ID
			for i := range 2 {
				id := b.Submit("affine", affine, Args{InOut("x", x[0].Rows(i, 3)), Scalar("c", 1)}, After(first...))
				if explicit {
					first = []ID{id}
				}
			}
		}}
		for _, r := range Runtimes {
			out := j.mustRunSimulated(t, Options{Runtime: r, Config: loadConfig(t, "control.compute_cores=2")}, torch.Options{Race: true})
			want := 0
			if !explicit && r == AICPUBuildGraph {
				want = 2 // one found in the program, one found in the run
			}
			if len(out.races) != want || want == 2 && !(strings.Contains(out.races[0], "no edge orders them") && strings.Contains(out.races[1], "Store at kernels_test.go:") && strings.Contains(out.races[1], "on sip0.cube0.pe1")) {
				t.Errorf("%s, explicit edge %v: races %q, want %d", r, explicit, out.races, want)
			}
		}
	}
}
