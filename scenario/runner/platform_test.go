package runner_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/scenario/runner"
)

// TestPlatforms runs a scenario with each platform of -t, with every backend and without
// one. It checks that the system and the simulated time equal those of the preset that the
// platform stands for, or that the run is refused.
func TestPlatforms(t *testing.T) {
	const (
		chiplets = "preset default, --set system.sips.count=3"
		links    = "preset alpha_beta, --set system.sips.count=3"
	)
	page, err := os.ReadFile("../../docs/write/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	silicon := func(name, sim, preset string) string {
		return "-t " + name + ": this is silicon, which kernbench does not run on: write -t " + sim + ", which stands for the preset " + preset +
			" of the simulated machine, or run real processes with --backend shm and without -t"
	}
	here := func(name, preset, backend string) string {
		return "-t " + name + " stands for the preset " + preset + " of the simulated machine, and --backend " + backend +
			" runs on this computer: write --backend sim, or delete one of the two"
	}
	for _, tt := range []struct {
		preset, backend string
		system          string // the system of the result
		as              string // the preset that takes the same time
		wrong           string
	}{
		{"a2a3sim", "", chiplets, "default", ""},
		{"a2a3sim", runner.Sim, chiplets, "default", ""},
		{"a2a3sim", runner.SHM, "", "", here("a2a3sim", "default", "shm")},
		{"a2a3sim", runner.InProc, "", "", here("a2a3sim", "default", "inproc")},
		{"a5sim", "", links, "alpha_beta", ""},
		{"a5sim", runner.Sim, links, "alpha_beta", ""},
		{"a5sim", runner.SHM, "", "", here("a5sim", "alpha_beta", "shm")},
		{"a5sim", runner.InProc, "", "", here("a5sim", "alpha_beta", "inproc")},
		{"a2a3", "", "", "", silicon("a2a3", "a2a3sim", "default")},
		{"a2a3", runner.Sim, "", "", silicon("a2a3", "a2a3sim", "default")},
		{"a2a3", runner.SHM, "", "", silicon("a2a3", "a2a3sim", "default")},
		{"a2a3", runner.InProc, "", "", silicon("a2a3", "a2a3sim", "default")},
		{"a5", "", "", "", silicon("a5", "a5sim", "alpha_beta")},
		{"a5", runner.Sim, "", "", silicon("a5", "a5sim", "alpha_beta")},
		{"a5", runner.SHM, "", "", silicon("a5", "a5sim", "alpha_beta")},
		{"a5", runner.InProc, "", "", silicon("a5", "a5sim", "alpha_beta")},
		{"a2a3sm", "", "", "", "-t a2a3sm: no file, preset or platform; platforms: a2a3sim, a5sim, a2a3, a5; did you mean a2a3sim?"},
		{"A5sim", runner.SHM, "", "", "-t A5sim: no file, preset or platform; platforms: a2a3sim, a5sim, a2a3, a5; did you mean a5sim?"},
		{"default", "", "", "", "-t default: only the backend sim has a system to choose: add --backend sim, or delete it"},
	} {
		o := runner.Options{Scenario: "probe_sum", Backend: tt.backend, Preset: tt.preset}
		o.Devices = "0-2"
		if tt.wrong != "" {
			_, err := runner.Run(t.Context(), o)
			var input *runner.InputError
			if !errors.As(err, &input) || err.Error() != tt.wrong {
				t.Errorf("-t %s, backend %q: got %v, want an InputError, %s", tt.preset, tt.backend, err, tt.wrong)
			}
			continue
		}
		if row := fmt.Sprintf("| `%s` | the preset `%s`, on `--backend sim` |", tt.preset, tt.as); !strings.Contains(string(page), row) {
			t.Errorf("docs/write/scenarios.md has no line %s", row)
		}
		r := runRight(t, o)
		o.Backend, o.Preset = runner.Sim, tt.as
		if want := runRight(t, o); r.Backend != runner.Sim || r.System != tt.system || r.TimeNS != want.TimeNS {
			t.Errorf("-t %s, backend %q: got %s, %s, %v ns, want sim, %s, %v ns", tt.preset, tt.backend, r.Backend, r.System, r.TimeNS, tt.system, want.TimeNS)
		}
	}
}
