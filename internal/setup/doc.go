// Package setup loads the configurations that a command uses: the system, ccl.yaml and
// tasks.yaml. Each of them is a [Kind].
//
// A [Choice] names the files and changes single values, as flags or the file of a sweep
// say. [Choice.Load] reads and checks the files. [Choice.Validate] reports all mistakes.
// [Choice.CheckEffect] reports settings that a bench would ignore.
//
// The package imports bench, because benches declare which settings they use, and the
// packages that define the configurations.
package setup
