package experiment

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// sweepText is a sweep as it is written.
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

// dimensionText is a setting that changes, or several that change together.
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
	valueText    string // as it is written
	dataWord     string
	checkWord    string
	fidelityWord string
)

func sweepScalars() config.Scalars {
	s := config.Scalars{}
	config.Define(s, "a single value", func(text string) (valueText, error) { return valueText(text), nil }, func(v valueText) string { return string(v) })
	config.DefineWords(s, []dataWord{"on", "off"})
	config.DefineWords(s, []checkWord{"none", "race"})
	config.DefineWords(s, []fidelityWord{"train", "flit"})
	return s
}

// Sweep is a sweep that was read from a file, and what is wrong with it.
type Sweep struct {
	sweepText
	Name   string        // of the file
	Text   string        // that the file has
	Axes   [][]Dimension // of each dimension of the grid, the settings that change together
	Errors config.Errors
	doc    *config.Doc
}

// ReadSweep reads a file. It finds mistakes of form; the caller checks what the settings
// mean, and adds mistakes with Fail.
func ReadSweep(ctx context.Context, name string) (*Sweep, error) {
	text, err := config.ReadFile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read a sweep: %w", err)
	}
	f := &Sweep{Name: name, Text: string(text)}
	if f.doc, err = config.ParseAlone(name, text); err != nil {
		return nil, err
	}
	if err := f.doc.Decode(&f.sweepText, sweepScalars()); err != nil {
		return nil, err
	}
	for i, set := range f.Set {
		if key, _, ok := strings.Cut(set, "="); !ok || key == "" {
			f.Fail(fmt.Sprintf("set[%d]", i), "%s sets nothing: write key=value, such as %s", set, "sip.ucie.bandwidth=256GB/s")
		}
	}
	seen := map[string]string{}
	points := 1
	for i, d := range f.Grid {
		path := fmt.Sprintf("grid[%d]", i)
		columns := f.dimension(path, d)
		for _, c := range columns {
			if first, twice := seen[c.Name]; twice {
				f.Fail(c.NameAt, "%s has a dimension already, %s: delete one", c.Name, first)
			}
			seen[c.Name] = path
		}
		if len(columns) > 0 {
			f.Axes = append(f.Axes, columns)
			points = min(points*len(columns[0].Values), MaxPoints+1)
		}
	}
	if points > MaxPoints {
		f.Fail("grid", "more than %d points: make lists or ranges shorter", MaxPoints)
	}
	return f, f.Errors.Err()
}

// Fail adds a mistake at a path of the file.
func (f *Sweep) Fail(path, format string, args ...any) {
	if len(f.Errors) < config.MaxErrors {
		f.Errors = append(f.Errors, f.doc.Errorf(path, format, args...))
	}
}

// dimension returns the settings of a dimension.
func (f *Sweep) dimension(path string, d dimensionText) (columns []Dimension) {
	if d.Zip == nil {
		columns = f.column(path, d)
		if !d.ranged() { // a range has no value twice
			f.checkTwice(columns)
		}
		return columns
	}
	if d.Key != "" || d.Values != nil || d.ranged() {
		f.Fail(path, "zip stands alone: its dimensions have the keys and values")
	}
	for i, z := range d.Zip {
		at := fmt.Sprintf("%s.zip[%d]", path, i)
		if z.Zip != nil {
			f.Fail(at, "zip within zip: one list is enough")
			continue
		}
		columns = append(columns, f.column(at, z)...)
	}
	for i, c := range columns {
		if n := len(columns[0].Values); i > 0 && len(c.Values) != n {
			f.Fail(c.NameAt, "%d values, and %s has %d: what changes together has as many", len(c.Values), columns[0].Name, n)
			return columns
		}
	}
	f.checkTwice(columns)
	return columns
}

// checkTwice refuses values that are given twice. Of several settings that change together,
// their values at one place count as one.
func (f *Sweep) checkTwice(columns []Dimension) {
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
			f.Fail(at, "%s is given twice: delete one", strings.Join(values, ", "))
		}
		seen[id] = true
	}
}

func (d dimensionText) ranged() bool {
	return d.From != nil || d.To != nil || d.Times != nil || d.Step != nil
}

// column returns the one setting of a dimension, none if it has mistakes.
func (f *Sweep) column(path string, d dimensionText) []Dimension {
	c := Dimension{Name: d.Key, NameAt: path + ".key"}
	switch {
	case d.Key == "":
		f.Fail(path, "no key: add one, such as key: topology")
		return nil
	case d.Values != nil && d.ranged():
		f.Fail(path, "values and a range: delete one of them")
		return nil
	case d.ranged():
		if c.Values = f.numbers(path, d); c.Values == nil {
			return nil
		}
	default:
		for i, v := range d.Values {
			c.Values, c.At = append(c.Values, string(v)), append(c.At, fmt.Sprintf("%s.values[%d]", path, i))
		}
	}
	if len(c.Values) == 0 {
		f.Fail(path, "no values: add values: [...], or a range such as from: 8, to: 1024, times: 2")
		return nil
	}
	for len(c.At) < len(c.Values) {
		c.At = append(c.At, path+".from")
	}
	return []Dimension{c}
}

// numbers returns the values of a range, up to its end and including it if a step meets it.
// A range with mistakes has none.
func (f *Sweep) numbers(path string, d dimensionText) (values []string) {
	switch {
	case d.From == nil || d.To == nil || (d.Times == nil) == (d.Step == nil):
		f.Fail(path, "a range has from, to, and one of times and step")
		return nil
	case d.Times != nil && *d.From < 1:
		f.Fail(path+".from", "%d times something gets nowhere: begin with 1 or more", *d.From)
		return nil
	case *d.From > *d.To:
		f.Fail(path+".to", "the range ends before it begins, with %d", *d.From)
		return nil
	case d.Step != nil && (uint64(*d.To)-uint64(*d.From))/uint64(*d.Step) >= MaxPoints:
		f.Fail(path, "more than %d values: take larger steps, or an end that is nearer", MaxPoints)
		return nil
	}
	for n := *d.From; ; {
		values = append(values, strconv.Itoa(n))
		switch { // compared before it grows, lest it overflow
		case d.Step != nil && n <= *d.To-*d.Step:
			n += *d.Step
		case d.Times != nil && n <= *d.To / *d.Times:
			n *= *d.Times
		default:
			return values
		}
	}
}

// Points returns all combinations of the grid, the last dimension changing fastest.
func (f *Sweep) Points() []Point { return product(f.Axes) }
