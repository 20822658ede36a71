package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/scenario"
)

// helpLines returns the arguments of all command lines that show help: every command,
// kernbench run with each bench, and kernbench comm run with each scenario.
func helpLines() (lines [][]string) {
	root, _ := rootCmd()
	addBuiltins(root)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		lines = append(lines, append(strings.Fields(c.CommandPath())[1:], "--help"))
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
	for _, b := range bench.All() {
		lines = append(lines, []string{"run", b.Name, "--help"})
	}
	for _, name := range scenario.Names() {
		lines = append(lines, []string{"comm", "run", name, "--help"})
	}
	return lines
}

// TestHelpWidth checks that all help fits in 80 columns and that no line ends with a space.
func TestHelpWidth(t *testing.T) {
	for _, args := range helpLines() {
		code, stdout, stderr := command(t.Context(), args...)
		if code != exitOK || stdout == "" || stderr != "" {
			t.Errorf("%v: exit status %d, %q", args, code, stderr)
		}
		for line := range strings.Lines(stdout) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > helpWidth || line != strings.TrimRight(line, " ") {
				t.Errorf("%v: a line of %d columns, or one that ends with a space: %q", args, utf8.RuneCountInString(line), line)
			}
		}
	}
}

// TestFlagGroups checks that help lists every flag of every command once, under a heading,
// and that every flag in flagGroups is a flag of some command.
func TestFlagGroups(t *testing.T) {
	root, _ := rootCmd()
	addBuiltins(root)
	used := map[string]bool{}
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		var listed []string
		for _, g := range groupFlags(c) {
			for _, f := range g.flags {
				listed = append(listed, f.Name)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			used[f.Name], used[c.Name()+" "+f.Name] = true, true
			if !f.Hidden && f.Annotations[paramFlag] == nil && !slices.Contains(listed, f.Name) {
				t.Errorf("--%s of %s is in no group: add it to flagGroups", f.Name, c.CommandPath())
			}
		})
		if slices.Sort(listed); len(slices.Compact(listed)) != len(listed) {
			t.Errorf("%s lists a flag twice: %v", c.CommandPath(), listed)
		}
		for _, sub := range c.Commands() {
			visit(sub)
			if c == root && sub.GroupID == "" {
				t.Errorf("%s is in no group of commands", sub.CommandPath())
			}
		}
	}
	visit(root)
	for _, g := range flagGroups {
		for _, name := range g.flags {
			if !used[name] {
				t.Errorf("no command has the flag %q of the group %s", name, g.title)
			}
		}
	}
}

// TestBenchHelp checks that the help of kernbench run with a bench lists the parameters of
// that bench, with their defaults and values, and that the help without a bench lists no
// parameters. The help of kernbench comm run must list the parameters of a scenario.
func TestBenchHelp(t *testing.T) {
	const more = "kernbench run BENCH --help and kernbench list BENCH show the flags of a bench."
	general := run(t, "run", "--help")
	if !strings.Contains(general, more) || strings.Contains(general, "--ranks-per pe|sip") || strings.Contains(general, "Flags of ") {
		t.Errorf("kernbench run --help:\n%s", general)
	}
	for _, line := range []string{"run ccl_all_reduce --help", "run --help --bench ccl_all_reduce", "run --topology ring6 ccl_all_reduce -h"} {
		help := run(t, strings.Fields(line)...)
		_, own, ok := strings.Cut(help, "\nFlags of ccl_all_reduce:\n")
		for _, want := range []string{"--ranks-per pe|sip ", "(default pe)", "--dtype f16|bf16|f32|i32 ", "--algo ", "--elems "} {
			if !ok || !strings.Contains(own, want) || strings.Contains(help, more) {
				t.Errorf("kernbench %s: want %q in\n%s", line, want, help)
			}
		}
	}
	if _, own, _ := strings.Cut(run(t, "run", "coll", "--help"), "\nFlags of coll:\n"); !strings.Contains(own, "(default sip)") || !strings.Contains(own, "u64") {
		t.Errorf("kernbench run coll --help:\n%s", own)
	}
	if help := run(t, "comm", "run", "all_reduce", "--help"); !strings.Contains(help, "\nParameters of all_reduce:\n      --set count=256\n") {
		t.Errorf("kernbench comm run all_reduce --help:\n%s", help)
	}
}
