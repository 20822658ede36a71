package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Result is the result of a run of a bench. Its JSON is a contract, which
// docs/use/benches.md describes. Its tagged fields are columns in tables with a row for
// each run.
type Result struct {
	Bench     string       `json:"bench"`
	OK        bool         `json:"ok" table:",check"`                      // no wrong value and no race
	Crit      torch.Time   `json:"crit_ns" table:"ns,lower,critical path"` // the longest time of a launch
	Makespan  torch.Time   `json:"makespan_ns" table:"ns,lower"`           // the longest time of a machine
	Notes     []string     `json:"notes,omitempty"`
	Metrics   table.Record `json:"metrics"`
	Rows      *table.Table `json:"rows"`
	Artifacts []string     `json:"artifacts"` // files written
	Config    Config       `json:"config"`
	// Launches has the time of every launch and collective on each rank. It is empty unless
	// Options.PerRank is set.
	Launches []torch.RankTimes `json:"launches,omitempty"`
	Schema   table.Schema      `json:"schema"` // columns of rows, metrics and launches

	Checks     torch.Checks `json:"-"` // comparisons with a reference
	Races      []string     `json:"-"` // pairs of unordered accesses
	logSummary string       // what the saved op log contains; "" if none was saved
}

// Config describes what a result depends on. Options that cannot change a result, such as
// the number of threads, are not in it.
type Config struct {
	Version   string            `json:"version"` // of kernbench
	Topology  topology.Origin   `json:"topology"`
	CCL       *topology.Origin  `json:"ccl,omitempty"`        // of a run with collectives; otherwise nil
	Tasks     *topology.Origin  `json:"tasks,omitempty"`      // of the first program of tasks; nil without programs of tasks
	TasksAlso []topology.Origin `json:"tasks_also,omitempty"` // further configurations of tasks, each once
	Params    map[string]string `json:"params,omitempty"`     // values of all parameters
	Fidelity  string            `json:"fidelity"`             // train or flit
	Data      string            `json:"data"`                 // on or off
	Check     string            `json:"check"`                // race or none
}

// WriteText writes the result for people: the configuration, notes, the table of rows, the
// metrics, and whether the values are right.
func (r *Result) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "# bench: %s\n# topology: %v\n", r.Bench, r.Config.Topology)
	if used := r.Config.CCL; used != nil {
		fmt.Fprintf(w, "# ccl: %v\n", used)
	}
	if used := r.Config.Tasks; used != nil {
		for _, u := range append([]topology.Origin{*used}, r.Config.TasksAlso...) {
			fmt.Fprintf(w, "# tasks: %v\n", u)
		}
	}
	if params := r.Config.paramText(); params != "" {
		fmt.Fprintf(w, "# params: %s\n", params)
	}
	fmt.Fprintf(w, "# fidelity: %s\n", r.Config.Fidelity)
	if len(r.Notes) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(r.Notes, "\n"))
	}
	if len(r.Rows.Rows) > 0 {
		fmt.Fprintln(w)
		if err := r.Rows.WriteText(w); err != nil {
			return err
		}
	}
	if err := r.writeLaunches(w); err != nil {
		return err
	}
	rows := [][]string{{"crit_ns", nanoseconds(r.Crit)}, {"makespan_ns", nanoseconds(r.Makespan)}}
	metrics := table.FromRecords(r.Schema["metrics"], []table.Record{r.Metrics})
	for i, m := range r.Metrics {
		rows = append(rows, []string{m.Name, metrics.Show(0, i)})
	}
	fmt.Fprintln(w)
	if err := table.WriteTable(w, []string{"metric", "value"}, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", r.verdict())
	switch {
	case len(r.Races) > 0:
		fmt.Fprintf(w, "RACES: %s of lines\n", printable.Count(len(r.Races), "pair"))
	case r.Config.Check == "race":
		fmt.Fprintln(w, "no races")
	}
	if r.logSummary != "" {
		fmt.Fprintf(w, "op log: %s\n", r.logSummary)
	}
	for _, file := range r.Artifacts {
		fmt.Fprintf(w, "written: %s\n", file)
	}
	return nil
}

// writeLaunches writes a table with a row for each rank of each launch, if there are any.
func (r *Result) writeLaunches(w io.Writer) error {
	if len(r.Launches) == 0 {
		return nil
	}
	var rows [][]string
	for i, l := range r.Launches {
		for j, rank := range l.Ranks {
			rows = append(rows, []string{strconv.Itoa(i + 1), l.Name, nanoseconds(l.Start), strconv.Itoa(rank), nanoseconds(l.Exec[j])})
		}
	}
	fmt.Fprintln(w)
	return table.WriteTable(w, []string{"launch", "name", "start_ns", "rank", "pe_exec_ns"}, rows)
}

// paramText returns the parameters that have a value, as in "ranks-per=pe".
func (c Config) paramText() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		if c.Params[name] != "" {
			words = append(words, name+"="+c.Params[name])
		}
	}
	return strings.Join(words, " ")
}

// nanoseconds formats a time for tables: the exact number of nanoseconds.
func nanoseconds(t torch.Time) string { return string(t.AppendIn(nil, simtime.Nanosecond)) }

// verdict returns the line of the text that says how much was compared, and whether the
// values are right.
func (r *Result) verdict() string { return "values " + Verdict(r.Config.Data != "off", r.Checks) }

// Verdict summarizes checks: first the checks of values, if values were computed, then all
// other checks.
func Verdict(computed bool, checks []torch.Check) string {
	var elems, values, wrong, others, failed int
	for _, c := range checks {
		bad := 0
		if c.Wrong != "" {
			bad = 1
		}
		if c.Elems > 0 {
			elems, values, wrong = elems+c.Elems, values+1, wrong+bad
		} else {
			others, failed = others+1, failed+bad
		}
	}
	compared := printable.Count(elems, "element") + " compared"
	text := fmt.Sprintf("ok: %s in %s", compared, printable.Count(values, "check"))
	switch {
	case !computed:
		text = "not computed"
	case wrong > 0:
		text = fmt.Sprintf("WRONG in %d of %s, %s", wrong, printable.Count(values, "check"), compared)
	case values == 0:
		text = "not checked: the bench has nothing to compare them with"
	}
	switch {
	case failed > 0:
		text += fmt.Sprintf("; %d of %s FAILED", failed, printable.Count(others, "other check"))
	case others > 0:
		text += fmt.Sprintf("; %s passed", printable.Count(others, "other check"))
	}
	return text
}

// Mistakes returns a sentence for each check that failed and each race.
func (r *Result) Mistakes() []string { return append(r.Wrong(), r.Races...) }

// Wrong returns a sentence for each check that failed.
func (r *Result) Wrong() (list []string) {
	for _, c := range r.Checks {
		switch {
		case c.Wrong != "" && c.Elems > 0:
			list = append(list, fmt.Sprintf("wrong value: %s: %s", c.Name, c.Wrong))
		case c.Wrong != "":
			list = append(list, fmt.Sprintf("failed check: %s: %s", c.Name, c.Wrong))
		}
	}
	return list
}
