package torch

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kernbench/kernbench/ccl"
)

// Report is what a bench found out, for people and programs.
type Report struct {
	Crit    Time     // the longest critical path of all launches
	Notes   []string // lines for people, before the table
	Metrics []Metric
	Rows    []Row
	Checks  []Check
	Used    []Used   // configurations beside the system's
	Files   []string // written
	// Launches is the times of all launches and collectives on every rank, in the order
	// of their ends, if the options ask for that.
	Launches []RankTimes
}

// Metric is one number or word with a name; units are in the name: "window_ns".
type Metric struct {
	Name  string
	Value any
}

// Row is one line of a bench's table: named values, in order.
type Row []Metric

// Check is a comparison of values with a reference, or of something else that has to hold, such
// as of times with a bound.
type Check struct {
	Name  string
	Elems int    // of tensors that were compared; 0 if the check is not of values
	Wrong string // the first difference; empty if there is none
}

// Metric adds a metric to the report.
func (c *Context) Metric(name string, value any) {
	c.Report.Metrics = append(c.Report.Metrics, Metric{name, value})
}

// Row adds a row to the report's table.
func (c *Context) Row(values ...Metric) {
	c.Report.Rows = append(c.Report.Rows, Row(values))
}

// Notef adds a line to the report.
func (c *Context) Notef(format string, args ...any) {
	c.Report.Notes = append(c.Report.Notes, fmt.Sprintf(format, args...))
}

// Artifact notes a file that the program has written.
func (c *Context) Artifact(file string) { c.Report.Files = append(c.Report.Files, file) }

// Col is a value of a Row.
func Col(name string, value any) Metric { return Metric{name, value} }

// Param is the value of one of the program's parameters. It panics with an *Error if
// the program has not declared it.
func (c *Context) Param(name string) string {
	value, ok := c.options.Params[name]
	if !ok {
		panic(misuse("Param", "%q is not declared: the parameters are %v", name, slices.Sorted(maps.Keys(c.options.Params))))
	}
	return value
}

// CCL is how collectives are done: the Config of the options, or the default.
func (c *Context) CCL() *ccl.Config { return c.ccl() }
