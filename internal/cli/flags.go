package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/config"
)

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

// strictFlag gives a command --strict.
func strictFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("strict", false, "refuse kept points that another build of the program has run, instead of warning")
}

// choice is the value of a flag that allows a few words, or any text if there are none.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return cmp.Or(strings.Join(c.allowed, "|"), "text") }
func (c *choice) Set(word string) error {
	if len(c.allowed) > 0 && !slices.Contains(c.allowed, word) {
		return fmt.Errorf("write one of %s%s", strings.Join(c.allowed, ", "), config.DidYouMean(word, c.allowed))
	}
	c.value = word
	return nil
}

// choiceFlag gives a command a flag that allows a few words, the first of them
// unless told otherwise.
func choiceFlag(cmd *cobra.Command, name, usage string, allowed ...string) *string {
	return wordFlag(cmd, name, "", usage, allowed[0], allowed)
}

// wordFlag is choiceFlag with a letter for short and any word as the default.
func wordFlag(cmd *cobra.Command, name, letter, usage, value string, allowed []string) *string {
	c := &choice{value, allowed}
	cmd.Flags().VarP(c, name, letter, usage)
	complete(cmd, name, allowed, cobra.ShellCompDirectiveNoFileComp)
	return &c.value
}

// fidelityFlag is --fidelity.
func fidelityFlag(cmd *cobra.Command) *string {
	return choiceFlag(cmd, "fidelity", "model of the fabric: trains of flits, or every flit an event", "train", "flit")
}

// formatFlag is --format, text and json unless a command has more.
func formatFlag(cmd *cobra.Command, more ...string) *string {
	return choiceFlag(cmd, "format", "how to print", append([]string{"text", "json"}, more...)...)
}

// wordsOf returns a word for each element of a list.
func wordsOf[E any](list []E, word func(E) string) (words []string) {
	for _, e := range list {
		words = append(words, word(e))
	}
	return words
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
