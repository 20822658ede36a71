package bench

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

// Bench is a program on a simulated machine.
type Bench struct {
	Name    string // lower-case words joined by _ or -: "hello_send"
	Summary string // one line, for the list
	Doc     string // what the bench does and reports, in detail
	Params  []Param
	// Uses lists the settings that the bench reads in addition to those of the machine.
	// Commands refuse other settings. If Uses is zero, all settings are accepted, and a run
	// reports settings that had no effect.
	Uses Uses
	// Folder is the default folder of a bench that writes files, such as
	// "1H_milestone_output/ccl". [Options.Folder] replaces it. A run can continue from the
	// results in the folder ([Options.Resume]).
	Folder string
	// Files are the names of the files that the bench writes to its folder, as patterns of
	// [path/filepath.Match] such as "*.svg". A configuration that is read from such a file
	// in the folder is refused, unless the bench would write the same file again.
	Files []string
	// Row and Metrics declare the columns of the table and the metrics that the bench
	// reports. Both are zero values of structs. The tags of the fields have a name, a unit,
	// a role and optionally a label: json:"time_ns" table:"ns,lower". The roles are
	// setting, lower and higher (is better), result, bound and check. Row is nil for a
	// bench without a table, and Metrics for one without metrics.
	Row     any
	Metrics any
	// Cost returns how long a run takes on this computer relative to other runs of the
	// bench, from the values of all parameters and the system. Sweeps use it to estimate
	// the time left. It may be nil.
	Cost func(params map[string]string, g *topology.Graph) float64
	// Experiment replaces Run in benches that measure many points: see [NewExperiment].
	Experiment Experimenter
	// Run launches kernels, checks values with Check, and reports with Row and Metrics. An
	// error means that the bench could not run, not that a value is wrong.
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

// Register adds a bench to the registry, usually from an init function. It panics if the
// bench or a parameter is incomplete, or if a name is invalid or taken.
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

// All returns the registered benches, sorted by name.
func All() []Bench {
	return slices.SortedFunc(maps.Values(registry), func(a, b Bench) int { return strings.Compare(a.Name, b.Name) })
}

// Find returns the bench with the given name, and reports whether there is one.
func Find(name string) (Bench, bool) {
	b, ok := registry[name]
	return b, ok
}

// Uses is a set of settings that a bench reads in addition to those of the machine.
type Uses uint8

// The settings, which are combined with |. Zero means that the bench does not declare what
// it reads.
const (
	UsesNothing     Uses = 1 << iota // only the settings of the machine
	UsesCollectives                  // ccl.yaml
	UsesTasks                        // tasks.yaml
)

// Ignores reports whether the bench declares that it reads none of the given settings.
func (b Bench) Ignores(settings Uses) bool { return b.Uses != 0 && b.Uses&settings == 0 }

// Param is a parameter of a bench. It is a flag of kernbench run, and the bench reads its
// value with [B.Param]. Parameters of several benches may have the same name.
type Param struct {
	Name    string   `json:"name"`  // lower-case words joined by -: "ranks-per"
	Usage   string   `json:"usage"` // one line, for the help
	Default string   `json:"default"`
	Values  []string `json:"values,omitempty"` // allowed values; empty: any text
	Output  bool     `json:"-"`                // whether the value names a file that the bench writes; "" writes none
	// Choose returns the default that a configuration of collectives gives, or "" for the
	// value of Default. It may be nil.
	Choose func(c *ccl.Config) string `json:"-"`
	// Names returns the names that a configuration of collectives defines for the value. A
	// value that differs from such a name only in _, - and case stands for that name. Names
	// may be nil.
	Names func(c *ccl.Config) []string `json:"-"`
}

// FormerParams maps the former name of each renamed parameter of the built-in benches to
// its new name. A bench accepts the former name if it has the new parameter and no
// parameter with the former name.
var FormerParams = map[string]string{
	"datatype": "dtype", "precision": "dtype", "algorithm": "algo", "ccl-algorithm": "algo", "n-elem": "elems",
}

// FindParam returns the parameter whose name or former name is `name`, and reports whether
// there is one.
func (b Bench) FindParam(name string) (p Param, ok bool) {
	for _, name := range []string{name, FormerParams[name]} {
		if i := slices.IndexFunc(b.Params, func(p Param) bool { return p.Name == name }); i >= 0 {
			return b.Params[i], true
		}
	}
	return p, false
}

// ParamError is an error about the value of a parameter or of an option. The caller made a
// mistake; the run did not fail.
type ParamError struct {
	Name string
	Err  error
}

func (e *ParamError) Error() string { return "--" + e.Name + ": " + e.Err.Error() }

// Unwrap returns the error that says why the value is wrong.
func (e *ParamError) Unwrap() error { return e.Err }

// check returns an error if value is not one of the parameter's allowed values.
func (p Param) check(value string) error {
	if len(p.Values) > 0 && !slices.Contains(p.Values, value) {
		return &ParamError{p.Name, fmt.Errorf("%q: write one of %s", value, strings.Join(p.Values, ", "))}
	}
	return nil
}

// checkParams panics if a parameter of the bench is incomplete, is declared twice, or has
// an invalid name or default.
func (b Bench) checkParams() {
	for i, p := range b.Params {
		switch {
		case !validName.MatchString(p.Name) || strings.Contains(p.Name, "_"):
			panic(fmt.Sprintf("bench: %s: %q is no name for a parameter: write lower-case words joined by -, such as ranks-per", b.Name, p.Name))
		case p.Usage == "" || strings.Contains(p.Usage, "\n"):
			panic(fmt.Sprintf("bench: %s: parameter %s needs a Usage of one line", b.Name, p.Name))
		case slices.ContainsFunc(b.Params[:i], func(q Param) bool { return q.Name == p.Name }):
			panic(fmt.Sprintf("bench: %s has two parameters %s", b.Name, p.Name))
		case p.check(p.Default) != nil:
			panic(fmt.Sprintf("bench: %s: the default of %v", b.Name, p.check(p.Default)))
		}
	}
}

// params returns the values of all parameters: the given values, and the defaults of the
// others. The configuration `collectives` can choose a default; nil stands for the preset.
// params returns an error for an unknown parameter or an invalid value. It reports former
// names through ctx.
func (b Bench) params(ctx context.Context, given map[string]string, collectives *ccl.Config) (map[string]string, error) {
	if len(b.Params)+len(given) == 0 {
		return nil, nil
	}
	given, err := b.currentParams(ctx, given)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, p := range b.Params {
		all[p.Name] = p.Default
		if p.Choose != nil && collectives != nil { // nil is the preset, which gives no defaults
			all[p.Name] = cmp.Or(p.Choose(collectives), p.Default)
		}
		if value, ok := given[p.Name]; ok {
			all[p.Name] = value
		}
		if p.Names != nil {
			known := collectives
			if known == nil {
				known = ccl.Default()
			}
			if name, ok := config.Resolve(ctx, all[p.Name], p.Names(known)); ok {
				all[p.Name] = name
			}
		}
		if err := p.check(all[p.Name]); err != nil {
			return nil, err
		}
	}
	for name := range given {
		if _, ok := all[name]; !ok {
			return nil, &ParamError{name, fmt.Errorf("no parameter of bench %s, which has %v", b.Name, slices.Sorted(maps.Keys(all)))}
		}
	}
	return all, nil
}

// currentParams returns the given values with former names of parameters replaced by
// current names. It reports the former names through ctx. It returns an error if a
// parameter is given by two names.
func (b Bench) currentParams(ctx context.Context, given map[string]string) (map[string]string, error) {
	current := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		now := name
		if p, ok := b.FindParam(name); ok {
			now = p.Name
		}
		if _, twice := current[now]; twice || now != name && given[now] != "" {
			return nil, &ParamError{name, fmt.Errorf("now called --%s, which is given too: give one", now)}
		}
		config.Renamed(ctx, "--"+name, "--"+now)
		current[now] = given[name]
	}
	return current, nil
}
