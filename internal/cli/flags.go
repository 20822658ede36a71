package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/topology"
)

// topologyFlags is which system a command works on. Every command that needs
// one takes it from here.
type topologyFlags struct {
	name systemName
	sets []string
}

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

// addTopologyFlags gives a command --topology and --set.
func addTopologyFlags(cmd *cobra.Command) *topologyFlags {
	f := &topologyFlags{}
	cmd.Flags().VarP(&f.name, "topology", "t", "file or preset `NAME` of the system (default ./topology.yaml, else the preset default)")
	complete(cmd, "topology", topology.Presets(), cobra.ShellCompDirectiveDefault)
	f.addSet(cmd)
	return f
}

// addSet gives a command --set alone.
func (f *topologyFlags) addSet(cmd *cobra.Command) {
	// An array, not a slice: a value may hold commas.
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "change one value, as `KEY=VALUE` (repeatable): sip.ucie.bandwidth=256GB/s")
	complete(cmd, "set", settableKeys(), cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)
}

// settableKeys is the paths of all values of a topology file, as --set begins.
func settableKeys() []string {
	var paths []string
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		for _, k := range config.Keys(t) {
			_, single := topology.Scalars()[k.Type]
			if k.Type.Kind() == reflect.Struct && !single {
				walk(k.Type, prefix+k.Name+".")
			} else {
				paths = append(paths, prefix+k.Name+"=")
			}
		}
	}
	walk(reflect.TypeFor[topology.Spec](), "")
	return paths
}

// load reads and compiles the system. Its errors are mistakes of the user.
func (f *topologyFlags) load() (*topology.Graph, error) {
	spec, err := topology.Load(string(f.name), f.sets...)
	if err != nil {
		return nil, badInput(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		return nil, badInput(err)
	}
	return g, nil
}

// wholeNumber is the value of a flag that counts.
type wholeNumber int

func (n *wholeNumber) String() string { return strconv.Itoa(int(*n)) }
func (n *wholeNumber) Type() string   { return "int" }
func (n *wholeNumber) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil {
		return errors.New("write a whole number")
	}
	*n = wholeNumber(v)
	return nil
}

// intFlag gives a command a flag that counts.
func intFlag(cmd *cobra.Command, p *int, name string, value int, usage string) {
	*p = value
	cmd.Flags().Var((*wholeNumber)(p), name, usage)
}

// choice is the value of a flag that allows a few words.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.allowed, "|") }
func (c *choice) Set(word string) error {
	if !slices.Contains(c.allowed, word) {
		return fmt.Errorf("write one of %s%s", strings.Join(c.allowed, ", "), didYouMean(word, c.allowed))
	}
	c.value = word
	return nil
}

// choiceFlag gives a command a flag that allows a few words, the first of them
// unless told otherwise.
func choiceFlag(cmd *cobra.Command, name, usage string, allowed ...string) *string {
	c := &choice{allowed[0], allowed}
	cmd.Flags().Var(c, name, usage)
	complete(cmd, name, allowed, cobra.ShellCompDirectiveNoFileComp)
	return &c.value
}

// formatFlag is --format, text and json unless a command has more.
func formatFlag(cmd *cobra.Command, more ...string) *string {
	return choiceFlag(cmd, "format", "how to print", append([]string{"text", "json"}, more...)...)
}

// complete teaches the shell the words of a flag.
func complete(cmd *cobra.Command, flag string, words []string, then cobra.ShellCompDirective) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, then))
	if err != nil {
		panic(err) // no such flag, or completed twice
	}
}
