package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/setup"
)

func listCmd() *cobra.Command {
	return setRun(&cobra.Command{
		Use:   "list [BENCH]...",
		Short: "List the benches, or describe some",
		Long: `List shows the benches that kernbench run can run: the built-in ones and, in a
program that calls kernbench.Main, those that the program registers. For named
benches it describes what they do, their parameters, and the columns of their
rows and metrics.

--format json prints a list of objects with the keys name, summary, doc, params
and schema.`,
		Example: `  kernbench list
  kernbench list pe2pe`,
		ValidArgsFunction: completeBench,
	}, func(cmd *cobra.Command, args []string) (result, error) {
		list, err := setup.ListBenches(cmd.Context(), args...)
		return list, badInput(err)
	})
}

// completeBench returns the names of the benches, for completion by the shell. The names
// are not computed earlier, because a program may register benches until it calls Main.
func completeBench(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return setup.BenchNames(), cobra.ShellCompDirectiveNoFileComp
}

// addParamFlags adds to a command a flag for each parameter of any bench, and a hidden flag
// for each former name of a parameter. The returned function returns the parameters of
// bench b that were given, by name. It returns an error if a given flag is not a parameter
// of b, or if its value is not allowed.
func addParamFlags(cmd *cobra.Command) func(b bench.Bench) (map[string]string, error) {
	values := map[string]*string{}
	for _, b := range bench.All() {
		for _, p := range b.Params {
			if values[p.Name] != nil {
				continue
			}
			if cmd.Flags().Lookup(p.Name) != nil {
				panic(fmt.Sprintf("bench: parameter %s of %s is a flag of kernbench %s: rename it", p.Name, b.Name, cmd.Name()))
			}
			values[p.Name] = cmd.Flags().String(p.Name, "", p.Usage)
			cmd.Flags().Lookup(p.Name).Annotations = map[string][]string{paramFlag: {}}
			if err := cmd.RegisterFlagCompletionFunc(p.Name, completeParam(p.Name)); err != nil {
				panic(err) // completed twice
			}
		}
	}
	for name := range bench.FormerParams {
		if cmd.Flags().Lookup(name) == nil {
			values[name] = cmd.Flags().String(name, "", "now called --"+bench.FormerParams[name])
			cmd.Flags().Lookup(name).Hidden = true
		}
	}
	return func(b bench.Bench) (map[string]string, error) {
		given := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !cmd.Flags().Changed(name) {
				continue
			}
			p, ok := b.FindParam(name)
			if !ok {
				names := lists.Map(b.Params, func(p bench.Param) string { return "--" + p.Name })
				return nil, fmt.Errorf("--%s is no parameter of %s, which has %s", name, b.Name, cmp.Or(strings.Join(names, ", "), "none"))
			}
			if err := checkWord(*values[name], p.Values); err != nil {
				return nil, fmt.Errorf("invalid argument %q for \"--%s\" flag: %w%s", *values[name], name, err, seeHelp(cmd))
			}
			given[name] = *values[name]
		}
		return given, nil
	}
}

// completeParam returns a function with which the shell completes the values of the
// parameter `name`. The values are those of the bench that the command line names. If it
// names none, they are those of the first bench that has the parameter.
func completeParam(name string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		benches := bench.All()
		for _, arg := range args {
			if b, ok := bench.Find(arg); ok {
				benches = []bench.Bench{b}
			}
		}
		for _, b := range benches {
			if p, ok := b.FindParam(name); ok {
				return p.Values, cobra.ShellCompDirectiveNoFileComp
			}
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}
