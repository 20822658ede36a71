package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/tl"
)

// registerScenarios registers the scenarios of tests. Tests call it when they run, because
// scripts list the scenarios, and must list only the built-in ones.
var registerScenarios = sync.OnceFunc(func() {
	scenario.Register("a_broken_one", []byte("summary: \"s\"\nnranks: 65\n"))
	scenario.Register("rooted_function", []byte(`summary: "a function that may use the root"
nranks: 2
root: 1
buffers:
  - {name: x, dtype: f32, shape: [4], placement: window, init: i}
  - {name: out, dtype: f32, shape: [4], placement: device}
kernel: {name: prints, args: [x, out]}
outputs:
  - {buffer: out, golden: "func:rooted_zero"}
`))
	scenario.RegisterGolden("rooted_zero", func(scenario.Env, []float64) error { return nil })
	for name, kernel := range map[string]any{
		"prints": func(t *tl.PE, x, out tl.Ptr) {
			t.Printf("hello from rank %d", t.Rank())
			fmt.Println("and so on")
			t.Store(out, t.Zeros(tl.Shape{4}, tl.F32))
		},
		"races": func(t *tl.PE, x, out tl.Ptr) {
			t.Put(0, x, t.Zeros(tl.Shape{4}, tl.F32))
			t.Store(out, t.Zeros(tl.Shape{4}, tl.F32))
		},
		"late_put": func(t *tl.PE, x, out tl.Ptr) { // its Put may arrive after the next round has read x
			switch t.Rank() {
			case 0:
				t.Store(out, t.Load(x, tl.Shape{4}, tl.F32).Mul(0))
				t.Notify(1, 0, tl.Set, 1)
			case 1:
				t.Store(out, t.Zeros(tl.Shape{4}, tl.F32))
				t.WaitSignal(0, tl.GE, 1)
				t.Put(0, x, t.Zeros(tl.Shape{4}, tl.F32))
			}
		},
	} {
		scenario.RegisterKernel(name, kernel)
		scenario.Register(name, []byte(`summary: "a probe"
nranks: 2
buffers:
  - {name: x, dtype: f32, shape: [4], placement: window, init: i + round}
  - {name: out, dtype: f32, shape: [4], placement: device}
signals: 1
kernel: {name: `+name+`, args: [x, out]}
outputs:
  - {buffer: out, golden: 0}
`))
	}
})

// command runs kernbench with arguments. It returns the exit status, the standard output
// and the standard error.
func command(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// TestListBroken checks that comm list still lists the other scenarios if one registered
// scenario has mistakes.
func TestListBroken(t *testing.T) {
	registerScenarios()
	code, stdout, stderr := command(t.Context(), "comm", "list")
	const why = "scenario a_broken_one:1:1: buffers: missing: add a list of buffers, each with name, dtype, shape and placement"
	for _, want := range []string{"a_broken_one                 (broken: " + why + ")\n", "\nall_reduce                4  all-reduce"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("got\n%swant %s", stdout, want)
		}
	}
	if want := "scenario a_broken_one:2:9: nranks: expected a whole number from 1 to 64, got 65\n"; code != exitUsage || !strings.Contains(stderr, want) {
		t.Errorf("exit status %d and\n%swant %d and %s", code, stderr, exitUsage, want)
	}
	code, stdout, _ = command(t.Context(), "comm", "list", "--format", "json")
	var list describe.ScenarioList
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != exitUsage || list[0] != (describe.ListedScenario{Name: "a_broken_one", Broken: why}) {
		t.Errorf("got status %d, %v, %+v", code, err, list)
	}
}

// TestKernelPrints checks that output of kernels goes to standard error and not into the
// result.
func TestKernelPrints(t *testing.T) {
	registerScenarios()
	files := map[string]**os.File{"stdout": &os.Stdout, "stderr": &os.Stderr}
	dir := t.TempDir()
	for name, file := range files {
		saved := *file
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		*file = f
		defer func() {
			f.Close()
			*file = saved
		}()
	}
	for _, backend := range []string{runner.InProc, runner.Sim} {
		code, stdout, stderr := command(t.Context(), "comm", "run", "prints", "--backend", backend, "--format", "json")
		var r runner.Result
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != exitOK || strings.Count(stderr, "hello from rank ") != 2 {
			t.Errorf("%s: status %d, %v, stdout\n%sstderr\n%s", backend, code, err, stdout, stderr)
		}
	}
	for name, want := range map[string]string{"stdout": "", "stderr": strings.Repeat("and so on\n", 4)} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

// TestRaces checks that comm run and comm execute report races, with exit status 1.
func TestRaces(t *testing.T) {
	registerScenarios()
	dir := filepath.Join(t.TempDir(), "kept")
	run(t, "comm", "prepare", "races", dir)
	for _, args := range [][]string{{"run", "races"}, {"execute", dir}} {
		code, _, stderr := command(t.Context(), append([]string{"comm", args[0], args[1]}, "--backend", "sim", "--check", "race")...)
		if want := "kernbench: race at 0x0 of sip0.cube0.hbm0: operation 10 (Put at comm_test.go"; code != exitWrong || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d and %q, want %d and %s", args[0], code, stderr, exitWrong, want)
		}
	}
}

// TestNoRaces checks that comm run prints that its check has found no races, and what the
// check does not cover. On the simulator, rounds are ordered, so the Put of one round and
// the Load of the next are not a race.
func TestNoRaces(t *testing.T) {
	registerScenarios()
	const want = "races     no races\n          not looked for: accesses of different rounds, those that other inputs would make, Go variables that kernels share\n"
	check := []string{"--backend", "sim", "--check", "race"}
	for _, args := range [][]string{{"run", "prints"}, {"run", "late_put"}, {"run", "late_put", "--rounds", "2"}} {
		if got := run(t, append(append([]string{"comm"}, args...), check...)...); !strings.HasSuffix(got, want) {
			t.Errorf("%v: got\n%swant at its end\n%s", args, got, want)
		}
	}
	if got := run(t, "comm", "run", "prints", "--backend", "sim"); strings.Contains(got, "races") {
		t.Errorf("got\n%swant no line on races, because the check is off", got)
	}
	dir := filepath.Join(t.TempDir(), "kept")
	run(t, "comm", "prepare", "prints", dir)
	if got := run(t, append([]string{"comm", "execute", dir}, check...)...); !strings.HasSuffix(got, want) {
		t.Errorf("execute: got\n%swant at its end\n%s", got, want)
	}
	code, stdout, _ := command(t.Context(), append([]string{"comm", "run", "races"}, check...)...)
	if want := strings.Replace(want, "no races", "1", 1); code != exitWrong || !strings.HasSuffix(stdout, want) {
		t.Errorf("status %d and\n%swant %d and at its end\n%s", code, stdout, exitWrong, want)
	}
}

// TestRoots checks that the result of a scenario with a root rank names the root, and that
// other scenarios refuse --root.
func TestRoots(t *testing.T) {
	registerScenarios()
	for _, name := range []string{"all_to_all", "all_to_all_pairs", "all_gather", "all_reduce", "broadcast", "domain_rank_map", "dual_domain_overlap", "ep_dispatch_combine", "ffn_tp", "reduce_scatter", "treduce", "rooted_function"} {
		root, text := -1, ""
		switch name {
		case "broadcast", "treduce":
			root, text = 0, ", root 0"
		case "rooted_function":
			root, text = 1, ", root 1"
		}
		var r runner.Result
		if err := json.Unmarshal([]byte(run(t, "comm", "run", name, "--backend", "inproc", "--format", "json")), &r); err != nil || r.Root != root {
			t.Errorf("%s: %v, root %d, want %d", name, err, r.Root, root)
		}
		want := fmt.Sprintf("ranks     %d goroutines%s, devices 0-%d\n", r.NRanks, text, r.NRanks-1)
		if got := run(t, "comm", "run", name, "--backend", "inproc"); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%swant %s", name, got, want)
		}
		code, _, stderr := command(t.Context(), "comm", "run", name, "--backend", "inproc", "--root", "1")
		if refused := "kernbench: --root 1: the scenario has no root: delete it\n"; root < 0 && (code != exitUsage || stderr != refused) || root >= 0 && code != exitOK {
			t.Errorf("%s --root 1: exit status %d and %s", name, code, stderr)
		}
	}
}

// TestCommInterrupted checks that every comm command ends with the exit status of the
// signal.
func TestCommInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	run(t, "comm", "run", "all_reduce", "--keep", dir, "--backend", "inproc")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Signal{syscall.SIGINT})
	other := filepath.Join(t.TempDir(), "other")
	for _, args := range [][]string{
		{"run", "all_reduce"}, {"run", "all_reduce", "--backend", "sim"}, {"run", "all_reduce", "--keep", other},
		{"prepare", "all_reduce", other}, {"execute", dir}, {"verify", dir}, {"show", "all_reduce"},
	} {
		if code, stdout, stderr := command(ctx, append([]string{"comm"}, args...)...); code != exitInterrupted || stdout != "" || stderr != "kernbench: interrupted\n" {
			t.Errorf("%v: status %d, %q, %q, want 130 and kernbench: interrupted", args, code, stdout, stderr)
		}
	}
}
