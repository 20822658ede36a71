package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/topology"
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
	validator{
		presets: topology.Presets(),
		check: func(name string, sets []string) (v validation, size string, err error) {
			g, err := (&topologyFlags{systemName(name), sets}).load(cmd.Context())
			if err != nil {
				return v, "", err
			}
			if err := checkRead("topology", g.Spec()); err != nil {
				return v, "", err
			}
			m := describe.Describe(g)
			v.Source, v.Hash, v.PEs = m.Topology.Source, m.Topology.Hash, m.Totals.PEs
			return v, fmt.Sprintf("%d PEs", v.PEs), nil
		},
		list: func(all *validations, v validation) { all.Systems = append(all.Systems, v) },
	}.add(cmd, exampleSet, settableKeys[topology.Spec](""))
	return cmd
}

// validator is how configurations of a kind are checked.
type validator struct {
	presets []string
	check   func(name string, sets []string) (v validation, size string, err error)
	list    func(all *validations, v validation)
}

// add makes a command check the configurations that its arguments name. --set has an
// example and keys to begin with.
func (c validator) add(cmd *cobra.Command, example string, keys []string) {
	cmd.ValidArgsFunction = cobra.FixedCompletions(c.presets, cobra.ShellCompDirectiveDefault)
	var sets []string
	addSet(cmd, &sets, example, keys)
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(args, "") {
			return badInput(fmt.Errorf("argument \"\" is empty: write a file or a preset (%s)", strings.Join(c.presets, ", ")))
		}
		if len(args) == 0 {
			args = []string{""}
		}
		all := validations{Version: version.Version}
		var bad []error
		for _, name := range args {
			v, size, err := c.check(name, sets)
			v.Name, v.OK, v.Errors = name, err == nil, []mistake{}
			if err != nil {
				bad = append(bad, err)
				v.Errors = mistakes(name, err)
			} else if *format == "text" {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: ok (%s, hash %s)\n", v.Source, size, v.Hash)
			}
			c.list(&all, v)
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
}

// mistakes is the errors of loading a configuration as rows.
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
