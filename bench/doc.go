// Package bench defines what a bench is and registers all benches.
//
// A bench is a program on a simulated machine that measures something and checks what it
// computed. The example below is a complete bench.
//
// [Bench.Run] is called with a [B], which embeds the context of the machine. Row and
// Metrics declare the columns of the results. The tags of a struct's fields give each
// column a name, a unit, a role and a label. The roles say which numbers are settings, and
// whether less or more is better. A bench may have parameters ([Param]).
// They are flags on the command line, and the bench reads them with [B.Param].
//
// `kernbench list` shows the registered benches and `kernbench run` runs one. A program of
// your own registers its benches and calls kernbench.Main. [Bench.Execute] runs a bench and
// returns a [Result], whose JSON is a contract.
//
// The built-in benches are in package bench/builtin; flags and exit codes are in
// internal/cli. This package imports torch and table, and for experiments
// internal/experiment and internal/page. Of the simulator itself it imports only what
// errors, op logs and traces need.
package bench
