package torch

import "github.com/kernbench/kernbench/internal/machine"

// RunProgram enqueues the program p in the stream of the rank: see hosted.RunProgram. The
// program may read and write the given tensors.
func (r *Rank) RunProgram(p *machine.Program, tensors ...*Tensor) (*Launched, error) {
	return r.runProgram(p, tensors)
}
