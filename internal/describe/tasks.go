package describe

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/topology"
)

// Scheduling is what scheduling tasks costs. Its JSON is what `kernbench tasks show --format json`
// prints. Times are in ns, and their names end so.
type Scheduling struct {
	Version  string         `json:"version"` // of kernbench
	Tasks    config.Used    `json:"tasks"`
	Control  table.Record   `json:"control"`  // what the runtimes have in common
	Runtimes []table.Record `json:"runtimes"` // the name first, then its own keys
}

// DescribeTasks returns the numbers of a configuration.
func DescribeTasks(c *task.Config) *Scheduling {
	s := &Scheduling{
		Version: version.Version, Tasks: config.UsedBy(c), Control: numbers(c.Control),
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

// WriteText writes the numbers in two tables.
func (s *Scheduling) WriteText(w io.Writer) error {
	text := func(v table.Member) string { return strings.TrimSuffix(fmt.Sprint(v.Value), "ns") }
	var columns []string // in the order in which they come up
	for _, v := range slices.Concat(s.Runtimes...) {
		if !slices.Contains(columns, v.Name) {
			columns = append(columns, v.Name)
		}
	}
	fmt.Fprintln(w, s.Tasks.Line("tasks")+"\n")
	table.WriteList(w, []string{"control", "value"}, s.Control, func(v table.Member) []string { return []string{v.Name, text(v)} })
	fmt.Fprintln(w)
	return table.WriteList(w, append([]string{"runtime"}, columns[1:]...), s.Runtimes, func(r table.Record) []string {
		row := slices.Repeat([]string{"-"}, len(columns))
		for _, v := range r {
			row[slices.Index(columns, v.Name)] = text(v)
		}
		return row
	})
}
