package cli

import (
	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/internal/setup"
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
	Kind: setup.CCL, files: "files of how collectives are done", usual: "the embedded one", presets: []string{"default"},
	list: "configs", member: ", algorithms (names of entries)",
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
	return showCommand(setup.CCL, cmd, func(c *setup.Loaded) (result, error) { return describe.DescribeCollectives(c.CCL) })
}
