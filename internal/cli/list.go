package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/table"
)

// listed is an element of `kernbench list --format json`.
type listed struct {
	Name    string        `json:"name"`
	Summary string        `json:"summary"`
	Doc     string        `json:"doc"`
	Params  []bench.Param `json:"params,omitempty"`
	Schema  table.Schema  `json:"schema,omitempty"` // columns of rows and metrics
}

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
		benches := bench.All()
		if len(args) > 0 {
			benches = nil
		}
		for _, name := range args {
			b, err := setup.FindBench(name)
			if err != nil {
				return badInput(err)
			}
			benches = append(benches, b)
		}
		out := cmd.OutOrStdout()
		switch {
		case *format == "json":
			list := []listed{}
			for _, b := range benches {
				list = append(list, listed{b.Name, b.Summary, b.Doc, b.Params, b.Schema()})
			}
			return table.WriteJSON(out, list)
		case len(args) > 0:
			for i, b := range benches {
				if i > 0 {
					fmt.Fprintln(out)
				}
				fmt.Fprintln(out, strings.TrimSpace(b.Name+": "+b.Summary+"\n\n"+b.Doc)+paramText(b))
				writeColumns(out, b.Schema())
			}
			return nil
		}
		return table.WriteList(out, []string{"bench", "summary"}, benches, func(b bench.Bench) []string { return []string{b.Name, b.Summary} })
	}
	return cmd
}

// writeColumns writes the columns of rows and metrics.
func writeColumns(w io.Writer, s table.Schema) {
	better := map[table.Role]string{table.Lower: "lower is better", table.Higher: "higher is better"}
	for _, of := range []struct{ member, thing string }{{"rows", "column"}, {"metrics", "metric"}} {
		writeSome(w, []string{of.thing, "unit", "role", "label"}, s[of.member], func(c table.Column) []string {
			return []string{c.Name, string(c.Unit), cmp.Or(better[c.Role], string(c.Role)), c.Label}
		})
	}
}

// completeBench teaches the shell the benches. It asks when the shell does: a
// program may register benches until Main.
func completeBench(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return setup.BenchNames(), cobra.ShellCompDirectiveNoFileComp
}
