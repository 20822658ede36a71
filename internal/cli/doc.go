// Package cli is the kernbench command: flags, tables, exit codes, and no model
// code.
//
// A command is a function that returns a *cobra.Command, listed in commands
// (root.go). What all share has one place each: where the topology, ccl.yaml and
// tasks.yaml come from (configflags.go), words a flag allows (choiceFlag), flags that have
// no effect (refuse), parameters of benches (params.go), files (files.go), JSON or text
// (printResult), how a command ends (exit.go). Commands write to
// cmd.OutOrStdout without looking at the error, because [Run] does, and return errors, which Run
// prints and turns into an exit status:
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
