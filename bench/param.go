package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
)

// Param is a parameter of a bench: a flag of kernbench run, and for the bench the
// value of ctx.Param. Benches may share one if it means the same to them.
type Param struct {
	Name    string   `json:"name"`  // lower-case words joined by -: "ranks-per"
	Usage   string   `json:"usage"` // one line, for the help
	Default string   `json:"default"`
	Values  []string `json:"values,omitempty"` // what it may be; empty: any text
	Output  bool     `json:"-"`                // the value is the name of a file that the bench writes, "" for none
	// Choose, if it is set, returns the default that a configuration of collectives gives,
	// and "" if it gives none: then Default holds.
	Choose func(c *ccl.Config) string `json:"-"`
}

// same reports whether two parameters of one name can be one flag.
func (p Param) same(q Param) bool { return p.Usage == q.Usage && slices.Equal(p.Values, q.Values) }

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

// checkParams panics if a bench's parameters are not complete, or one means something
// else in another bench.
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
		for _, other := range All() {
			for _, q := range other.Params {
				if q.Name == p.Name && !q.same(p) {
					panic(fmt.Sprintf("bench: parameter %s of %s and of %s differ in Usage or Values: they are one flag", p.Name, other.Name, b.Name))
				}
			}
		}
	}
}

// params returns the values of all parameters: those given, and the defaults.
func (b Bench) params(given map[string]string, collectives *ccl.Config) (map[string]string, error) {
	if len(b.Params)+len(given) == 0 {
		return nil, nil
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
