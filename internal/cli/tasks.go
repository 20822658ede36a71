package cli

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/topology"
)

func tasksCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "Show and check what scheduling tasks costs",
		Long: `What scheduling the tasks of a program costs, and how many there is room for, is in
tasks.yaml: what the runtimes have in common, and the numbers of each. kernbench run and
comm run read it from --tasks FILE, else ./tasks.yaml, else it is the embedded one.`,
		Example: `  kernbench tasks show
  kernbench tasks show --format yaml > tasks.yaml
  kernbench tasks validate tasks.yaml`,
	}
	group(cmd)
	cmd.AddCommand(tasksShowCmd(), tasksValidator.command(), schemaCommand("tasks", "a tasks.yaml", task.Schema))
	return cmd
}

var tasksValidator = validator{
	configKind: tasksKind, files: "files of what scheduling tasks costs", usual: "the embedded one", presets: []string{"default"}, list: "configs",
	size: func(configs, *validation) string { return fmt.Sprintf("runtimes: %d", len(task.Runtimes)) },
}

// scheduling is what `kernbench tasks show --format json` prints. Times are in ns, and
// their names end so.
type scheduling struct {
	Version  string          `json:"version"` // of kernbench
	Tasks    topology.Origin `json:"tasks"`
	Control  table.Record    `json:"control"`  // what the runtimes have in common
	Runtimes []table.Record  `json:"runtimes"` // the name first, then its own keys
}

func tasksShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print what scheduling tasks costs",
		Long: `Show prints the numbers of tasks.yaml: those that the runtimes have in common, and a line
for each runtime; a dash is what it does not have. The first line says which configuration
was used. --format yaml prints a complete file, which loads back.

--format json has version, tasks (source and hash), control and runtimes, each with its
name, with the keys of the file; times are in ns, and their names end in _ns.`,
		Example: `  kernbench tasks show
  kernbench tasks show --set tasks.control.register_read=50ns --format yaml > tasks.yaml`,
	}
	return tasksKind.showCommand(cmd, func(c configs) (shownConfig, error) { return describeTasks(c.tasks.(*task.Config)), nil })
}

func describeTasks(c *task.Config) *scheduling {
	s := &scheduling{
		Version: version.Version, Tasks: topology.OriginOf(c), Control: numbers(c.Control),
	}
	parts := reflect.ValueOf(*c)
	for _, k := range config.Keys(parts.Type()) {
		if slices.Contains(task.Runtimes, task.Runtime(k.Name)) {
			name := table.Member{Name: "name", Value: k.Name}
			s.Runtimes = append(s.Runtimes, append(table.Record{name}, numbers(parts.FieldByIndex(k.Index).Interface())...))
		}
	}
	return s
}

// numbers returns a part of the configuration by its keys.
func numbers(part any) (list table.Record) {
	v := reflect.ValueOf(part)
	for _, k := range config.Keys(v.Type()) {
		name, value := k.Name, v.FieldByIndex(k.Index).Interface()
		if _, ok := value.(topology.Time); ok {
			name += "_ns"
		}
		list = append(list, table.Member{Name: name, Value: value})
	}
	return list
}

func (s *scheduling) writeText(w io.Writer) error {
	text := func(v table.Member) string { return strings.TrimSuffix(fmt.Sprint(v.Value), "ns") }
	var columns []string // in the order in which they come up
	for _, v := range slices.Concat(s.Runtimes...) {
		if !slices.Contains(columns, v.Name) {
			columns = append(columns, v.Name)
		}
	}
	fmt.Fprintf(w, "# tasks: %v\n\n", s.Tasks)
	writeRows(w, []string{"control", "value"}, s.Control, func(v table.Member) []string { return []string{v.Name, text(v)} })
	fmt.Fprintln(w)
	return writeRows(w, append([]string{"runtime"}, columns[1:]...), s.Runtimes, func(r table.Record) []string {
		row := slices.Repeat([]string{"-"}, len(columns))
		for _, v := range r {
			row[slices.Index(columns, v.Name)] = text(v)
		}
		return row
	})
}
