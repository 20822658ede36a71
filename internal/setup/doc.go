// Package setup finds the configurations that a command works on: the system, ccl.yaml and
// tasks.yaml, each a [Kind].
//
// A [Choice] names their files and changes single values, as flags or the file of a sweep say.
// [Choice.Load] reads and checks them. [Choice.Validate] reports all mistakes.
// [Choice.CheckEffect] refuses what a bench would ignore.
//
// The package imports bench, for what benches use, and the packages that own the configurations.
package setup
