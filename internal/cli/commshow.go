package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
)

func commListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the built-in scenarios",
		Long: `List shows the scenarios that comm run finds by name: the built-in ones and, in
a program that calls kernbench.Main, those that the program registers. If one of
these has mistakes, the others are still listed and the exit status is 2.

--format json prints a list of objects with the keys name, nranks, summary and,
for a scenario with mistakes, broken (the first mistake).`,
		Example: `  kernbench comm list`,
		Args:    noArgs,
	}
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list, broken := describe.ListScenarios(cmd.Context())
		return errors.Join(printResult(cmd, *format, list), badInput(broken))
	}
	return cmd
}

func commShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show SCENARIO",
		Short: "Print a scenario and the layout of its windows",
		Long: `Show prints a scenario for a number of ranks: its kernel, and the byte layout of
the windows that the ranks share. The layout is the same on every rank. Signals
are 64-bit words, each on its own cache line, in two banks that successive
rounds alternate between.

--format json prints an object with the keys scenario, summary, nranks, root,
devices, params, kernel, tasks, context_version, windows (domain, ranks, bytes,
signals, matrices, signal_banks, signal_bytes) and buffers (name, dtype, shape,
bytes, window, offset, staged, domain).`,
		Example: `  kernbench comm show all_reduce --nranks 8
  kernbench comm show all_reduce --source > my-scenario.yaml`,
		Args:              oneScenario,
		ValidArgsFunction: completeScenario,
	}
	options := addScenarioFlags(cmd, nil)
	source := cmd.Flags().Bool("source", false, "print the file of the scenario")
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		resolveScenario(cmd, args)
		if err := scenarioUses(args[0]).Check(); err != nil {
			return err
		}
		s, err := scenario.Load(cmd.Context(), args[0])
		if err != nil {
			return badInput(err)
		}
		if *source {
			if err := refuseOthers(cmd, "source"); err != nil {
				return badInput(err)
			}
			escapeOutput(cmd, false)
			_, err := cmd.OutOrStdout().Write(s.Text)
			return err
		}
		var o runner.Options
		if err := options(&o); err != nil {
			return badInput(err)
		}
		plan, err := s.Plan(cmd.Context(), o.Choice)
		if err != nil {
			return badInput(err)
		}
		return printResult(cmd, *format, describe.DescribeScenario(s, plan))
	}
	return cmd
}

// refuseOthers returns an error if a flag other than the given one was set. The given flag
// makes the command print a file unchanged, so other flags would have no effect.
func refuseOthers(cmd *cobra.Command, flag string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != flag && !f.Hidden && err == nil {
			err = fmt.Errorf("--%s prints the file as it is: delete --%s", flag, f.Name)
		}
	})
	return err
}
