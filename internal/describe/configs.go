package describe

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/topology"
)

// Collectives is the configuration of collectives. Its JSON is the output of `kernbench ccl
// show --format json`.
type Collectives struct {
	Version string          `json:"version"` // version of kernbench
	CCL     topology.Origin `json:"ccl"`
	Default string          `json:"default,omitempty"` // the entry that the defaults refer to
	Entries []table.Record  `json:"entries"`           // the defaults first, without a name
}

// DescribeCollectives returns the entries of a configuration, with defaults filled in. The
// first entry has no name and consists of the defaults. Settings that the topology
// determines are left out.
func DescribeCollectives(c *ccl.Config) (*Collectives, error) {
	all := &Collectives{Version: version.Version, CCL: topology.OriginOf(c), Default: c.DefaultEntry()}
	for _, name := range append([]string{""}, c.Names()...) {
		s, err := c.Named(name)
		if err != nil {
			return nil, err
		}
		all.Entries = append(all.Entries, slices.DeleteFunc(table.Record{
			{Name: "name", Value: name}, {Name: "algorithm", Value: s.Algorithm}, {Name: "buffer_kind", Value: string(s.BufferKind)},
			{Name: "backpressure", Value: string(s.Backpressure)}, {Name: "n_slots", Value: s.NSlots}, {Name: "slot_size_bytes", Value: int(s.SlotSize)},
			{Name: "credit_bytes", Value: int(s.CreditBytes)}, {Name: "chunk_bytes", Value: int(s.ChunkBytes)}, {Name: "root_cube", Value: s.RootCube - 1},
			{Name: "n_elem", Value: s.NElem}, {Name: "world_size", Value: s.WorldSize},
		}, isUnset))
	}
	return all, nil
}

// isUnset reports whether an entry of ccl.yaml gives no value for setting m. The topology
// or the algorithm then determines the value: the root cube is the cube in the middle, the
// algorithm chooses the chunk, and the world consists of all PEs.
func isUnset(m table.Member) bool {
	switch m.Name {
	case "name", "algorithm", "n_elem":
		return false
	case "root_cube":
		return m.Value == -1
	}
	return m.Value == "" || m.Value == 0
}

// WriteText writes the entries as a table.
func (c *Collectives) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "# ccl: %v\n\n", c.CCL)
	columns := []string{"algorithm", "buffer_kind", "backpressure", "n_slots", "slot_size_bytes", "credit_bytes", "chunk_bytes", "root_cube", "n_elem", "world_size"}
	header := append([]string{"entry"}, columns...)
	header[5] = "slot_size"
	return table.WriteList(w, header, c.Entries, func(e table.Record) []string {
		name, defaults := table.Text(e.Get("name")), "(defaults)"
		if c.Default != "" {
			defaults = fmt.Sprintf("(defaults: %s)", c.Default)
		}
		row := []string{cmp.Or(name, defaults)}
		for _, column := range columns {
			cell := "-"
			if v := e.Get(column); v != nil {
				cell = fmt.Sprint(v)
			}
			row = append(row, cell)
		}
		return row
	})
}

// Scheduling is the costs of scheduling tasks. Its JSON is the output of `kernbench tasks
// show --format json`. Times are in ns, and their names end in _ns.
type Scheduling struct {
	Version  string          `json:"version"` // version of kernbench
	Tasks    topology.Origin `json:"tasks"`
	Control  table.Record    `json:"control"`  // numbers that all runtimes share
	Runtimes []table.Record  `json:"runtimes"` // each with the name first, then its own keys
}

// DescribeTasks returns the costs of scheduling in a configuration of tasks.
func DescribeTasks(c *task.Config) *Scheduling {
	s := &Scheduling{
		Version: version.Version, Tasks: topology.OriginOf(c), Control: configRecord(c.Control),
	}
	parts := reflect.ValueOf(*c)
	for _, k := range config.Keys(parts.Type()) {
		if slices.Contains(task.Runtimes, task.Runtime(k.Name)) {
			name := table.Member{Name: "name", Value: k.Name}
			s.Runtimes = append(s.Runtimes, append(table.Record{name}, configRecord(parts.FieldByIndex(k.Index).Interface())...))
		}
	}
	return s
}

// configRecord returns the keys and values of `part`, which is a struct of the
// configuration.
func configRecord(part any) (list table.Record) {
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

// WriteText writes two tables: the numbers that all runtimes share, and the numbers of each
// runtime.
func (s *Scheduling) WriteText(w io.Writer) error {
	text := func(v table.Member) string { return strings.TrimSuffix(fmt.Sprint(v.Value), "ns") }
	var columns []string // in the order in which they first appear
	for _, v := range slices.Concat(s.Runtimes...) {
		if !slices.Contains(columns, v.Name) {
			columns = append(columns, v.Name)
		}
	}
	fmt.Fprintf(w, "# tasks: %v\n\n", s.Tasks)
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

// Presets is the list of presets. Its JSON is the output of `kernbench topology presets
// --format json`.
type Presets []Preset

// Preset is a topology that ships with kernbench.
type Preset struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// ListPresets returns all presets.
func ListPresets() (list Presets, err error) {
	for _, name := range topology.Presets() {
		src, err := topology.PresetSource(name)
		if err != nil {
			return nil, err
		}
		list = append(list, Preset{name, firstSentence(string(src))})
	}
	return list, nil
}

// WriteText writes the presets as a table.
func (l Presets) WriteText(w io.Writer) error {
	return table.WriteList(w, []string{"preset", "description"}, l, func(p Preset) []string { return []string{p.Name, p.Description} })
}

// firstSentence returns the first sentence of the comment at the start of a file.
func firstSentence(src string) string {
	var words []string
	for line := range strings.Lines(src) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	sentence, _, _ := strings.Cut(strings.Join(words, " ")+" ", ". ")
	return strings.TrimSpace(sentence)
}
