package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/topology"
)

// validations is what `kernbench topology validate --format json` prints.
type validations struct {
	Version string       `json:"version"` // of kernbench
	Systems []validation `json:"systems"` // in the order of the arguments
}

// validation is a system that was checked.
type validation struct {
	Name   string    `json:"name"` // as it was given
	OK     bool      `json:"ok"`
	Source string    `json:"source,omitempty"` // of a good one
	Hash   string    `json:"hash,omitempty"`
	PEs    int       `json:"pes,omitempty"`
	Errors []mistake `json:"errors"`
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

func validateCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate [FILE|PRESET]...",
		Short: "Check topology files",
		Long: `Validate checks files and presets, or without arguments the one that other commands
would use: ./topology.yaml, else the preset default. It reports every mistake at
once with file, line, column and what to write instead, and then ends with exit
status 2. Overridden links are checked too.

--format json has a list systems, each with its name, ok, source, hash and pes or
errors of file, line, column, path and message.`,
		Example: `  kernbench topology validate
  kernbench topology validate systems/*.yaml
  kernbench topology validate my-system.yaml --format json`,
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions(topology.Presets(), cobra.ShellCompDirectiveDefault)
	flags := &topologyFlags{}
	flags.addSet(cmd)
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			args = []string{""}
		}
		all := validations{report.Version, []validation{}}
		var bad []error
		for _, name := range args {
			var system systemName
			if err := system.Set(name); err != nil && cmd.Flags().NArg() > 0 {
				return badInput(fmt.Errorf("argument %q is %w", name, err))
			}
			v := validation{Name: name, Errors: []mistake{}}
			g, err := (&topologyFlags{system, flags.sets}).load()
			if err != nil {
				bad = append(bad, err)
				v.Errors = mistakes(name, err)
			} else {
				m := report.Describe(g)
				v.OK, v.Source, v.Hash, v.PEs = true, m.Topology.Source, m.Topology.Hash, m.Totals.PEs
				if *format == "text" {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: ok (%d PEs, hash %s)\n", v.Source, v.PEs, v.Hash)
				}
			}
			all.Systems = append(all.Systems, v)
		}
		if *format == "json" {
			if err := report.WriteJSON(cmd.OutOrStdout(), all); err != nil {
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

// mistakes is the errors of loading a system as rows.
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
