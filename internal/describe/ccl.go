package describe

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
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
