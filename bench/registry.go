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

// Param is a parameter of a bench: a flag of kernbench run, and for the bench the
// value of ctx.Param. Parameters of several benches may have the same name.
type Param struct {
	Name    string   `json:"name"`  // lower-case words joined by -: "ranks-per"
	Usage   string   `json:"usage"` // one line, for the help
	Default string   `json:"default"`
	Values  []string `json:"values,omitempty"` // what it may be; empty: any text
	Output  bool     `json:"-"`                // the value is the name of a file that the bench writes, "" for none
	// Choose, if it is set, returns the default that a configuration of collectives gives,
	// and "" if it gives none: then Default holds.
	Choose func(c *ccl.Config) string `json:"-"`
	// Names, if it is set, returns the names that a configuration of collectives has for the
	// value. A value that differs from one of them only in _, - and case means that name.
	Names func(c *ccl.Config) []string `json:"-"`
}

// FormerParams has the parameters of built-in benches that were renamed: the new name by the old
// one. A bench takes the old name too if it has the new parameter and none of the old name.
var FormerParams = map[string]string{
	"datatype": "dtype", "precision": "dtype", "algorithm": "algo", "ccl-algorithm": "algo", "n-elem": "elems",
}

// FindParam returns the parameter of a name, or of a former name.
func (b Bench) FindParam(name string) (p Param, ok bool) {
	for _, name := range []string{name, FormerParams[name]} {
		if i := slices.IndexFunc(b.Params, func(p Param) bool { return p.Name == name }); i >= 0 {
			return b.Params[i], true
		}
	}
	return p, false
}

// ParamError is a value of a parameter that a bench has no use for: a mistake of
// whoever gave it, not of the run.
type ParamError struct {
	Name string
	Err  error
}

func (e *ParamError) Error() string { return "--" + e.Name + ": " + e.Err.Error() }

// Unwrap gives the reason.
func (e *ParamError) Unwrap() error { return e.Err }

// check is why a value is not one of the parameter's.
func (p Param) check(value string) error {
	if len(p.Values) > 0 && !slices.Contains(p.Values, value) {
		return &ParamError{p.Name, fmt.Errorf("%q: write one of %s", value, strings.Join(p.Values, ", "))}
	}
	return nil
}

// checkParams panics if a bench's parameters are not complete.
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

// params returns the values of all parameters: those given, and the defaults. Old spellings of
// names are reported to ctx.
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
		if p.Choose != nil && collectives != nil { // nil is the preset, which gives none
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

// currentParams returns values by the names that parameters have now, and reports former names
// to ctx.
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
