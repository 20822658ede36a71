package bench

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/topology"
)

// Bench is a program on a simulated machine.
type Bench struct {
	Name    string // lower-case words joined by _ or -: "hello_send"
	Summary string // one line, for the list
	Doc     string // what it does and reports, for those who want to know more
	Params  []Param
	// Uses says which settings the bench reads beside those of the machine: others are
	// refused where they are given. Zero takes all, and a run tells if they had no effect.
	Uses Uses
	// Folder is where a bench that writes files puts them, unless whoever runs it says
	// otherwise: "1H_milestone_output/ccl". Results there may be taken over (Resume).
	Folder string
	// Files are the names of the files that the bench writes to its folder, as patterns of
	// [path/filepath.Match]: "*.svg". A configuration that is read from a file of such a name
	// in the folder is refused, unless the bench would write the same again.
	Files []string
	// Row and Metrics declare the columns of the table and the metrics that the bench reports:
	// zero values of structs whose fields have tags with a name, a unit, a role and perhaps a
	// label, json:"time_ns" table:"ns,lower". Roles are setting, lower and higher (is better),
	// result, bound and check. A bench without a table or metrics leaves them nil.
	Row     any
	Metrics any
	// Cost, if set, returns how long a run takes on this computer relative to other runs of the
	// bench, by all its parameters and the system. Sweeps estimate the time left by it.
	Cost func(params map[string]string, g *topology.Graph) float64
	// Experiment, instead of Run, measures many points: see [NewExperiment].
	Experiment Experimenter
	// Run launches kernels, checks values with Check, and reports with Row and Metrics. An
	// error means that the bench could not be run, not that a value is wrong.
	Run func(b *B) error
}

// Schema returns the columns of the rows and the metrics that the bench reports.
func (b Bench) Schema() table.Schema {
	s := table.Schema{}
	for member, row := range map[string]any{"rows": b.Row, "metrics": b.Metrics} {
		if row != nil {
			s[member] = table.ColumnsOf(row)
		}
	}
	if b.Experiment != nil {
		s["rows"] = b.Experiment.columns()
	}
	return s
}

var (
	registry  = map[string]Bench{}
	validName = regexp.MustCompile(`^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`)
)

// Register adds a bench, usually from an init function. It panics if the bench or one
// of its parameters is not complete, or a name is none or taken.
func Register(b Bench) {
	switch _, taken := registry[b.Name]; {
	case !validName.MatchString(b.Name):
		panic(fmt.Sprintf("bench: %q is no name for a bench: write lower-case words joined by _ or -, such as hello_send", b.Name))
	case taken:
		panic(fmt.Sprintf("bench: two benches are called %q: rename one", b.Name))
	case (b.Run == nil) == (b.Experiment == nil):
		panic(fmt.Sprintf("bench: %s needs a Run or an Experiment", b.Name))
	case b.Summary == "" || strings.Contains(b.Summary, "\n"):
		panic(fmt.Sprintf("bench: %s needs a Summary of one line", b.Name))
	}
	b.checkParams()
	b.Schema() // panics if a tag is not complete
	registry[b.Name] = b
}

// All returns the registered benches by name.
func All() []Bench {
	return slices.SortedFunc(maps.Values(registry), func(a, b Bench) int { return strings.Compare(a.Name, b.Name) })
}

// Find returns the bench of a name.
func Find(name string) (Bench, bool) {
	b, ok := registry[name]
	return b, ok
}

// Uses says which settings a bench reads beside those of the machine.
type Uses uint8

// The settings. They are combined by |, and zero means that the bench does not say.
const (
	UsesNothing     Uses = 1 << iota // no others
	UsesCollectives                  // ccl.yaml
	UsesTasks                        // tasks.yaml
)

// Ignores reports whether a bench has said that it does not read some settings.
func (b Bench) Ignores(settings Uses) bool { return b.Uses != 0 && b.Uses&settings == 0 }
