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
		Short: "List the scenarios that come with the program",
		Long: `List shows the scenarios that comm run knows by name: those that come with kernbench
and, in a program of your own that calls kernbench.Main, those it has registered. If
one of these has mistakes the others are listed all the same, and the exit status is 2.

--format json has a list of name, nranks and summary, and broken, the first mistake, of
those that have one.`,
		Example: `  kernbench comm list
  kernbench comm list --format json`,
		Args: noArgs,
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
		Short: "Print a scenario and the bytes of its windows",
		Long: `Show prints what a scenario is for a number of ranks: its kernel, and the byte layout
of the windows that ranks share, signals included. Each rank has a part of this layout;
nothing in it depends on the rank. Signals are 64-bit words, each on a line of the cache
of its own, in two banks that runs of the kernel use by turns.

--source prints the file itself, to copy.

--format json has scenario, summary, nranks, root, devices, params, kernel,
tasks, context_version, windows (domain, ranks, bytes, signals, matrices (name, first,
signals), signal_banks, signal_bytes) and buffers (name, dtype, shape, bytes, window,
offset, staged, domain).`,
		Example: `  kernbench comm show all_reduce --nranks 8
  kernbench comm show all_reduce --source > my-scenario.yaml`,
		Args:              oneScenario,
		ValidArgsFunction: completeScenario,
	}
	options := addScenarioFlags(cmd, nil)
	source := cmd.Flags().Bool("source", false, "print the file")
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		resolveScenario(cmd, args)
		if err := readsScenario(args[0]).Check(); err != nil {
			return err
		}
		s, err := scenario.Load(cmd.Context(), args[0])
		if err != nil {
			return badInput(err)
		}
		if *source {
			if err := alone(cmd, "source"); err != nil {
				return badInput(err)
			}
			forPeople(cmd, false)
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

// alone refuses flags beside one that prints the file as it is.
func alone(cmd *cobra.Command, flag string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != flag && !f.Hidden && err == nil {
			err = fmt.Errorf("--%s prints the file as it is: delete --%s", flag, f.Name)
		}
	})
	return err
}
