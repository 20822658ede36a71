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
	return prints(&cobra.Command{
		Use:   "list [BENCH]...",
		Short: "List the benches, or tell more of some",
		Long: `List shows the benches that kernbench run can run: those that come with kernbench
and, in a program of your own that calls kernbench.Main, those it has registered.
With names it tells what these benches do and report: their parameters, and the columns
of their rows and metrics with units and what is better.

--format json has a list of name, summary, doc and, of benches that have some, params
of name, usage, default and values, and schema with the columns of rows and metrics.`,
		Example: `  kernbench list
  kernbench list pe2pe
  kernbench list --format json`,
		ValidArgsFunction: completeBench,
	}, func(_ *cobra.Command, args []string) (result, error) {
		list, err := setup.ListBenches(args...)
		return list, badInput(err)
	})
}

// completeBench teaches the shell the benches. It asks when the shell does: a
// program may register benches until Main.
func completeBench(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return setup.BenchNames(), cobra.ShellCompDirectiveNoFileComp
}

// addParamFlags gives a command a flag for each parameter that any bench has, and is
// how to read those of one bench.
func addParamFlags(cmd *cobra.Command) func(b bench.Bench) (map[string]string, error) {
	values := map[string]*string{}
	for _, b := range bench.All() {
		for _, p := range b.Params {
			if values[p.Name] != nil {
				f := cmd.Flags().Lookup(p.Name)
				f.Usage += ", " + b.Name
				if f.DefValue != p.Default {
					f.DefValue = "" // each has its own
				}
				continue
			}
			if cmd.Flags().Lookup(p.Name) != nil {
				panic(fmt.Sprintf("bench: parameter %s of %s is a flag of kernbench %s: rename it", p.Name, b.Name, cmd.Name()))
			}
			values[p.Name] = wordFlag(cmd, p.Name, "", p.Usage+"; for "+b.Name, p.Default, p.Values)
		}
	}
	return func(b bench.Bench) (map[string]string, error) {
		given, names := map[string]string{}, lists.Map(b.Params, func(p bench.Param) string { return "--" + p.Name })
		for _, name := range slices.Sorted(maps.Keys(values)) {
			switch changed := cmd.Flags().Changed(name); {
			case changed && !slices.Contains(names, "--"+name):
				return nil, fmt.Errorf("--%s is no parameter of %s, which has %s", name, b.Name, cmp.Or(strings.Join(names, ", "), "none"))
			case changed:
				given[name] = *values[name]
			}
		}
		return given, nil
	}
}
