package setup

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/table"
)

// FindBench returns the registered bench with the given name, or an error that suggests
// similar names. If `name` is a former name of a bench, FindBench reports this through ctx.
func FindBench(ctx context.Context, name string) (bench.Bench, error) {
	names := BenchNames()
	if known, ok := config.Resolve(ctx, name, names); ok {
		b, _ := bench.Find(known)
		return b, nil
	}
	return bench.Bench{}, fmt.Errorf("no bench %q; benches: %s%s", name, strings.Join(names, ", "), config.DidYouMean(name, names))
}

// BenchNames returns the names of all registered benches.
func BenchNames() []string {
	return lists.Map(bench.All(), func(b bench.Bench) string { return b.Name })
}

// Listed is a bench in a list. Its JSON is an element of `kernbench list --format json`.
type Listed struct {
	Name    string        `json:"name"`
	Summary string        `json:"summary"`
	Doc     string        `json:"doc"`
	Params  []bench.Param `json:"params,omitempty"`
	Schema  table.Schema  `json:"schema,omitempty"` // columns of rows and metrics
}

// List is a list of benches. It is printed with a line for each bench, or with full
// descriptions if the benches were selected by name.
type List struct {
	benches []Listed
	full    bool
}

// ListBenches returns the named benches, or all benches if there are no names.
func ListBenches(ctx context.Context, names ...string) (l List, err error) {
	l.full = len(names) > 0
	if !l.full {
		names = BenchNames()
	}
	l.benches = make([]Listed, len(names))
	for i, name := range names {
		b, err := FindBench(ctx, name)
		if err != nil {
			return l, err
		}
		l.benches[i] = Listed{b.Name, b.Summary, b.Doc, b.Params, b.Schema()}
	}
	return l, nil
}

// MarshalJSON writes the benches as a list.
func (l List) MarshalJSON() ([]byte, error) { return table.Marshal(l.benches) }

// WriteText writes a description of each bench if the list was requested by names,
// otherwise a table of all benches.
func (l List) WriteText(w io.Writer) error {
	if !l.full {
		return table.WriteList(w, []string{"bench", "summary"}, l.benches, func(b Listed) []string { return []string{b.Name, b.Summary} })
	}
	for i, b := range l.benches {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, strings.TrimSpace(b.Name+": "+b.Summary+"\n\n"+b.Doc)+b.paramText())
		if err := b.writeColumns(w); err != nil {
			return err
		}
	}
	return nil
}

// paramText returns the parameters of a bench, each on its own line.
func (b Listed) paramText() string {
	var lines strings.Builder
	for _, p := range b.Params {
		fmt.Fprintf(&lines, "\n  --%s %s: %s", p.Name, cmp.Or(strings.Join(p.Values, "|"), "text"), p.Usage)
		if p.Default != "" {
			fmt.Fprintf(&lines, " (default %s)", p.Default)
		}
	}
	if lines.Len() == 0 {
		return ""
	}
	return "\n\nParameters:" + lines.String()
}

// writeColumns writes a table of the columns that the bench's rows have, and a table of its
// metrics.
func (b Listed) writeColumns(w io.Writer) error {
	better := map[table.Role]string{table.Lower: "lower is better", table.Higher: "higher is better"}
	for _, section := range []struct{ member, thing string }{{"rows", "column"}, {"metrics", "metric"}} {
		if len(b.Schema[section.member]) == 0 {
			continue
		}
		fmt.Fprintln(w)
		if err := table.WriteList(w, []string{section.thing, "unit", "role", "label"}, b.Schema[section.member], func(c table.Column) []string {
			return []string{c.Name, string(c.Unit), cmp.Or(better[c.Role], string(c.Role)), c.Label}
		}); err != nil {
			return err
		}
	}
	return nil
}

// NoEffect returns an error if bench b ignores configurations of kind k. `text` is the
// setting as it was written, for the message.
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

// CheckEffect returns an error for the first flag of the choice that bench b ignores.
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

// Ineffective returns a sentence for each flag that had no effect on a run. It is for
// benches that do not declare which settings they use.
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
