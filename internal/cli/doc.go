// Package cli implements the kernbench command: flags, help and exit statuses. Other
// packages do the work of the commands and format what they print.
//
// Each command is built by a function that returns a *cobra.Command; rootCmd (root.go)
// calls these functions. Code for flags of several commands is in flags.go: flags that
// allow a few words (choiceFlag), the refusal of flags that have no effect (refuse), and
// the flags for the topology, ccl.yaml and tasks.yaml (configFlags, which package setup
// reads). A command declares its files (file.Uses) before it runs anything. It prints a
// [result] in the format that --format chooses (printResult). Commands need not check
// errors of cmd.OutOrStdout, because [Run] does. Run prints the error that a command
// returns, and turns it into an exit status (exit.go):
//
//	0    ok
//	1    wrong values or a failed check
//	2    bad usage or input
//	3    the run failed
//	130  interrupted (Ctrl-C)
//	141  the reader of the output has closed it
//	143  terminated
//
// Messages begin with "kernbench: ". Only a mistake in a file begins with file:line:column,
// so that editors can jump there.
//
// The package may import all other packages except the root package.
package cli
