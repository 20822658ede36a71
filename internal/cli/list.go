package cli

import (
	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/setup"
)

func listCmd() *cobra.Command {
	cmd := &cobra.Command{
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
	}
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		list, err := setup.ListBenches(args...)
		if err != nil {
			return badInput(err)
		}
		return printResult(cmd, *format, list)
	}
	return cmd
}

// completeBench teaches the shell the benches. It asks when the shell does: a
// program may register benches until Main.
func completeBench(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return setup.BenchNames(), cobra.ShellCompDirectiveNoFileComp
}
