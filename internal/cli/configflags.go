package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/topology"
)

// configFlags chooses the configurations that a command works on.
type configFlags struct{ setup.Choice }

// systemName is a file or preset; empty only where none was given.
type systemName string

func (n *systemName) String() string { return string(*n) }
func (n *systemName) Type() string   { return "name" }
func (n *systemName) Set(word string) error {
	if word == "" {
		return fmt.Errorf("empty: write a file or a preset (%s)", strings.Join(topology.Presets(), ", "))
	}
	*n = systemName(word)
	return nil
}

// addConfigFlags gives a command a flag for each kind of configuration, and one --set.
func addConfigFlags(cmd *cobra.Command, kinds ...*setup.Kind) *configFlags {
	f := &configFlags{setup.Choice{Kinds: kinds}}
	f.addFiles(cmd)
	f.addSet(cmd)
	return f
}

// addFiles gives a command the flags that name files.
func (f *configFlags) addFiles(cmd *cobra.Command) {
	for _, k := range f.Kinds {
		if k == setup.Topology {
			cmd.Flags().VarP((*systemName)(&f.Topology), k.Name, "t", "file or preset `NAME` of the system (default ./topology.yaml, else the preset default)")
			complete(cmd, k.Name, topology.Presets(), cobra.ShellCompDirectiveDefault)
			continue
		}
		cmd.Flags().StringVar(f.File(k), k.Name, "", fmt.Sprintf("`FILE` that says %s (default ./%s.yaml, else the embedded one)", k.Says, k.Name))
	}
}

// addSet gives a command --set, with examples and the beginnings of all keys.
func (f *configFlags) addSet(cmd *cobra.Command) {
	var examples, keys []string
	for _, k := range f.Kinds {
		examples, keys = append(examples, k.Example), append(keys, k.Keys()...)
	}
	// An array, not a slice: a value may hold commas.
	cmd.Flags().StringArrayVar(&f.Sets, "set", nil, "change one value, as `KEY=VALUE` (repeatable): "+strings.Join(examples, ", "))
	complete(cmd, "set", keys, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)
}

// load reads the configurations.
func (f *configFlags) load(ctx context.Context) (*setup.Loaded, error) {
	l, err := f.Load(ctx)
	if err != nil {
		return nil, badInput(err)
	}
	return l, nil
}

// loadAlone is load for a command that has no other files and prints to standard output.
func (f *configFlags) loadAlone(ctx context.Context) (*setup.Loaded, error) {
	l, err := f.load(ctx)
	if err != nil {
		return nil, err
	}
	return l, l.AddTo(new(file.Uses)).Check()
}
