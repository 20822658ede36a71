package sweep

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/experiment"
)

// sweepText is a sweep as written in its file.
type sweepText struct {
	Bench    string               `yaml:"bench" want:"the name of a bench, such as hello_send"`
	Topology string               `yaml:"topology,omitempty" want:"a file or a preset"`
	CCL      string               `yaml:"ccl,omitempty" want:"a file"`
	Tasks    string               `yaml:"tasks,omitempty" want:"a file"`
	Set      []string             `yaml:"set,omitempty" want:"a list of settings such as [sip.ucie.bandwidth=256GB/s]"`
	Params   map[string]valueText `yaml:"params,omitempty" want:"a mapping of parameters of the bench"`
	Data     dataWord             `yaml:"data,omitempty"`
	Check    checkWord            `yaml:"check,omitempty"`
	Fidelity fidelityWord         `yaml:"fidelity,omitempty"`
	Grid     []dimensionText      `yaml:"grid,omitempty" want:"a list of dimensions such as {key: topology, values: [ring6, torus2x3]}"`
}

// dimensionText is a setting that changes, or several settings that change together.
type dimensionText struct {
	Key    string          `yaml:"key,omitempty" want:"topology, params.NAME, or a key of --set"`
	Values []valueText     `yaml:"values,omitempty" want:"a list of values"`
	From   *int            `yaml:"from,omitempty"`
	To     *int            `yaml:"to,omitempty"`
	Times  *int            `yaml:"times,omitempty" range:"2..1000000"`
	Step   *int            `yaml:"step,omitempty" range:"1..1000000000"`
	Zip    []dimensionText `yaml:"zip,omitempty" want:"a list of dimensions that change together"`
}

type (
	valueText    string // a value as written in the file
	dataWord     string
	checkWord    string
	fidelityWord string
)

// sweepScalars returns the functions that parse the scalar values in the file of a sweep.
func sweepScalars() config.Scalars {
	s := config.Scalars{}
	config.Define(s, "a single value", func(text string) (valueText, error) { return valueText(text), nil }, func(v valueText) string { return string(v) })
	config.DefineWords(s, []dataWord{"on", "off"})
	config.DefineWords(s, []checkWord{"none", "race"})
	config.DefineWords(s, []fidelityWord{"train", "flit"})
	return s
}

// source is the file of a sweep and the mistakes in it.
type source struct {
	sweepText
	name   string
	text   string                   // contents of the file
	axes   [][]experiment.Dimension // the settings of each dimension of the grid, which change together
	errors config.Errors
	doc    *config.Doc
}

// readSource reads the file of a sweep and records mistakes in its form, such as unknown
// keys. The plan later checks the meaning of the settings.
func readSource(ctx context.Context, name string) (*source, error) {
	text, err := config.ReadFile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read a sweep: %w", err)
	}
	f := &source{name: name, text: string(text)}
	if f.doc, err = config.ParseStandalone(name, text); err != nil {
		return nil, err
	}
	if err := f.doc.Decode(&f.sweepText, sweepScalars()); err != nil {
		return nil, err
	}
	for i, set := range f.Set {
		if key, _, ok := strings.Cut(set, "="); !ok || key == "" {
			f.fail(fmt.Sprintf("set[%d]", i), "%s sets nothing: write key=value, such as %s", set, "sip.ucie.bandwidth=256GB/s")
		}
	}
	seen := map[string]string{}
	points := 1
	for i, d := range f.Grid {
		path := fmt.Sprintf("grid[%d]", i)
		columns := f.dimension(path, d)
		for _, c := range columns {
			if first, twice := seen[c.Name]; twice {
				f.fail(c.NameAt, "%s has a dimension already, %s: delete one", c.Name, first)
			}
			seen[c.Name] = path
		}
		if len(columns) > 0 {
			f.axes = append(f.axes, columns)
			points = min(points*len(columns[0].Values), experiment.MaxPoints+1)
		}
	}
	if points > experiment.MaxPoints {
		f.fail("grid", "more than %d points: make lists or ranges shorter", experiment.MaxPoints)
	}
	return f, f.errors.Err()
}

// fail records a mistake at a path (the keys that lead to a value) of the file.
func (f *source) fail(path, format string, args ...any) {
	if len(f.errors) < config.MaxErrors {
		f.errors = append(f.errors, f.doc.Errorf(path, format, args...))
	}
}

// dimension returns the settings of a dimension of the grid, each with all its values.
func (f *source) dimension(path string, d dimensionText) (columns []experiment.Dimension) {
	if d.Zip == nil {
		columns = f.column(path, d)
		if !d.isRange() { // a range has no duplicates
			f.checkDuplicates(columns)
		}
		return columns
	}
	if d.Key != "" || d.Values != nil || d.isRange() {
		f.fail(path, "zip stands alone: its dimensions have the keys and values")
	}
	for i, z := range d.Zip {
		at := fmt.Sprintf("%s.zip[%d]", path, i)
		if z.Zip != nil {
			f.fail(at, "zip within zip: one list is enough")
			continue
		}
		columns = append(columns, f.column(at, z)...)
	}
	for i, c := range columns {
		if n := len(columns[0].Values); i > 0 && len(c.Values) != n {
			f.fail(c.NameAt, "%d values, and %s has %d: what changes together has as many", len(c.Values), columns[0].Name, n)
			return columns
		}
	}
	f.checkDuplicates(columns)
	return columns
}

// checkDuplicates records a mistake for each value that is given twice. If several settings
// change together, all their values at one index count as one value.
func (f *source) checkDuplicates(columns []experiment.Dimension) {
	if len(columns) == 0 {
		return
	}
	seen := map[string]bool{}
	for i, at := range columns[0].At {
		var values []string
		for _, c := range columns {
			values = append(values, c.Values[i])
		}
		id := fmt.Sprintf("%q", values)
		if seen[id] {
			f.fail(at, "%s is given twice: delete one", strings.Join(values, ", "))
		}
		seen[id] = true
	}
}

// isRange reports whether the dimension has keys of a range.
func (d dimensionText) isRange() bool {
	return d.From != nil || d.To != nil || d.Times != nil || d.Step != nil
}

// column returns the only setting of a dimension, or nil if the dimension has mistakes.
func (f *source) column(path string, d dimensionText) []experiment.Dimension {
	c := experiment.Dimension{Name: d.Key, NameAt: path + ".key"}
	switch {
	case d.Key == "":
		f.fail(path, "no key: add one, such as key: topology")
		return nil
	case d.Values != nil && d.isRange():
		f.fail(path, "values and a range: delete one of them")
		return nil
	case d.isRange():
		if c.Values = f.rangeValues(path, d); c.Values == nil {
			return nil
		}
	default:
		for i, v := range d.Values {
			c.Values, c.At = append(c.Values, string(v)), append(c.At, fmt.Sprintf("%s.values[%d]", path, i))
		}
	}
	if len(c.Values) == 0 {
		f.fail(path, "no values: add values: [...], or a range such as from: 8, to: 1024, times: 2")
		return nil
	}
	for len(c.At) < len(c.Values) {
		c.At = append(c.At, path+".from")
	}
	return []experiment.Dimension{c}
}

// rangeValues returns the values of a range. The end is included if a step reaches it. The
// result is nil if the range has mistakes.
func (f *source) rangeValues(path string, d dimensionText) (values []string) {
	switch {
	case d.From == nil || d.To == nil || (d.Times == nil) == (d.Step == nil):
		f.fail(path, "a range has from, to, and one of times and step")
		return nil
	case d.Times != nil && *d.From < 1:
		f.fail(path+".from", "%d times something gets nowhere: begin with 1 or more", *d.From)
		return nil
	case *d.From > *d.To:
		f.fail(path+".to", "the range ends before it begins, with %d", *d.From)
		return nil
	case d.Step != nil && (uint64(*d.To)-uint64(*d.From))/uint64(*d.Step) >= experiment.MaxPoints:
		f.fail(path, "more than %d values: take larger steps, or an end that is nearer", experiment.MaxPoints)
		return nil
	}
	for n := *d.From; ; {
		values = append(values, strconv.Itoa(n))
		switch { // compare before n grows, to avoid overflow
		case d.Step != nil && n <= *d.To-*d.Step:
			n += *d.Step
		case d.Times != nil && n <= *d.To / *d.Times:
			n *= *d.Times
		default:
			return values
		}
	}
}
