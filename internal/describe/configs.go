package describe

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/topology"
)

// Collectives is how collectives are done. Its JSON is what `kernbench ccl show --format json`
// prints.
type Collectives struct {
	Version string      `json:"version"` // of kernbench
	CCL     config.Used `json:"ccl"`
	Default string      `json:"default,omitempty"` // the entry that the defaults name
	Entries []Entry     `json:"entries"`           // the defaults first, without a name
}

// Entry is a way to do a collective. Zeros are as the topology has them, of chunks a
// slot, and of the world all PEs.
type Entry struct {
	Name         string `json:"name"`
	Algorithm    string `json:"algorithm"`
	BufferKind   string `json:"buffer_kind,omitempty"`
	Backpressure string `json:"backpressure,omitempty"`
	NSlots       int    `json:"n_slots,omitempty"`
	SlotSize     int    `json:"slot_size_bytes,omitempty"`
	CreditBytes  int    `json:"credit_bytes,omitempty"`
	ChunkBytes   int    `json:"chunk_bytes,omitempty"`
	RootCube     *int   `json:"root_cube,omitempty"` // the one in the middle if there is none
	NElem        int    `json:"n_elem"`
	WorldSize    int    `json:"world_size,omitempty"`
}

// DescribeCollectives returns a configuration with the defaults filled in.
func DescribeCollectives(c *ccl.Config) (*Collectives, error) {
	all := &Collectives{Version: version.Version, CCL: config.UsedBy(c), Default: c.DefaultEntry()}
	for _, name := range append([]string{""}, c.Names()...) {
		s, err := c.Named(name)
		if err != nil {
			return nil, err
		}
		e := Entry{
			name, s.Algorithm, string(s.BufferKind), string(s.Backpressure), s.NSlots,
			int(s.SlotSize), int(s.CreditBytes), int(s.ChunkBytes), nil, s.NElem, s.WorldSize,
		}
		if cube := s.RootCube - 1; cube >= 0 {
			e.RootCube = &cube
		}
		all.Entries = append(all.Entries, e)
	}
	return all, nil
}

// WriteText writes the entries as a table.
func (c *Collectives) WriteText(w io.Writer) error {
	fmt.Fprintln(w, c.CCL.Line("ccl")+"\n")
	return table.WriteList(w, []string{
		"entry", "algorithm", "buffer_kind", "backpressure", "n_slots", "slot_size", "credit_bytes", "chunk_bytes", "root_cube", "n_elem", "world_size",
	}, c.Entries, func(e Entry) []string {
		name := e.Name
		if name == "" {
			name = "(defaults)"
			if c.Default != "" {
				name = fmt.Sprintf("(defaults: %s)", c.Default)
			}
		}
		row := []string{name, e.Algorithm, cmp.Or(e.BufferKind, "-"), cmp.Or(e.Backpressure, "-")}
		for _, n := range []int{e.NSlots, e.SlotSize, e.CreditBytes, e.ChunkBytes} {
			row = append(row, dash(n))
		}
		root := "-"
		if e.RootCube != nil {
			root = strconv.Itoa(*e.RootCube)
		}
		return append(row, root, strconv.Itoa(e.NElem), dash(e.WorldSize))
	})
}

// dash returns a number, or a dash for zero.
func dash(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

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

// Presets is the systems that come with the program. Its JSON is what `kernbench topology presets
// --format json` prints.
type Presets []Preset

// Preset is one of the systems.
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

// firstSentence returns the first sentence of the comment that a file begins with.
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
