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

// value is the value of a flag of type T. It implements pflag.Value.
type value[T any] struct {
	p     *T
	kind  string // name of the value in the help
	parse func(text string) (T, error)
	want  string // error for text that parse refuses: what to write; "" for the error of parse
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

// number returns the flag value that stores a whole number in *p.
func number(p *int) value[int] { return value[int]{p, "N", strconv.Atoi, "write a whole number"} }

// intFlag adds to a command a flag that stores a whole number in *p. `value` is the
// default.
func intFlag(cmd *cobra.Command, p *int, name string, value int, usage string) {
	*p = value
	cmd.Flags().Var(number(p), name, usage)
}

// strictFlag adds --strict to a command. The flag sets *p.
func strictFlag(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "strict", false, "refuse points of another build of the program instead of warning")
}

// oldFlag adds to a command a hidden flag with the given name, which is the old name of the
// flag newName. Setting the hidden flag sets newName and reports the new name to the user.
// A name of one letter is a shorthand.
func oldFlag(cmd *cobra.Command, name, newName string) {
	old, letter, current := "--"+name, "", "--"+newName
	if len(name) == 1 {
		old, letter = "-"+name, name
		if short := cmd.Flags().Lookup(newName).Shorthand; short != "" {
			current = "-" + short
		}
	}
	cmd.Flags().VarP(value[string]{new(string), "text", func(text string) (string, error) {
		config.Renamed(cmd.Context(), old, current)
		err := cmd.Flags().Set(newName, text)
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = invalid.Unwrap() // pflag wraps the error again, with the name of the old flag
		}
		return text, err
	}, ""}, name, letter, "now called "+current)
	cmd.Flags().Lookup(name).Hidden = true
}

// choiceFlag adds to a command a flag whose value must be one of the allowed words. The
// first word is the default. It returns a pointer to the value.
func choiceFlag(cmd *cobra.Command, name, usage string, allowed ...string) *string {
	return wordFlag(cmd, name, "", usage, allowed[0], allowed)
}

// wordFlag adds to a command a flag whose value must be one of the allowed words. If
// `allowed` is empty, any text is allowed. `letter` is the shorthand ("" for none), and
// `chosen` is the default. wordFlag returns a pointer to the value.
func wordFlag(cmd *cobra.Command, name, letter, usage, chosen string, allowed []string) *string {
	kind := cmp.Or(strings.Join(allowed, "|"), "TEXT")
	if len(kind) > maxKindWidth {
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

// maxKindWidth is the width of the longest list of words that help shows next to the name
// of a flag. A longer list is part of the usage text, or is added to it.
const maxKindWidth = 18

// checkWord returns an error if allowed is not empty and does not contain word.
func checkWord(word string, allowed []string) error {
	if len(allowed) > 0 && !slices.Contains(allowed, word) {
		return fmt.Errorf("write one of %s%s", strings.Join(allowed, ", "), config.DidYouMean(word, allowed))
	}
	return nil
}

// fidelityFlag adds --fidelity to a command and returns a pointer to its value.
func fidelityFlag(cmd *cobra.Command) *string {
	return choiceFlag(cmd, "fidelity", "model of the fabric: trains of flits or single flits", "train", "flit")
}

// formatFlag adds --format to a command, with the formats text and json, and the formats in
// `more`. It returns a pointer to the value.
func formatFlag(cmd *cobra.Command, more ...string) *string {
	return choiceFlag(cmd, "format", "output format", append([]string{"text", "json"}, more...)...)
}

// misuse is a rule that refuses a flag, if it was given, under a condition: the flag has no
// meaning then, or its value is not valid.
type misuse struct {
	flag string
	when bool   // the condition
	why  string // text of the error after the name of the flag
}

// refuse returns an error for the first rule in the list that applies, or nil if no rule
// applies. A rule applies if its flag was given and its condition is true.
func refuse(cmd *cobra.Command, list ...misuse) error {
	for _, m := range list {
		if m.when && cmd.Flags().Changed(m.flag) {
			return fmt.Errorf("--%s %s", m.flag, m.why)
		}
	}
	return nil
}

// refuseAll returns an error if one of the flags was given. `why` is the reason in the
// error.
func refuseAll(cmd *cobra.Command, why string, flags ...string) error {
	for _, flag := range flags {
		if err := refuse(cmd, misuse{flag, true, why}); err != nil {
			return err
		}
	}
	return nil
}

// complete makes the shell complete the value of a flag with the given words. `then` says
// what else the shell may complete, such as file names.
func complete(cmd *cobra.Command, flag string, words []string, then cobra.ShellCompDirective) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, then))
	if err != nil {
		panic(err) // no such flag, or completed twice
	}
}

// configFlags has the flags that choose the configurations of a command.
type configFlags struct{ setup.Choice }

// notEmpty returns word, or an error if word is empty.
func notEmpty(word string) (string, error) {
	if word == "" {
		return "", errors.New("empty")
	}
	return word, nil
}

// addConfigFlags adds to a command --set and a flag for each kind of configuration.
func addConfigFlags(cmd *cobra.Command, kinds ...*setup.Kind) *configFlags {
	f := &configFlags{setup.Choice{Kinds: kinds}}
	f.addFiles(cmd)
	f.addSet(cmd)
	return f
}

// addFiles adds to a command the flags that name configuration files.
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

// addSet adds --set to a command. The usage text has examples, and the shell completes
// keys.
func (f *configFlags) addSet(cmd *cobra.Command) {
	var examples, keys []string
	for _, k := range f.Kinds {
		examples, keys = append(examples, k.Example), append(keys, k.Keys()...)
	}
	// A StringArray, not a StringSlice: a value may contain commas.
	cmd.Flags().StringArrayVar(&f.Sets, "set", nil, "change one value (repeatable), `KEY=VALUE` such as "+strings.Join(examples, ", "))
	complete(cmd, "set", keys, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)
}

// load reads the configurations that the flags choose. It checks their files together with
// `use`, the other files that the command uses.
func (f *configFlags) load(ctx context.Context, use *file.Uses) (*setup.Loaded, error) {
	l, err := f.Load(ctx)
	if err != nil {
		return nil, badInput(err)
	}
	return l, l.AddTo(use).Check()
}
