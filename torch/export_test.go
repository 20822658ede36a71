package torch

import "github.com/kernbench/kernbench/internal/machine"

// RunProgram runs a program of the machine, as hosted.RunProgram does.
func (r *Rank) RunProgram(p *machine.Program, tensors ...*Tensor) (*Launched, error) {
	return r.runProgram(p, tensors)
}
