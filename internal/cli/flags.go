package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/topology"
)

// value is the value of a flag.
type value[T any] struct {
	p     *T
	kind  string // for the help
	parse func(text string) (T, error)
	want  string // what to write, for texts that parse refuses; "": the error of parse says it
}

func (v value[T]) String() string { return fmt.Sprint(*v.p) }
func (v value[T]) Type() string   { return v.kind }

func (v value[T]) Set(text string) error {
	read, err := v.parse(text)
	if err == nil {
		*v.p = read
	} else if v.want != "" {
		err = errors.New(v.want)
	}
	return err
}

// number returns the value of a flag that counts.
func number(p *int) value[int] { return value[int]{p, "N", strconv.Atoi, "write a whole number"} }

// intFlag gives a command a flag that counts.
func intFlag(cmd *cobra.Command, p *int, name string, value int, usage string) {
	*p = value
	cmd.Flags().Var(number(p), name, usage)
}

// strictFlag gives a command --strict.
func strictFlag(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "strict", false, "refuse points of another build of the program instead of warning")
}

// oldFlag gives a command a hidden flag that stands for another flag, which has the place of the
// old one now. A name of one letter is that of a letter.
func oldFlag(cmd *cobra.Command, name, now string) {
	old, letter, current := "--"+name, "", "--"+now
	if len(name) == 1 {
		old, letter = "-"+name, name
		if short := cmd.Flags().Lookup(now).Shorthand; short != "" {
			current = "-" + short
		}
	}
	cmd.Flags().VarP(value[string]{new(string), "text", func(text string) (string, error) {
		config.Renamed(cmd.Context(), old, current)
		err := cmd.Flags().Set(now, text)
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = invalid.Unwrap() // the error of this flag says the same
		}
		return text, err
	}, ""}, name, letter, "now called "+current)
	cmd.Flags().Lookup(name).Hidden = true
}

// choiceFlag gives a command a flag that allows a few words, the first of them
// unless told otherwise.
func choiceFlag(cmd *cobra.Command, name, usage string, allowed ...string) *string {
	return wordFlag(cmd, name, "", usage, allowed[0], allowed)
}

// wordFlag is choiceFlag with a letter for short and any word as the default. It allows any text if
// there are no words.
func wordFlag(cmd *cobra.Command, name, letter, usage, chosen string, allowed []string) *string {
	kind := cmp.Or(strings.Join(allowed, "|"), "TEXT")
	if len(kind) > mostKind {
		kind = "WORD"
		if !strings.Contains(usage, allowed[0]) {
			usage += ": " + strings.Join(allowed, ", ")
		}
	}
	cmd.Flags().VarP(value[string]{&chosen, kind, func(word string) (string, error) {
		return word, checkWord(word, allowed)
	}, ""}, name, letter, usage)
	complete(cmd, name, allowed, cobra.ShellCompDirectiveNoFileComp)
	return &chosen
}

// mostKind is the longest list of words that help shows next to the name of a flag. A longer list
// is part of the usage text, or added to it.
const mostKind = 18

// checkWord refuses a word that is not allowed, if some are.
func checkWord(word string, allowed []string) error {
	if len(allowed) > 0 && !slices.Contains(allowed, word) {
		return fmt.Errorf("write one of %s%s", strings.Join(allowed, ", "), config.DidYouMean(word, allowed))
	}
	return nil
}

// fidelityFlag is --fidelity.
func fidelityFlag(cmd *cobra.Command) *string {
	return choiceFlag(cmd, "fidelity", "model of the fabric: trains of flits or single flits", "train", "flit")
}

// formatFlag is --format, text and json unless a command has more.
func formatFlag(cmd *cobra.Command, more ...string) *string {
	return choiceFlag(cmd, "format", "output format", append([]string{"text", "json"}, more...)...)
}

// misuse is a flag that means nothing where it is given, or whose value does not.
type misuse struct {
	flag string
	when bool
	why  string // follows the name of the flag
}

// refuse returns an error for the first flag that was given and is misused.
func refuse(cmd *cobra.Command, list ...misuse) error {
	for _, m := range list {
		if m.when && cmd.Flags().Changed(m.flag) {
			return fmt.Errorf("--%s %s", m.flag, m.why)
		}
	}
	return nil
}

// refuseAll returns an error for the first of some flags that was given.
func refuseAll(cmd *cobra.Command, why string, flags ...string) error {
	for _, flag := range flags {
		if err := refuse(cmd, misuse{flag, true, why}); err != nil {
			return err
		}
	}
	return nil
}

// complete teaches the shell the words of a flag.
func complete(cmd *cobra.Command, flag string, words []string, then cobra.ShellCompDirective) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, then))
	if err != nil {
		panic(err) // no such flag, or completed twice
	}
}

// configFlags chooses the configurations that a command works on.
type configFlags struct{ setup.Choice }

// notEmpty returns a word, or an error for none.
func notEmpty(word string) (string, error) {
	if word == "" {
		return "", errors.New("empty")
	}
	return word, nil
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
			want := fmt.Sprintf("empty: write a file or a preset (%s)", strings.Join(topology.Presets(), ", "))
			cmd.Flags().VarP(value[string]{&f.Topology, "name", notEmpty, want}, k.Name, "t", "file or preset `NAME` of the machine (default ./topology.yaml, else the preset default)")
			complete(cmd, k.Name, topology.Presets(), cobra.ShellCompDirectiveDefault)
			continue
		}
		cmd.Flags().StringVar(f.File(k), k.Name, "", fmt.Sprintf("`FILE` with %s (default ./%s.yaml, else the embedded one)", k.Says, k.Name))
	}
}

// addSet gives a command --set, with examples and the beginnings of all keys.
func (f *configFlags) addSet(cmd *cobra.Command) {
	var examples, keys []string
	for _, k := range f.Kinds {
		examples, keys = append(examples, k.Example), append(keys, k.Keys()...)
	}
	// An array, not a slice: a value may hold commas.
	cmd.Flags().StringArrayVar(&f.Sets, "set", nil, "change one value (repeatable), `KEY=VALUE` such as "+strings.Join(examples, ", "))
	complete(cmd, "set", keys, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)
}

// load reads the configurations, and checks them with the other files that a command uses.
func (f *configFlags) load(ctx context.Context, use *file.Uses) (*setup.Loaded, error) {
	l, err := f.Load(ctx)
	if err != nil {
		return nil, badInput(err)
	}
	return l, l.AddTo(use).Check()
}
