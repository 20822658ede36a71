// Package taskrank runs programs of package task on real ranks, for scenario/runner. Run is
// not in the API of package task because users of that package cannot name a *procpe.Rank.
package taskrank

import "github.com/kernbench/kernbench/internal/procpe"

// Run runs a *task.Program on a real rank. All ranks call it, each with its own program and
// with the same options, a task.Options. The function tensor returns the memory of a
// *task.Tensor of the program at the rank. Run calls began when all ranks have begun,
// before the first task. Package task sets this variable in an init function.
var Run func(r *procpe.Rank, program, options any, tensor func(x any) procpe.Tensor, began func()) error
