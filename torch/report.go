package torch

// Report is what a bench found out, for people and programs.
type Report struct {
	Crit    Time // the longest critical path of all launches
	Metrics []Metric
	Rows    []Row
	Checks  []Check
}

// Metric is one number or word with a name; units are in the name: "window_ns".
type Metric struct {
	Name  string
	Value any
}

// Row is one line of a bench's table: named values, in order.
type Row []Metric

// Check is a comparison of values with a reference.
type Check struct {
	Name  string
	Elems int    // compared
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

// Col is a value of a Row.
func Col(name string, value any) Metric { return Metric{name, value} }
