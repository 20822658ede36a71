package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	stalling := func(e scenario.Env, _ []float64) error {
		if f := stall.Load(); f != nil {
			(*f)(e)
		}
		return nil
	}
	scenario.RegisterInput("stalling", stalling)
	scenario.RegisterGolden("stalling", stalling)
	zero := func(t *tl.PE, _, out, _ tl.Ptr) { t.Store(out, t.Zeros(tl.Shape{4}, tl.F32)) }
	registerProbe("probe_stall", "  - {name: y, dtype: f32, shape: [1], placement: device, init: \"func:stalling\"}\n", ", y", `"func:stalling"`, zero)
	registerProbe("probe_unlucky", "", "", `"func:unlucky"`, copyX)
	scenario.RegisterGolden("unlucky", func(e scenario.Env, _ []float64) error {
		if e.Rank == 1 { // Plan tries rank 0 only
			panic("no luck")
		}
		return nil
	})
	registerProbe("probe_second", "", ", round", "0", func(t *tl.PE, _, out tl.Ptr, round int) {
		t.Assert(round == 0, "no luck in round %d", round)
		t.Store(out, t.Zeros(tl.Shape{4}, tl.F32))
	})
}

// stall is called by the functions of probe_stall, unless it is nil.
var stall atomic.Pointer[func(scenario.Env)]

// TestStopped ends the context while a Go function computes values. It checks that the
// error is the cause of the context, and that an incomplete folder is removed.
func TestStopped(t *testing.T) {
	defer stall.Store(nil)
	cause := errors.New("enough")
	for _, at := range []int{0, 1} { // Plan tries values at rank 0; rank 1 computes them later
		for what, do := range map[string]func(context.Context, runner.Options) error{
			"run":     func(ctx context.Context, o runner.Options) error { _, err := runner.Run(ctx, o); return err },
			"prepare": func(ctx context.Context, o runner.Options) error { return runner.Prepare(ctx, o, o.Keep) },
		} {
			for _, keep := range []string{"", filepath.Join(t.TempDir(), "kept")} {
				if keep == "" && what == "prepare" {
					continue
				}
				left := make(chan struct{}) // closed after the run, which ends the function
				ctx, cancel := context.WithCancelCause(t.Context())
				wait := func(e scenario.Env) {
					if e.Rank == at {
						cancel(cause)
						<-left
					}
				}
				stall.Store(&wait)
				err := do(ctx, runner.Options{Scenario: "probe_stall", Backend: runner.InProc, Keep: keep})
				close(left)
				var input *runner.InputError
				if !errors.Is(err, cause) || errors.As(err, &input) {
					t.Errorf("%s at rank %d, files in %q: got %v, want the cause, enough", what, at, keep, err)
				}
				if _, err := os.Stat(keep); keep != "" && !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s at rank %d: the folder is still there", what, at)
				}
			}
		}
	}
}

// TestEndedContext checks the errors of Execute and Verify with a context that has already
// ended, and of Run with a timeout that is too short.
func TestEndedContext(t *testing.T) {
	dir := t.TempDir()
	o := runner.Options{Scenario: "probe_sum", Backend: runner.Sim}
	if err := runner.Prepare(t.Context(), o, dir); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	_, executed := runner.Execute(ended, dir, o)
	_, verified := runner.Verify(ended, dir)
	for what, err := range map[string]error{"execute": executed, "verify": verified} {
		if err != cause {
			t.Errorf("%s: got %v, want the cause, enough", what, err)
		}
	}
	for _, backend := range runner.Backends {
		for _, keep := range []string{"", filepath.Join(t.TempDir(), "kept")} {
			_, err := runner.Run(t.Context(), runner.Options{Scenario: "probe_sum", Backend: backend, Timeout: time.Nanosecond, Keep: keep})
			if want := "not done within 1ns"; err == nil || err.Error() != want {
				t.Errorf("%s: got %v, want %s", backend, err, want)
			}
		}
	}
}

// TestGoldenPanics checks the errors for a golden function that panics: the error of Run,
// which calls the function while the ranks run, and the error of Prepare.
func TestGoldenPanics(t *testing.T) {
	want := "scenario probe_unlucky:9:27: outputs[0].golden: the function unlucky panicked at stop_test.go:NN (rank 1, round 0): no luck"
	for _, backend := range runner.Backends {
		_, err := runner.Run(t.Context(), runner.Options{Scenario: "probe_unlucky", Backend: backend})
		var failed *runner.RankError
		if !errors.As(err, &failed) {
			t.Errorf("%s: got %v, want a RankError", backend, err)
			continue
		}
		if got := lineNumber.ReplaceAllString(err.Error(), ".go:NN"); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", backend, got, want)
		}
	}
	err := runner.Prepare(t.Context(), runner.Options{Scenario: "probe_unlucky"}, filepath.Join(t.TempDir(), "kept"))
	var input *runner.InputError
	if !errors.As(err, &input) {
		t.Errorf("prepared: got %v, want an InputError", err)
	}
}

// TestKeepFailed checks the files that a failed run with Options.Keep leaves. If the run
// has written no outputs, the folder must be as before the run. If it has written outputs,
// the folder must keep all files.
func TestKeepFailed(t *testing.T) {
	list := func(dir string) string {
		there, err := os.ReadDir(dir)
		if err != nil {
			return "none"
		}
		names := []string{}
		for _, e := range there {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	empty := t.TempDir()
	for _, tt := range []struct{ scenario, dir, want string }{
		{"probe_panic", filepath.Join(t.TempDir(), "[new]"), "none"},
		{"probe_panic", empty, ""},
		{"probe_second", empty, "round0 round1 run.json scenario.yaml"},
	} {
		o := runner.Options{Scenario: tt.scenario, Backend: runner.Sim, Keep: tt.dir}
		o.Rounds = 2
		if _, err := runner.Run(t.Context(), o); err == nil {
			t.Errorf("%s: no error", tt.scenario)
		}
		if got := list(tt.dir); got != tt.want {
			t.Errorf("%s: %s has %q, want %q", tt.scenario, tt.dir, got, tt.want)
		}
	}
}

// TestJSONRight checks the JSON form of results without mismatches, both from Run and from
// Verify.
func TestJSONRight(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	r := run(t, runner.Options{Scenario: "probe_print", Backend: runner.Sim, Race: true, Keep: dir})
	r.TimeNS = 1.5
	found, err := runner.Verify(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for want, r := range map[string]*runner.Result{
		`{"ok":true,"scenario":"probe_print","backend":"sim","nranks":2,"root":-1,"rounds":1,"devices":[0,1],"system":"preset default, --set system.sips.count=2",` +
			`"time_ns":1.5,"compared":8,"wrong":0,"spans":0,"mismatches":[],"races":[]}`: r,
		`{"ok":true,"scenario":"probe_print","nranks":2,"root":-1,"rounds":1,"devices":[0,1],"time_ns":0,"compared":8,"wrong":0,"spans":0,"mismatches":[]}`: found,
	} {
		if got, err := json.Marshal(r); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
