// Package cli is the kernbench command: flags, help and exit codes. What commands do and print
// belongs to other packages.
//
// A command is a function that returns a *cobra.Command, listed in commands (root.go). Flags
// that several commands have are in flags.go: words that a flag allows (choiceFlag), flags that
// have no effect (refuse), files and values of the topology, ccl.yaml and tasks.yaml
// (configFlags, read by package setup). A command declares its files (file.Uses) before it runs
// anything. What it prints is a [result], in the format that --format chooses (printResult).
// Commands write to cmd.OutOrStdout without looking at the error, because [Run] does, and return
// errors, which Run prints and turns into an exit status (exit.go):
//
//	0    ok
//	1    wrong values or a failed check
//	2    bad usage or input
//	3    the run failed
//	130  interrupted (Ctrl-C)
//	141  nobody reads the output any more
//	143  terminated
//
// Messages begin with "kernbench: ", but a mistake in a file begins with
// file:line:column, so that editors can jump there.
//
// The package may import all others but the root.
package cli
