package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/kernbench/kernbench/bench"
)

// benchSettings is the settings that not every bench reads.
var benchSettings = []struct {
	name   string // of the flag and of the key in the file of a sweep
	prefix string // of keys of --set
	uses   bench.Uses
	why    string // a bench ignores them
	past   string // the same of a run
}{
	{"ccl", cclPrefix, bench.UsesCollectives, "does no collectives", "did no collective"},
	{"tasks", tasksPrefix, bench.UsesTasks, "runs no tasks", "ran no tasks"},
}

// noEffect refuses a setting, written as text, that a bench ignores. The setting is one of
// benchSettings.
func noEffect(b bench.Bench, text string, uses bench.Uses) error {
	if !b.Ignores(uses) {
		return nil
	}
	why, others := "", []string{}
	for _, s := range benchSettings {
		if s.uses == uses {
			why = s.why
		}
	}
	for _, other := range bench.All() {
		if other.Uses&uses != 0 {
			others = append(others, other.Name)
		}
	}
	return fmt.Errorf("%s has no effect: %s %s: leave it out; benches that do: %s", text, b.Name, why, strings.Join(others, ", "))
}

// given returns the flags, as they were written, that choose some of benchSettings.
func (f *programFlags) given(name, prefix string) (texts []string) {
	if file := map[string]string{"ccl": f.ccl, "tasks": f.tasks}[name]; file != "" {
		texts = append(texts, fmt.Sprintf("--%s %s", name, file))
	}
	sets, _ := splitSets(f.sets, prefix)
	for _, set := range sets {
		texts = append(texts, "--set "+set)
	}
	return texts
}

// checkEffect refuses the first flag that a bench ignores.
func (f *programFlags) checkEffect(b bench.Bench) error {
	for _, s := range benchSettings {
		for _, text := range f.given(s.name, s.prefix) {
			if err := noEffect(b, text, s.uses); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellEffect tells of flags that had no effect on a run, of a bench that does not say
// which settings it uses.
func (f *programFlags) tellEffect(w io.Writer, r *bench.Result) {
	used := map[bench.Uses]bool{bench.UsesCollectives: r.Config.CCL != nil, bench.UsesTasks: r.Config.Tasks != nil}
	for _, s := range benchSettings {
		for _, text := range f.given(s.name, s.prefix) {
			if !used[s.uses] {
				fmt.Fprintf(w, "kernbench: %s had no effect: this run of %s %s\n", text, r.Bench, s.past)
			}
		}
	}
}
