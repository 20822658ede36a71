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

// Options is what to run and how.
type Options struct {
	Scenario string // a file, or the name of a registered scenario
	scenario.Choice

	Backend string        // one of Backends; "" is that of a platform in Preset, else DefaultBackend
	Preset  string        // of sim: a preset, a topology file or the name of a platform; "" is the preset default
	Race    bool          // of sim: look for accesses that nothing orders
	Seed    *uint64       // of the delays between staging and reading, on processes and goroutines, of several rounds; nil is 1
	Timeout time.Duration // of all of it; 0 is none
	Runtime task.Runtime  // who schedules the scenario's tasks; "" runs its kernel
	Tasks   *task.Config  // what that costs and holds; nil is the default
	Keep    string        // folder to leave inputs, outputs and golden values in; "" is none
	Print   io.Writer     // for what kernels print; nil drops it
}

// Result is what came of a run. Its JSON is a contract.
type Result struct {
	OK       bool              `json:"ok"`
	Scenario string            `json:"scenario"`
	Backend  string            `json:"backend,omitempty"` // of a run; comparing files does not know it
	NRanks   int               `json:"nranks"`
	Root     int               `json:"root"` // -1 if nothing has to do with one
	Rounds   int               `json:"rounds"`
	Devices  []int             `json:"devices"`
	Binding  *Binding          `json:"binding,omitempty"` // of shm and inproc, if devices were named
	Params   map[string]string `json:"params,omitempty"`
	System   string            `json:"system,omitempty"`     // of sim: where the topology came from
	TimeNS   float64           `json:"time_ns"`              // of the kernels, or with a runtime of all tasks, all rounds: simulated, or by the clock of the slowest rank, with the random delays of several rounds
	Staging  *float64          `json:"staging_ns,omitempty"` // of all rounds: copying staged buffers into windows, before the kernels; nil if none is staged
	Runtime  task.Runtime      `json:"runtime,omitempty"`
	Config   *topology.Origin  `json:"tasks_config,omitempty"` // of runs with a runtime: what that costs
	Tasks    *task.Result      `json:"tasks,omitempty"`        // of sim with a runtime: the last round
	Report
	Races []string `json:"races,omitzero"` // accesses that nothing orders; nil if they were not looked for
}

// Binding is the cores that ranks are bound to.
type Binding struct {
	Cores   []int `json:"cores"`   // by rank, each the number of its device; empty if ranks are not bound
	Allowed []int `json:"allowed"` // cores that this process may use
}

// Report is what comparing found.
type Report struct {
	Compared   int        `json:"compared"`   // elements
	Wrong      int        `json:"wrong"`      // of which are wrong
	Spans      int        `json:"spans"`      // of consecutive wrong elements
	Mismatches []Mismatch `json:"mismatches"` // the first MaxMismatches of these
}

// MaxMismatches is how many spans a Report lists.
const MaxMismatches = 100

// Mismatch is consecutive elements of an output that are wrong at a rank.
type Mismatch struct {
	Rank   int    `json:"rank"`
	Round  int    `json:"round"`
	Buffer string `json:"buffer"`
	First  int    `json:"first"` // index of the first wrong element, in row-major order
	Last   int    `json:"last"`
	Worst  int    `json:"worst"` // the one that is furthest off: the values are its
	Got    string `json:"got"`
	Want   string `json:"want"`
	ULP    uint64 `json:"ulp"` // how many values of the dtype it is off
}

// String is the mismatch in a line.
func (m Mismatch) String() string {
	if m.First == m.Last {
		return fmt.Sprintf("rank %d, round %d: %s[%d] is %s, want %s (%d ulp)", m.Rank, m.Round, m.Buffer, m.First, m.Got, m.Want, m.ULP)
	}
	return fmt.Sprintf("rank %d, round %d: %s[%d..%d] is wrong, worst at %d: %s, want %s (%d ulp)", m.Rank, m.Round, m.Buffer, m.First, m.Last, m.Worst, m.Got, m.Want, m.ULP)
}

// InputError is a mistake in the scenario or in the options: nothing has run.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the reason as one of a list, since it may join several.
func (e *InputError) Unwrap() []error { return []error{e.Err} }

// RankError is a rank that failed. The reason names it.
type RankError struct {
	Rank int // the first that did; -1 if it is not known which
	Err  error
}

func (e *RankError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *RankError) Unwrap() error { return e.Err }

// platforms is the names that -t takes besides presets and files, which are common elsewhere
// for kinds of machines. A sim stands for a preset, for convenience: the preset has no numbers
// of that machine. Silicon is what kernbench does not run on.
var platforms = []struct{ sim, silicon, preset string }{
	{"a2a3sim", "a2a3", families[0]},
	{"a5sim", "a5", families[1]},
}

// ResolvePlatform replaces the name of a platform by the preset that it stands for, and
// chooses the simulated machine if there is no backend yet. A platform that a run cannot have
// is an error, and so is a name that is nearly one. Other presets are left as they are.
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
