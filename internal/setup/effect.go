package setup

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/bench"
)

// NoEffect refuses a setting of the kind, written as text, if a bench ignores it.
func (k *Kind) NoEffect(b bench.Bench, text string) error {
	if k.uses == 0 || !b.Ignores(k.uses) {
		return nil
	}
	var others []string
	for _, other := range bench.All() {
		if other.Uses&k.uses != 0 {
			others = append(others, other.Name)
		}
	}
	return fmt.Errorf("%s has no effect: %s %s: leave it out; benches that do: %s", text, b.Name, k.why, strings.Join(others, ", "))
}

// CheckEffect refuses the first flag that a bench ignores.
func (c *Choice) CheckEffect(b bench.Bench) error {
	for _, k := range c.Kinds {
		for _, text := range c.Given(k) {
			if err := k.NoEffect(b, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// Ineffective returns a sentence for each flag that had no effect on a run, of a bench that does
// not say which settings it uses.
func (c *Choice) Ineffective(r *bench.Result) (list []string) {
	used := map[*Kind]bool{CCL: r.Config.CCL != nil, Tasks: r.Config.Tasks != nil}
	for _, k := range []*Kind{CCL, Tasks} {
		for _, text := range c.Given(k) {
			if !used[k] {
				list = append(list, fmt.Sprintf("%s had no effect: this run of %s %s", text, r.Bench, k.past))
			}
		}
	}
	return list
}
