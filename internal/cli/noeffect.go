package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/kernbench/kernbench/bench"
)

// benchSettings is the settings that not every bench reads.
var benchSettings = []struct {
	*configKind // its name is that of the key in the file of a sweep, too
	uses        bench.Uses
	why         string // a bench ignores them
	past        string // the same of a run
}{
	{cclKind, bench.UsesCollectives, "does no collectives", "did no collective"},
	{tasksKind, bench.UsesTasks, "runs no tasks", "ran no tasks"},
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

// checkEffect refuses the first flag that a bench ignores.
func (f *configFlags) checkEffect(b bench.Bench) error {
	for _, s := range benchSettings {
		for _, text := range f.given(s.configKind) {
			if err := noEffect(b, text, s.uses); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellEffect tells of flags that had no effect on a run, of a bench that does not say
// which settings it uses.
func (f *configFlags) tellEffect(w io.Writer, r *bench.Result) {
	used := map[bench.Uses]bool{bench.UsesCollectives: r.Config.CCL != nil, bench.UsesTasks: r.Config.Tasks != nil}
	for _, s := range benchSettings {
		for _, text := range f.given(s.configKind) {
			if !used[s.uses] {
				fmt.Fprintf(w, "kernbench: %s had no effect: this run of %s %s\n", text, r.Bench, s.past)
			}
		}
	}
}
