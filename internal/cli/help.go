package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/scenario"
)

// helpWidth is the largest width of help, in columns.
const helpWidth = 80

// flagGroups has the headings under which help lists flags, and the flags under each
// heading in order. All commands use the same headings. An entry "COMMAND FLAG" applies to
// one command only, and has precedence there.
var flagGroups = []struct {
	title string
	flags []string
}{
	{"Flags as in nccl-tests", []string{
		"minbytes", "maxbytes", "stepfactor", "stepbytes", "coll dtype", "coll op", "coll root", "coll iters", "warmup-iters", "coll check",
	}},
	{"Collective", []string{"algo", "ranks-per", "world", "coll partial", "buffer"}},
	{"Machine", []string{"topology", "ccl", "tasks", "set", "fidelity", "on", "backend", "nranks", "devices"}},
	{"Selection", []string{
		"bench", "reference", "threshold", "key", "value", "lower", "higher", "x", "y", "by", "where", "kind", "plot log", "launch", "top",
		"view", "sip", "cube", "pe", "depth", "links", "source", "sizes", "partial", "shard", "dry-run", "all",
	}},
	{"Values", []string{"data", "check", "values", "root", "rounds", "seed"}},
	{"Tasks", []string{"runtime", "gantt", "gantt-svg", "gantt-skip-building"}},
	{"Output", []string{"out", "log", "trace", "report", "keep", "title", "per-rank", "resume", "replace", "strict", "format", "no-descriptions", "help", "version"}},
	{"Limits", []string{"timeout", "limit", "stall", "threads", "workers"}},
}

// commandGroups has the headings of commands in the help of kernbench. Each command has the
// ID of its group.
var commandGroups = []*cobra.Group{
	{ID: "run", Title: "Run and measure:"},
	{ID: "results", Title: "Work with results:"},
	{ID: "config", Title: "Describe the machine:"},
	{ID: "other", Title: "Other commands:"},
}

// setGroup puts commands into the group of commandGroups that has the given ID. It returns
// the commands.
func setGroup(id string, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = id
	}
	return commands
}

// paramFlag is the key of the annotation of flags that are parameters of benches.
const paramFlag = "param"

// findInGroups returns the index in flagGroups of the group that has a flag of cmd, and the
// index of the flag in that group. It returns -1 and -1 if no group has the flag.
func findInGroups(cmd *cobra.Command, flag string) (group, index int) {
	for _, name := range []string{cmd.Name() + " " + flag, flag} {
		for i, g := range flagGroups {
			if j := slices.Index(g.flags, name); j >= 0 {
				return i, j
			}
		}
	}
	return -1, -1
}

// listedFlags is a list of flags under a heading.
type listedFlags struct {
	title string
	flags []*pflag.Flag
}

// groupFlags returns the flags of a command by heading, except hidden flags and parameters
// of benches.
func groupFlags(cmd *cobra.Command) (listed []listedFlags) {
	groups := make([]listedFlags, len(flagGroups))
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if i, _ := findInGroups(cmd, f.Name); i >= 0 && !f.Hidden && f.Annotations[paramFlag] == nil {
			groups[i].flags = append(groups[i].flags, f)
		}
	})
	for i, g := range groups {
		if len(g.flags) == 0 {
			continue
		}
		slices.SortFunc(g.flags, func(a, b *pflag.Flag) int {
			_, i := findInGroups(cmd, a.Name)
			_, j := findInGroups(cmd, b.Name)
			return i - j
		})
		listed = append(listed, listedFlags{flagGroups[i].title + ":", g.flags})
	}
	return listed
}

// benchFlags returns the parameters of a bench as a list of flags.
func benchFlags(b bench.Bench) listedFlags {
	cmd := &cobra.Command{Use: b.Name}
	cmd.Flags().SortFlags = false
	for _, p := range b.Params {
		wordFlag(cmd, p.Name, "", p.Usage, p.Default, p.Values)
	}
	listed := listedFlags{title: "Flags of " + b.Name + ":"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { listed.flags = append(listed.flags, f) })
	return listed
}

// writeFlags writes flags with their usage texts, by heading. All usage texts begin in the
// same column.
func writeFlags(w io.Writer, groups []listedFlags) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.SortFlags = false
	for _, g := range groups {
		for _, f := range g.flags {
			all.AddFlag(f)
		}
	}
	var blocks []string // the lines of each flag
	for line := range strings.Lines(all.FlagUsagesWrapped(helpWidth)) {
		if strings.HasPrefix(line, "  -") || strings.HasPrefix(line, "      --") {
			blocks = append(blocks, "")
		}
		blocks[len(blocks)-1] += line
	}
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s\n%s", g.title, strings.Join(blocks[:len(g.flags)], ""))
		blocks = blocks[len(g.flags):]
	}
}

// writeUsage writes the part of help that follows from the definition of a command: usage,
// examples, subcommands and flags. kernbench run and the commands for scenarios also list
// the parameters of the bench or scenario that the command line names.
func writeUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	writeCommands(w, cmd)
	groups, name := groupFlags(cmd), cmd.Flags().Arg(0)
	switch chooser := cmd.Flags().Lookup("bench"); {
	case chooser != nil: // kernbench run
		name = cmp.Or(chooser.Value.String(), name)
		b, err := setup.FindBench(cmd.Context(), name)
		if len(b.Params) > 0 {
			groups = append(groups, benchFlags(b))
		}
		writeFlags(w, groups)
		if err != nil {
			fmt.Fprint(w, "\nkernbench run BENCH --help and kernbench list BENCH show the flags of a bench.\n")
		}
	case slices.Contains(scenario.Names(), name):
		writeFlags(w, groups)
		writeScenarioParams(w, cmd, name)
	default:
		writeFlags(w, groups)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help shows more about a command.\n", cmd.CommandPath())
	}
	return nil
}

// writeCommands writes the subcommands of a command, by heading if the command has groups.
func writeCommands(w io.Writer, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		title := "\n" + g.Title + "\n"
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(w, "%s  %-*s  %s\n", title, sub.NamePadding(), sub.Name(), sub.Short)
				title = ""
			}
		}
	}
}

// writeScenarioParams writes the parameters of a registered scenario, in the form of --set.
func writeScenarioParams(w io.Writer, cmd *cobra.Command, name string) {
	s, err := scenario.Load(cmd.Context(), name)
	if err != nil || len(s.Params) == 0 {
		return
	}
	fmt.Fprintf(w, "\nParameters of %s:\n", name)
	for _, param := range slices.Sorted(maps.Keys(s.Params)) {
		fmt.Fprintf(w, "      --set %s=%v\n", param, s.Params[param])
	}
}
