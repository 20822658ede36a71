package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/task"
)

func cclCmd() *cobra.Command {
	return configCommand(setup.CCL, `ccl.yaml configures collectives. It has defaults and named entries, each with an
algorithm, queues and a number of ranks.
The commands run, coll and sweep read it.`, `Show prints the entries of ccl.yaml with the defaults filled in. A dash means:
as in the topology; for root_cube, the middle cube; for world_size, all PEs. If
defaults.algorithm names an entry, the row (defaults: NAME) has the settings of
that entry. --format yaml prints a complete ccl.yaml.

--format json prints an object with the keys version, ccl (source and hash),
default (the entry that the defaults name) and entries. The first entry, without
a name, is the defaults. The keys of entries are those of the file; sizes are in
bytes.`,
		", algorithms", ccl.Schema,
		func(c *setup.Loaded) (result, error) { return describe.DescribeCollectives(c.CCL) })
}

func tasksCmd() *cobra.Command {
	return configCommand(setup.Tasks, `tasks.yaml has the costs of scheduling tasks and the capacities of the runtimes.
Some numbers are common to all runtimes. The commands run, sweep, comm run and
comm execute read the file.`, `Show prints the numbers of tasks.yaml: the common ones, and a line for each
runtime. A dash means that the runtime does not have this number. --format yaml
prints a complete tasks.yaml.

--format json prints an object with the keys version, tasks (source and hash),
control and runtimes. The keys in control and runtimes are those of the file;
times are in ns, and their keys end in _ns.`,
		"", task.Schema,
		func(c *setup.Loaded) (result, error) { return describe.DescribeTasks(c.Tasks.(*task.Config)), nil })
}

// configCommand returns the command for a kind of configuration, with the subcommands show,
// validate and schema. `long` is the help of the command, and showHelp is the help of show.
// The subcommand show prints YAML or the result of describe. The subcommand validate can
// print JSON; `member` is the part of its help that names the JSON members which only this
// kind has.
func configCommand(k *setup.Kind, long, showHelp, member string, schema func() []byte, describe func(*setup.Loaded) (result, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: k.Name, Short: "Show and check " + k.Says, Long: long,
		Example: fmt.Sprintf("  kernbench %[1]s show\n  kernbench %[1]s show --format yaml > %[1]s.yaml\n  kernbench %[1]s validate %[1]s.yaml", k.Name),
	}
	makeParent(cmd)
	show := &cobra.Command{
		Use: "show", Short: "Print " + k.Says, Long: showHelp, Args: noArgs,
		Example: fmt.Sprintf("  kernbench %[1]s show\n  kernbench %[1]s show --set %[2]s --format yaml", k.Name, k.Example),
	}
	flags := addConfigFlags(show, k)
	format := formatFlag(show, "yaml")
	show.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := flags.load(cmd.Context(), new(file.Uses))
		if err != nil {
			return err
		}
		if *format == "yaml" {
			_, err := cmd.OutOrStdout().Write(c.Config().YAML())
			return err
		}
		r, err := describe(c)
		if err != nil {
			return err
		}
		return printResult(cmd, *format, r)
	}
	checks := validator{Kind: k, files: k.Name + ".yaml files", fallback: "the embedded one", presets: []string{"default"}, list: "configs", member: member}
	cmd.AddCommand(show, checks.command(), schemaCommand(k.Name, "a "+k.Name+".yaml", schema))
	return cmd
}

// validator describes the command validate for a kind of configuration.
type validator struct {
	*setup.Kind
	files    string // what the command checks, for the help: "topology files"
	fallback string // the configuration that is used if there is no file, for the help
	presets  []string
	list     string // name of the list in JSON
	member   string // member of the list that other kinds do not have, for the help
}

// command returns the command validate, which checks the configurations that its arguments
// name.
func (k validator) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate [FILE|PRESET]...",
		Short: "Check " + k.files,
		Long: fmt.Sprintf(`Validate checks files and presets; without arguments it checks ./%s.yaml,
else %s. It reports all mistakes with file, line, column and
what to write instead; the exit status is then 2.

--format json prints an object with the keys version and %s. The items of
the list have the keys name, ok, source, hash%s and errors
(file, line, column, path, message).`, k.Name, k.fallback, k.list, k.member),
		Example:           fmt.Sprintf("  kernbench %s validate\n  kernbench %[1]s validate my-%[1]s.yaml --format json", k.Name),
		ValidArgsFunction: cobra.FixedCompletions(k.presets, cobra.ShellCompDirectiveDefault),
	}
	flags := configFlags{setup.Choice{Kinds: []*setup.Kind{k.Kind}}}
	flags.addSet(cmd)
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(args, "") {
			return badInput(fmt.Errorf("argument \"\" is empty: write a file or a preset (%s)", strings.Join(k.presets, ", ")))
		}
		if len(args) == 0 {
			args = []string{""}
		}
		var all []setup.Validation
		var bad error
		for _, name := range args {
			*flags.File(k.Kind) = name
			v := flags.Validate(cmd.Context(), k.Kind)
			if v.OK && *format == "text" {
				fmt.Fprintln(cmd.OutOrStdout(), v.Text)
			}
			all, bad = append(all, v), errors.Join(bad, v.Err)
		}
		if *format == "text" {
			return badInput(bad)
		}
		err := table.WriteJSON(cmd.OutOrStdout(), table.Record{{Name: "version", Value: version.Version}, {Name: k.list, Value: all}})
		if err == nil && bad != nil {
			err = &exitError{code: exitUsage} // the list has the errors
		}
		return err
	}
	return cmd
}

// schemaCommand returns the subcommand schema of the command named `parent`. The subcommand
// prints the result of the function `schema`, which is the JSON Schema of the given kind of
// file.
func schemaCommand(parent, file string, schema func() []byte) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of " + file,
		Long: fmt.Sprintf(`Schema prints the JSON Schema of %s. Editors complete keys and
mark mistakes with it if the first line of the file names it:

  # yaml-language-server: $schema=%s.schema.json`, file, parent),
		Example: fmt.Sprintf("  kernbench %s schema > %[1]s.schema.json", parent),
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(schema())
			return err
		},
	}
}
