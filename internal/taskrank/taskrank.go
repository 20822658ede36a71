// Package taskrank runs programs of package task on real ranks, for scenario/runner. Users of
// package task cannot name a *procpe.Rank, so that the function is not in its API.
package taskrank

import "github.com/kernbench/kernbench/internal/procpe"

// Run runs the program of a real rank: all ranks call it, each with its own program, a
// *task.Program, and with the same options, a task.Options. The function tensor returns what a
// *task.Tensor of the program is at the rank. Run calls began when all ranks have begun, before
// the first task. Package task sets the variable when the program starts.
var Run func(r *procpe.Rank, program, options any, tensor func(x any) procpe.Tensor, began func()) error
