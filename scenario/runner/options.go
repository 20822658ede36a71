package runner

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/topology"
)

// Options selects a scenario and how to run it.
type Options struct {
	Scenario string // a file, or the name of a registered scenario
	scenario.Choice

	Backend string        // one of Backends; "": sim if Preset is a platform, else DefaultBackend
	Preset  string        // sim only: a preset, a topology file or the name of a platform; "": the preset default
	Race    bool          // sim only: look for races
	Seed    *uint64       // seed of the random delays in shm and inproc runs of several rounds; nil: 1
	Timeout time.Duration // limit on the whole run; 0: none
	Runtime task.Runtime  // the runtime that schedules the scenario's tasks; "": run the kernel
	Tasks   *task.Config  // the costs and capacities of the runtime; nil: the default
	Keep    string        // the folder to write inputs, outputs and golden values to; "": none
	Print   io.Writer     // receives the text that kernels print; nil: discard it
}

// Result is the result of a run. Its JSON form is stable.
type Result struct {
	OK       bool              `json:"ok"`
	Scenario string            `json:"scenario"`
	Backend  string            `json:"backend,omitempty"` // "" in a result of Verify
	NRanks   int               `json:"nranks"`
	Root     int               `json:"root"` // -1 if the scenario has no root
	Rounds   int               `json:"rounds"`
	Devices  []int             `json:"devices"`
	Binding  *Binding          `json:"binding,omitempty"` // shm and inproc only; nil unless devices were named
	Params   map[string]string `json:"params,omitempty"`
	System   string            `json:"system,omitempty"`     // sim only: the source of the topology
	TimeNS   float64           `json:"time_ns"`              // time of the kernels, or of all tasks with a runtime, summed over the rounds: simulated, or the wall-clock time of the slowest rank, random delays included
	Staging  *float64          `json:"staging_ns,omitempty"` // time to copy staged buffers into windows, summed over the rounds; nil if no buffer is staged
	Runtime  task.Runtime      `json:"runtime,omitempty"`
	Config   *topology.Origin  `json:"tasks_config,omitempty"` // the source of the runtime's configuration; nil without a runtime
	Tasks    *task.Result      `json:"tasks,omitempty"`        // sim with a runtime only: the last round
	Report
	Races []string `json:"races,omitzero"` // nil if the run did not look for races
}

// Binding holds the CPU cores that ranks are bound to.
type Binding struct {
	Cores   []int `json:"cores"`   // the core of each rank, with the number of its device; empty if ranks are not bound
	Allowed []int `json:"allowed"` // the cores that this process may use
}

// Report is the result of comparing outputs with golden values.
type Report struct {
	Compared   int        `json:"compared"`   // elements compared
	Wrong      int        `json:"wrong"`      // elements that are wrong
	Spans      int        `json:"spans"`      // spans of consecutive wrong elements
	Mismatches []Mismatch `json:"mismatches"` // the first MaxMismatches spans
}

// MaxMismatches is the largest number of spans that a Report lists.
const MaxMismatches = 100

// Mismatch is a span of consecutive wrong elements of an output at a rank.
type Mismatch struct {
	Rank   int    `json:"rank"`
	Round  int    `json:"round"`
	Buffer string `json:"buffer"`
	First  int    `json:"first"` // index of the first wrong element, in row-major order
	Last   int    `json:"last"`
	Worst  int    `json:"worst"` // index of the element with the largest error; Got, Want and ULP are those of this element
	Got    string `json:"got"`
	Want   string `json:"want"`
	ULP    uint64 `json:"ulp"` // the distance of Got from Want, in values of the dtype
}

// String describes the mismatch in one line, with the rank, the round, the elements and the
// largest error.
func (m Mismatch) String() string {
	if m.First == m.Last {
		return fmt.Sprintf("rank %d, round %d: %s[%d] is %s, want %s (%d ulp)", m.Rank, m.Round, m.Buffer, m.First, m.Got, m.Want, m.ULP)
	}
	return fmt.Sprintf("rank %d, round %d: %s[%d..%d] is wrong, worst at %d: %s, want %s (%d ulp)", m.Rank, m.Round, m.Buffer, m.First, m.Last, m.Worst, m.Got, m.Want, m.ULP)
}

// InputError is a mistake in the scenario or in the options. Nothing has run.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns a list with Err, so that config.Flatten finds the errors that Err joins.
func (e *InputError) Unwrap() []error { return []error{e.Err} }

// RankError reports a rank that failed. The message of Err names the rank.
type RankError struct {
	Rank int // the first rank that failed; -1 if unknown
	Err  error
}

func (e *RankError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RankError) Unwrap() error { return e.Err }

// platforms lists the platforms: names that -t accepts in addition to presets and files
// because other tools use them for kinds of machines. Each sim name stands for a preset,
// which does not model that machine. The silicon names are refused, because kernbench does
// not run on hardware.
var platforms = []struct{ sim, silicon, preset string }{
	{"a2a3sim", "a2a3", scalablePresets[0]},
	{"a5sim", "a5", scalablePresets[1]},
}

// ResolvePlatform replaces Preset by the preset that it stands for, if Preset is the name
// of a platform. Then it also sets Backend to sim if Backend is empty. It returns an error
// for a silicon platform, for a platform with a backend other than sim, and for a
// misspelled platform. It leaves the names of presets and files unchanged.
func (o *Options) ResolvePlatform() error {
	var sims, silicon []string
	for _, p := range platforms {
		switch {
		case o.Preset == p.silicon:
			return fmt.Errorf("-t %s: this is silicon, which kernbench does not run on: write -t %s, which stands for the preset %s of the simulated machine, or run real processes with --backend %s and without -t",
				p.silicon, p.sim, p.preset, SHM)
		case o.Preset == p.sim && o.Backend != "" && o.Backend != Sim:
			return fmt.Errorf("-t %s stands for the preset %s of the simulated machine, and --backend %s runs on this computer: write --backend %s, or delete one of the two",
				p.sim, p.preset, o.Backend, Sim)
		case o.Preset == p.sim:
			o.Preset, o.Backend = p.preset, Sim
			return nil
		}
		sims, silicon = append(sims, p.sim), append(silicon, p.silicon)
	}
	names := append(sims, silicon...)
	_, err := os.Stat(o.Preset)
	if near := config.DidYouMean(o.Preset, names); near != "" && err != nil && !slices.Contains(topology.Presets(), o.Preset) {
		return fmt.Errorf("-t %s: no file, preset or platform; platforms: %s%s", o.Preset, strings.Join(names, ", "), near)
	}
	return nil
}
