package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/version"
)

// Run runs kernbench with arguments, without the program's name, and returns the exit
// status. It returns soon after ctx is done.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &output{w: stdout, to: stdout}
	ctx, hints := collectHints(ctx)
	root, started := rootCmd()
	root.SetOut(out)
	root.SetErr(stderr)
	addBuiltins(root)                                                    // after SetOut, because completion keeps the writer of the moment when it is added
	root.SetArgs(append([]string{}, rewriteScenarioArgs(root, args)...)) // nil would mean os.Args
	err := root.ExecuteContext(ctx)
	if err != nil && !*started {
		err = badInput(err) // refused before any command ran
	}
	out.flush()
	if out.err != nil {
		err = fmt.Errorf("write output: %w", out.err)
	}
	for _, hint := range hints() {
		fmt.Fprintf(stderr, "kernbench: %s\n", hint)
	}
	code := status(ctx, err)
	switch code {
	case exitOK, exitClosedPipe:
	case exitInterrupted:
		fmt.Fprintln(stderr, "kernbench: interrupted")
	case exitTerminated:
		fmt.Fprintln(stderr, "kernbench: terminated")
	default:
		printErrors(stderr, err)
	}
	return code
}

// collectHints returns a context that collects old spellings of names while a command runs.
// The returned function returns a hint with the new name for each old spelling that was
// used, in alphabetical order.
func collectHints(ctx context.Context) (context.Context, func() []string) {
	var mu sync.Mutex
	seen := map[string]bool{}
	ctx = config.WithRenamed(ctx, func(old, name string) {
		mu.Lock()
		defer mu.Unlock()
		seen[printable.Line(old)+" is now called "+name] = true
	})
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(maps.Keys(seen))
	}
}

// rootCmd returns the kernbench command with all subcommands. *started becomes true when a
// command runs; an error before that is a usage error.
func rootCmd() (root *cobra.Command, started *bool) {
	started = new(bool)
	root = &cobra.Command{
		Use:   "kernbench",
		Short: "Simulate a chiplet accelerator: times, values, and where the time went",
		Long: `kernbench simulates a multi-device chiplet accelerator with an exact clock. It
runs kernels and collectives, checks the values they compute and shows where the
time went. It sweeps over machines, and draws and compares results. The same
inputs give the same output bytes.

--topology names the machine, a file or a preset. --ccl names a file that
configures collectives, and --tasks a file with the costs of scheduling tasks.
The defaults are ./topology.yaml, ./ccl.yaml and ./tasks.yaml; without these
files, embedded ones are used. --set changes single values of all three.

Exit status of all commands:

    0    success
    1    a wrong value, a race, or a failed check or comparison; the result is
         printed
    2    bad usage or input: a flag; a file that is missing, malformed or not
         permitted; a name that cannot be written to; a size that does not fit
         in the memory of the simulated machine or of this computer
    3    the run failed: a kernel was misused, panicked, deadlocked or never
         ended; a rank or a point of a sweep failed; --timeout has passed; or
         the system failed, for example with a full disk
    130  interrupted (SIGINT, Ctrl-C)
    141  the reader of the output has closed it
    143  terminated (SIGTERM)`,
		Example: `  kernbench list
  kernbench run hello_send
  kernbench coll all_reduce -b 64K -e 64K --trace ring.json
  kernbench trace ring.json
  kernbench sweep sweep.yaml
  kernbench comm run all_reduce --nranks 4
  kernbench topology show --topology torus2x3 --set sip.ucie.bandwidth=256GB/s`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			*started = true
			format := cmd.Flags().Lookup("format")
			escapeOutput(cmd, format != nil && format.Value.String() == "text")
		},
	}
	makeParent(root)
	root.SetFlagErrorFunc(flagError)
	addVersionFlag(root)
	root.SetUsageFunc(writeUsage)
	root.AddGroup(commandGroups...)
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	root.AddCommand(setGroup("run", collCmd(), commCmd(), probeCmd(), replayCmd(), runCmd(), sweepCmd())...)
	root.AddCommand(setGroup("results", compareCmd(), mergeCmd(), plotCmd(), traceCmd())...)
	root.AddCommand(setGroup("config", cclCmd(), tasksCmd(), topologyCmd())...)
	root.AddCommand(setGroup("other", listCmd(), versionCmd())...)
	return root, started
}

// makeParent makes cmd a command that only has subcommands. Without arguments it shows its
// help; an unknown subcommand is an error.
func makeParent(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs // checked below: cobra's messages differ between root and other commands
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
}

// addVersionFlag adds --version to the root command. It does not use cobra's version flag,
// which needs a template: the linker cannot remove unused exported methods from a program
// with templates.
func addVersionFlag(root *cobra.Command) {
	wanted := root.Flags().BoolP("version", "v", false, "print the version")
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*wanted {
			return run(cmd, args)
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "kernbench", version.Version)
		return err
	}
}

func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return badInput(fmt.Errorf("unknown command %q for %q; commands: %s%s%s",
		word, cmd.CommandPath(), strings.Join(names, ", "), config.DidYouMean(word, names), seeHelp(cmd)))
}

// addBuiltins adds cobra's commands help and completion. It changes these commands to
// return an error for an unknown argument, because cobra would report success.
func addBuiltins(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			makeParent(c)
			for _, shell := range c.Commands() { // one line is wider than helpWidth
				shell.Long = strings.ReplaceAll(shell.Long, "via your OS's package manager", "with your package manager")
			}
		case "help":
			c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error {
				cmd, rest, err := root.Find(args)
				if err != nil {
					return badInput(err)
				}
				if len(rest) > 0 {
					return unknownCommand(cmd, rest[0])
				}
				cmd.InitDefaultHelpFlag()
				return cmd.Help()
			}
		}
	}
}

// noArgs returns an error if there are arguments. If the command has the flag --topology
// and the flag was not given, the error suggests it: most often the argument is the name of
// a machine.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if f := cmd.Flags().Lookup("topology"); f != nil && !f.Changed {
		return fmt.Errorf("unexpected argument %q: write --topology %s", args[0], args[0])
	}
	return fmt.Errorf("unexpected argument %q%s", args[0], seeHelp(cmd))
}

// flagError adds a reference to the help of cmd to an error of parsing flags. For an
// unknown flag it also adds a suggestion. A single letter is not enough to guess a flag of
// this command, so for a letter flagError adds its meaning in other commands.
func flagError(cmd *cobra.Command, err error) error {
	hint := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = name[:1]
			hint = describeShorthand(cmd, name)
		} else {
			hint = config.DidYouMean("--"+name, names)
		}
	}
	return fmt.Errorf("%w%s%s", err, hint, seeHelp(cmd))
}

// describeShorthand returns a text that says which flag of other commands has the given
// shorthand letter, or "" if no command has it.
func describeShorthand(cmd *cobra.Command, letter string) string {
	var flags, commands []string
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		if f := c.Flags().ShorthandLookup(letter); f != nil && !f.Hidden {
			commands = append(commands, c.CommandPath())
			if !slices.Contains(flags, "--"+f.Name) {
				flags = append(flags, "--"+f.Name)
			}
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(cmd.Root())
	if len(commands) == 0 {
		return ""
	}
	if len(commands) > 2 {
		commands = []string{"other commands"}
	}
	return fmt.Sprintf("; -%s is %s of %s", letter, strings.Join(flags, " or "), strings.Join(commands, " and "))
}

// seeHelp returns a line for the end of an error message. The line refers to the help of
// the command.
func seeHelp(cmd *cobra.Command) string {
	return fmt.Sprintf("\nsee %s --help", cmd.CommandPath())
}

func versionCmd() *cobra.Command {
	return setRun(&cobra.Command{
		Use:   "version",
		Short: "Print the version and the build",
		Long: `Version prints the version of kernbench that results carry, the module as the
build resolved it, the Go toolchain, and the revision of the repository if the
build recorded one.`,
		Example: `  kernbench version`,
		Args:    noArgs,
	}, func(*cobra.Command, []string) (result, error) { return version.ReadBuild(), nil })
}
