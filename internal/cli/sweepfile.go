package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/experiment"
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

// column is one setting of a grid with its values, and where in the file all this is.
type column struct {
	key    string
	keyAt  string // path of the key
	values []string
	at     []string // path of each value
}

// sweepFile is a sweep that was read, and what is wrong with it.
type sweepFile struct {
	sweepText
	name string
	doc  *config.Doc
	grid [][]column // of each dimension, the settings that change together
	errs config.Errors
}

// readSweep reads a file. Its mistakes are all of its form; whether the settings mean
// something is for sweepPlan to find out.
func readSweep(ctx context.Context, name string) (*sweepFile, error) {
	text, err := config.ReadFile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read a sweep: %w", err)
	}
	f := &sweepFile{name: name}
	if f.doc, err = config.ParseAlone(name, text); err != nil {
		return nil, err
	}
	if err := f.doc.Decode(&f.sweepText, sweepScalars()); err != nil {
		return nil, err
	}
	for i, set := range f.Set {
		if key, _, ok := strings.Cut(set, "="); !ok || key == "" {
			f.fail(fmt.Sprintf("set[%d]", i), "%s sets nothing: write key=value, such as %s", set, exampleSet)
		}
	}
	seen := map[string]string{}
	points := 1
	for i, d := range f.Grid {
		path := fmt.Sprintf("grid[%d]", i)
		columns := f.dimension(path, d)
		for _, c := range columns {
			if first, twice := seen[c.key]; twice {
				f.fail(c.keyAt, "%s has a dimension already, %s: delete one", c.key, first)
			}
			seen[c.key] = path
		}
		if len(columns) > 0 {
			f.grid = append(f.grid, columns)
			points = min(points*len(columns[0].values), experiment.MaxPoints+1)
		}
	}
	if points > experiment.MaxPoints {
		f.fail("grid", "more than %d points: make lists or ranges shorter", experiment.MaxPoints)
	}
	return f, f.errs.Err()
}

func (f *sweepFile) fail(path, format string, args ...any) {
	if len(f.errs) < config.MaxErrors {
		f.errs = append(f.errs, f.doc.Errorf(path, format, args...))
	}
}

// dimension is the columns of a dimension.
func (f *sweepFile) dimension(path string, d dimensionText) (columns []column) {
	if d.Zip == nil {
		columns = f.column(path, d)
		if !d.ranged() { // a range has no value twice
			f.checkTwice(columns)
		}
		return columns
	}
	if d.Key != "" || d.Values != nil || d.ranged() {
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
		if n := len(columns[0].values); i > 0 && len(c.values) != n {
			f.fail(c.keyAt, "%d values, and %s has %d: what changes together has as many", len(c.values), columns[0].key, n)
			return columns
		}
	}
	f.checkTwice(columns)
	return columns
}

// checkTwice refuses values that are given twice; of several columns, all of their values
// together.
func (f *sweepFile) checkTwice(columns []column) {
	if len(columns) == 0 {
		return
	}
	seen := map[string]bool{}
	for i, at := range columns[0].at {
		var values []string
		for _, c := range columns {
			values = append(values, c.values[i])
		}
		id := fmt.Sprintf("%q", values)
		if seen[id] {
			f.fail(at, "%s is given twice: delete one", strings.Join(values, ", "))
		}
		seen[id] = true
	}
}

func (d dimensionText) ranged() bool {
	return d.From != nil || d.To != nil || d.Times != nil || d.Step != nil
}

// column is the one column of a dimension, none if it has mistakes.
func (f *sweepFile) column(path string, d dimensionText) []column {
	c := column{key: d.Key, keyAt: path + ".key"}
	switch {
	case d.Key == "":
		f.fail(path, "no key: add one, such as key: topology")
		return nil
	case d.Values != nil && d.ranged():
		f.fail(path, "values and a range: delete one of them")
		return nil
	case d.ranged():
		if c.values = f.numbers(path, d); c.values == nil {
			return nil
		}
	default:
		for i, v := range d.Values {
			c.values, c.at = append(c.values, string(v)), append(c.at, fmt.Sprintf("%s.values[%d]", path, i))
		}
	}
	if len(c.values) == 0 {
		f.fail(path, "no values: add values: [...], or a range such as from: 8, to: 1024, times: 2")
		return nil
	}
	for len(c.at) < len(c.values) {
		c.at = append(c.at, path+".from")
	}
	return []column{c}
}

// numbers is the values of a range, up to and perhaps including its end; none if it is
// no range.
func (f *sweepFile) numbers(path string, d dimensionText) (values []string) {
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

// points is all combinations, the last dimension changing fastest.
func (f *sweepFile) points() []experiment.Point {
	total := 1
	for _, columns := range f.grid {
		total *= len(columns[0].values)
	}
	points := make([]experiment.Point, total)
	for p := range points {
		rest := total
		for _, columns := range f.grid {
			rest /= len(columns[0].values)
			for _, c := range columns {
				points[p] = append(points[p], experiment.Setting{Name: c.key, Value: c.values[p/rest%len(c.values)]})
			}
		}
	}
	return points
}
