package runner_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/npy"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
)

// TestSteps runs Prepare, Execute and Verify on one folder. It checks that the values are
// right and that the folder has the expected files. It also checks that Verify fails before
// Execute.
func TestSteps(t *testing.T) {
	for _, backend := range runner.Backends {
		dir := filepath.Join(t.TempDir(), "kept")
		o := runner.Options{Scenario: "probe_sum", Backend: backend}
		o.Ranks, o.Rounds, o.Params = 2, 2, map[string]string{"count": "3"}
		if err := runner.Prepare(t.Context(), o, dir); err != nil {
			t.Fatal(err)
		}
		if _, err := runner.Verify(t.Context(), dir); err == nil || !strings.HasPrefix(err.Error(), "no output yet, run the folder first: ") {
			t.Errorf("verified before the run: got %v", err)
		}
		if r, err := runner.Execute(t.Context(), dir, runner.Options{Backend: backend}); err != nil || r.Scenario != "probe_sum" || r.Rounds != 2 {
			t.Fatalf("got %+v, %v", r, err)
		}
		r, err := runner.Verify(t.Context(), dir)
		if err != nil || !r.OK || r.Compared != 6 {
			t.Errorf("%s: got %+v, %v", backend, r, err)
		}
		names, err := filepath.Glob(filepath.Join(dir, "round*", "rank*", "*.npy"))
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			names[i] = strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(dir)+"/")
		}
		want := []string{
			"round0/rank0/out.golden.npy", "round0/rank0/out.out.npy", "round0/rank0/x.in.npy", "round0/rank1/x.in.npy",
			"round1/rank0/out.golden.npy", "round1/rank0/out.out.npy", "round1/rank0/x.in.npy", "round1/rank1/x.in.npy",
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", backend, diff)
		}
	}
}

// TestEditedInput checks that a run reads an input file that the user has replaced. It also
// checks the errors for folders that cannot be run.
func TestEditedInput(t *testing.T) {
	dir := t.TempDir()
	o := runner.Options{Scenario: "probe_sum", Backend: runner.Sim}
	o.Ranks, o.Params = 2, map[string]string{"count": "3"}
	if err := runner.Prepare(t.Context(), o, dir); err != nil {
		t.Fatal(err)
	}
	mine := &npy.Array{Shape: []int{3}, DType: numeric.F32, Bytes: make([]byte, 12)}
	numeric.Set(numeric.F32, mine.Bytes, 1, 5)
	write := func(file string, a *npy.Array) {
		f, err := os.Create(filepath.Join(dir, file))
		if err == nil {
			err = errors.Join(npy.Write(f, a), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("round0/rank1/x.in.npy", mine) // was 100, 101, 102
	if _, err := runner.Execute(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	r, err := runner.Verify(t.Context(), dir)
	want := []runner.Mismatch{{Buffer: "out", First: 0, Last: 2, Worst: 0, Got: "0", Want: "100", ULP: 0x42c80000}}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r.Mismatches); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	mine.Shape = []int{3, 1}
	write("round0/rank1/x.in.npy", mine)
	var bad *runner.InputError
	if _, err := runner.Execute(t.Context(), dir, o); !errors.As(err, &bad) || !strings.HasSuffix(err.Error(), "has [3 1] f32, and x is [3] f32: prepare the folder again") {
		t.Errorf("another shape: got %v", err)
	}
	if _, err := runner.Verify(t.Context(), dir); err == nil || !strings.HasPrefix(err.Error(), "no output yet, run the folder first: ") {
		t.Errorf("verified after a run that failed: got %v", err)
	}
	seed := uint64(6)
	if _, err := runner.Execute(t.Context(), dir, runner.Options{Backend: runner.InProc, Seed: &seed}); !errors.As(err, &bad) {
		t.Errorf("a seed without effect: got %v", err)
	}
	if err := runner.Prepare(t.Context(), o, dir); !errors.As(err, &bad) || !strings.HasSuffix(err.Error(), "the folder is not empty: name a new one") {
		t.Errorf("prepared twice: got %v", err)
	}
	if _, err := runner.Execute(t.Context(), t.TempDir(), o); !errors.As(err, &bad) || !strings.Contains(err.Error(), "was not prepared") {
		t.Errorf("an empty folder: got %v", err)
	}
}

// TestInputErrors checks the errors for options that Run refuses before anything runs.
func TestInputErrors(t *testing.T) {
	six, seed := 6, uint64(6)
	for _, tt := range []struct {
		want string
		o    runner.Options
	}{
		{"no file probe_sun and no scenario of that name; scenarios: probe_asks, probe_beyond, ", runner.Options{Scenario: "probe_sun"}},
		{`no backend "gpu": use one of shm, inproc, sim`, runner.Options{Scenario: "probe_sum", Backend: "gpu"}},
		{"-t ring6: only the backend sim has a system to choose: add --backend sim, or delete it", runner.Options{Scenario: "probe_sum", Preset: "ring6"}},
		{"--check race: only the backend sim looks for races: add --backend sim, or delete it", runner.Options{Scenario: "probe_sum", Race: true}},
		{"unknown device 7: the system ring6 has 0 to 5; choose others with --devices, fewer with --nranks, or choose -t default, which has as many as needed", runner.Options{Scenario: "probe_sum", Backend: runner.Sim, Preset: "ring6", Choice: choose(8)}},
		{"--seed 6: the simulated machine has no random delays: delete it", runner.Options{Scenario: "probe_sum", Backend: runner.Sim, Seed: &seed}},
		{"--seed 6: there are random delays with several rounds (--rounds) alone, and this is one: delete it", runner.Options{Scenario: "probe_sum", Seed: &seed}},
		{"no file ring7 and no preset", runner.Options{Scenario: "probe_sum", Backend: runner.Sim, Preset: "ring7"}},
		{"--nranks 17: the scenario is defined for 2 to 16 ranks", runner.Options{Scenario: "probe_sum", Choice: choose(17)}},
		{"--root 6: the ranks are 0 to 3", runner.Options{Scenario: "probe_sum", Choice: scenario.Choice{Root: &six}}},
		{"--root 6: the scenario has no root: delete it", runner.Options{Scenario: "probe_print", Choice: scenario.Choice{Root: &six}}},
		{"--set mode=sun: write one of sum, total; did you mean sum?", runner.Options{Scenario: "probe_sum", Choice: scenario.Choice{Params: map[string]string{"mode": "sun"}}}},
	} {
		_, err := runner.Run(t.Context(), tt.o)
		var bad *runner.InputError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want an InputError with %s", err, tt.want)
		}
	}
}

func choose(ranks int) scenario.Choice { return scenario.Choice{Ranks: ranks} }

// TestSystems checks the simulated system of runs on some of the devices of a preset. In
// some presets the run sets the number of SIPs, in others it is fixed.
func TestSystems(t *testing.T) {
	for _, tt := range []struct{ preset, devices, system string }{
		{"", "", "preset default, --set system.sips.count=3"},
		{"", "0,2,5", "preset default, --set system.sips.count=6"},
		{"alpha_beta", "7-9", "preset alpha_beta, --set system.sips.count=10"},
		{"ring6", "5,0,3", "preset ring6"},
	} {
		o := runner.Options{Scenario: "probe_sum", Backend: runner.Sim, Preset: tt.preset}
		o.Ranks, o.Devices = 3, tt.devices
		if r := runRight(t, o); r.System != tt.system {
			t.Errorf("%+v: got %s", tt, r.System)
		}
	}
}

// TestJSON checks the JSON form of a result with mismatches.
func TestJSON(t *testing.T) {
	o := runner.Options{Scenario: "probe_golden", Backend: runner.Sim}
	r := run(t, o)
	r.TimeNS = 1.5
	got, err := json.Marshal(r)
	want := `{"ok":false,"scenario":"probe_golden","backend":"sim","nranks":2,"root":-1,"rounds":1,"devices":[0,1],` +
		`"system":"preset default, --set system.sips.count=2","time_ns":1.5,"compared":8,"wrong":3,"spans":2,"mismatches":[` +
		`{"rank":0,"round":0,"buffer":"out","first":1,"last":2,"worst":1,"got":"1","want":"2","ulp":8388608},` +
		`{"rank":1,"round":0,"buffer":"out","first":3,"last":3,"worst":3,"got":"13","want":"13.000001","ulp":1}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
