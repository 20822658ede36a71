package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/topology"
)

func cclCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ccl",
		Short: "Show and check how collectives are done",
		Long: `How collectives are done is in ccl.yaml: defaults, and entries that have a name, each
with an algorithm, queues and a number of ranks. kernbench run and coll read it from
--ccl FILE, else ./ccl.yaml, else it is the embedded one.`,
		Example: `  kernbench ccl show
  kernbench ccl show --format yaml > ccl.yaml
  kernbench ccl validate ccl.yaml`,
	}
	group(cmd)
	cmd.AddCommand(cclShowCmd(), cclValidator.command(), schemaCommand("ccl", "a ccl.yaml", ccl.Schema))
	return cmd
}

var cclValidator = validator{
	configKind: cclKind, files: "files of how collectives are done", usual: "the embedded one", presets: []string{"default"},
	list: "configs", member: ", algorithms (names of entries)",
	size: func(c configs, v *validation) string {
		v.Algorithms = c.ccl.Names()
		return fmt.Sprintf("entries: %d", len(v.Algorithms))
	},
}

// collectives is what `kernbench ccl show --format json` prints.
type collectives struct {
	Version string          `json:"version"` // of kernbench
	CCL     topology.Origin `json:"ccl"`
	Default string          `json:"default,omitempty"` // the entry that the defaults name
	Entries []entry         `json:"entries"`           // the defaults first, without a name
}

// entry is a way to do a collective. Zeros are as the topology has them, of chunks a
// slot, and of the world all PEs.
type entry struct {
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

func cclShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print how collectives are done",
		Long: `Show prints the entries of ccl.yaml with the defaults filled in; a dash is what the
topology says, of root_cube the cube in the middle, of world_size all PEs. The first line
says which configuration was used. Where defaults.algorithm names an entry, the row
(defaults: NAME) has the settings of that entry. --format yaml prints a complete file,
which loads back.

--format json has version, ccl (source and hash), default (the entry that the defaults
name, if they do) and entries, the defaults first and without a name, with the keys of
the file; sizes are in bytes.`,
		Example: `  kernbench ccl show
  kernbench ccl show --set ccl.defaults.buffer_kind=hbm --format yaml > ccl.yaml`,
	}
	return cclKind.showCommand(cmd, func(c configs) (shownConfig, error) {
		all := &collectives{Version: version.Version, CCL: topology.OriginOf(c.ccl), Default: c.ccl.DefaultEntry()}
		for _, name := range append([]string{""}, c.ccl.Names()...) {
			s, err := c.ccl.Named(name)
			if err != nil {
				return nil, err
			}
			e := entry{
				name, s.Algorithm, string(s.BufferKind), string(s.Backpressure), s.NSlots,
				int(s.SlotSize), int(s.CreditBytes), int(s.ChunkBytes), nil, s.NElem, s.WorldSize,
			}
			if cube := s.RootCube - 1; cube >= 0 {
				e.RootCube = &cube
			}
			all.Entries = append(all.Entries, e)
		}
		return all, nil
	})
}

func (c *collectives) writeText(w io.Writer) error {
	fmt.Fprintf(w, "# ccl: %v\n\n", c.CCL)
	return writeRows(w, []string{
		"entry", "algorithm", "buffer_kind", "backpressure", "n_slots", "slot_size", "credit_bytes", "chunk_bytes", "root_cube", "n_elem", "world_size",
	}, c.Entries, func(e entry) []string {
		name := e.Name
		if name == "" {
			name = "(defaults)"
			if c.Default != "" {
				name = fmt.Sprintf("(defaults: %s)", c.Default)
			}
		}
		row := []string{name, e.Algorithm, cmp.Or(e.BufferKind, "-"), cmp.Or(e.Backpressure, "-")}
		for _, n := range []int{e.NSlots, e.SlotSize, e.CreditBytes, e.ChunkBytes} {
			row = append(row, numberOrDash(n))
		}
		root := "-"
		if e.RootCube != nil {
			root = strconv.Itoa(*e.RootCube)
		}
		return append(row, root, strconv.Itoa(e.NElem), numberOrDash(e.WorldSize))
	})
}
