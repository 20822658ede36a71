package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
)

// validations is what `kernbench topology validate --format json` prints, and those of
// ccl and tasks: what was checked, in the order of the arguments.
type validations struct {
	Version string       `json:"version"` // of kernbench
	Systems []validation `json:"systems,omitempty"`
	Configs []validation `json:"configs,omitempty"`
}

// validation is a configuration that was checked.
type validation struct {
	Name       string    `json:"name"` // as it was given
	OK         bool      `json:"ok"`
	Source     string    `json:"source,omitempty"` // of a good one
	Hash       string    `json:"hash,omitempty"`
	PEs        int       `json:"pes,omitempty"`        // of a system
	Algorithms []string  `json:"algorithms,omitempty"` // that a ccl.yaml names
	Errors     []mistake `json:"errors"`
}

// mistake is an error in a description. File is "--set" for an argument; line
// and column are 0 where there is no place to point at.
type mistake struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// validator says how configurations of a kind are checked.
type validator struct {
	*configKind
	files   string // "topology files"
	usual   string // configuration that is used where there is no file
	presets []string
	list    string // of JSON
	member  string // of the list, besides those that all kinds have
	// size returns how large a good configuration is, and notes what only its kind has.
	size func(c configs, v *validation) string
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
each of file, line, column, path and message.`, k.name, k.usual, k.list, k.member),
		Example:           fmt.Sprintf("  kernbench %s validate\n  kernbench %[1]s validate my-%[1]s.yaml --format json", k.name),
		ValidArgsFunction: cobra.FixedCompletions(k.presets, cobra.ShellCompDirectiveDefault),
	}
	flags := configFlags{kinds: []*configKind{k.configKind}}
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
		list := map[string]*[]validation{"systems": &all.Systems, "configs": &all.Configs}[k.list]
		var bad []error
		for _, name := range args {
			*flags.file(k.configKind) = name
			c, err := flags.loadAlone(cmd.Context())
			v := validation{Name: name, OK: err == nil, Errors: []mistake{}}
			if err != nil {
				bad = append(bad, err)
				v.Errors = mistakes(name, err)
			} else {
				v.Source, v.Hash = c.read[0].config.Source(), c.read[0].config.Hash()
				if size := k.size(c, &v); *format == "text" {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: ok (%s, hash %s)\n", v.Source, size, v.Hash)
				}
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

// mistakes returns the errors of loading a configuration as rows.
func mistakes(name string, err error) []mistake {
	var list []mistake
	for _, e := range flatten(err) {
		var at *config.Error
		if errors.As(e, &at) {
			list = append(list, mistake{at.File, at.Line, at.Column, at.Path, at.Msg})
		} else {
			list = append(list, mistake{File: name, Message: e.Error()})
		}
	}
	return list
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
