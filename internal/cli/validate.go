package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
)

// validations is what `kernbench topology validate --format json` prints, and those of
// ccl and tasks: what was checked, in the order of the arguments.
type validations struct {
	Version string             `json:"version"` // of kernbench
	Systems []setup.Validation `json:"systems,omitempty"`
	Configs []setup.Validation `json:"configs,omitempty"`
}

// validator says how configurations of a kind are checked.
type validator struct {
	*setup.Kind
	files   string // "topology files"
	usual   string // configuration that is used where there is no file
	presets []string
	list    string // of JSON
	member  string // of the list, besides those that all kinds have
}

// command returns the command that checks the configurations that its arguments name.
func (k validator) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate [FILE|PRESET]...",
		Short: "Check " + k.files,
		Long: fmt.Sprintf(`Validate checks files and presets, or without arguments the one that other commands
would use: ./%s.yaml, else %s. It reports every mistake at once
with file, line, column and what to write instead, and then ends with exit status 2.

--format json has a list %s of name, ok, source, hash%s and errors,
each of file, line, column, path and message.`, k.Name, k.usual, k.list, k.member),
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
		all := validations{Version: version.Version}
		list := map[string]*[]setup.Validation{"systems": &all.Systems, "configs": &all.Configs}[k.list]
		var bad []error
		for _, name := range args {
			*flags.File(k.Kind) = name
			v := flags.Validate(cmd.Context(), k.Kind)
			if !v.OK {
				bad = append(bad, v.Err)
			} else if *format == "text" {
				fmt.Fprintln(cmd.OutOrStdout(), v.Text)
			}
			*list = append(*list, v)
		}
		if *format == "json" {
			if err := table.WriteJSON(cmd.OutOrStdout(), all); err != nil {
				return err
			}
			if len(bad) > 0 {
				return badInput(nil) // the list says it all
			}
		}
		if len(bad) > 0 {
			return badInput(errors.Join(bad...))
		}
		return nil
	}
	return cmd
}

// schemaCommand prints the JSON Schema of a kind of file, for the command above it.
func schemaCommand(of, file string, schema func() []byte) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of " + file,
		Long: fmt.Sprintf(`Schema prints the JSON Schema of %s, with which editors complete keys
and mark mistakes as you type. Name it in the first line of your file:

  # yaml-language-server: $schema=%s.schema.json`, file, of),
		Example: fmt.Sprintf("  kernbench %s schema > %[1]s.schema.json", of),
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(schema())
			return err
		},
	}
}
