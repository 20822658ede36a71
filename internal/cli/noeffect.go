package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/kernbench/kernbench/bench"
)

// benchSetting is a kind of configuration that not every bench reads.
type benchSetting struct {
	*configKind // its name is that of the key in the file of a sweep, too
	uses        bench.Uses
	why         string // a bench ignores them
	past        string // the same of a run
}

var benchSettings = []benchSetting{
	{cclKind, bench.UsesCollectives, "does no collectives", "did no collective"},
	{tasksKind, bench.UsesTasks, "runs no tasks", "ran no tasks"},
}

// noEffect refuses the setting, written as text, if a bench ignores it.
func (s benchSetting) noEffect(b bench.Bench, text string) error {
	if !b.Ignores(s.uses) {
		return nil
	}
	var others []string
	for _, other := range bench.All() {
		if other.Uses&s.uses != 0 {
			others = append(others, other.Name)
		}
	}
	return fmt.Errorf("%s has no effect: %s %s: leave it out; benches that do: %s", text, b.Name, s.why, strings.Join(others, ", "))
}

// checkEffect refuses the first flag that a bench ignores.
func (f *configFlags) checkEffect(b bench.Bench) error {
	for _, s := range benchSettings {
		for _, text := range f.given(s.configKind) {
			if err := s.noEffect(b, text); err != nil {
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
