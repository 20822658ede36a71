// Package bench is the contract of a bench and the registry of all benches.
//
// A bench is a program on a simulated machine that measures something and checks what it
// computed. The example below is a complete one.
//
// [Bench.Run] is called with a [B], which embeds the context of the machine. Row and Metrics
// declare the columns of the results: name, unit, role and label are tags of a struct's
// fields, so that commands know which numbers are settings, and of which less or more is
// better. A bench may have parameters ([Param]), which are flags on the command line and
// [B.Param] for the bench.
//
// `kernbench list` shows the registered benches and `kernbench run` runs one; a program of
// your own registers its benches and calls kernbench.Main. [Bench.Execute] runs a bench and
// returns a [Result], whose JSON is a contract.
//
// The built-in benches are in package bench/builtin, flags and exit codes in internal/cli. The
// package imports torch and table, and of the layers above them only what errors
// and op logs are made of.
package bench
