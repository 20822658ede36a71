package torch

import "github.com/kernbench/kernbench/internal/machine"

// Looks returns how often operations were looked at to find out which can go on.
func (c *Context) Looks() int { return c.s.Looks() }

// RunProgram runs a program of the machine, as hosted.RunProgram does.
func (r *Rank) RunProgram(p *machine.Program, tensors ...*Tensor) (*Launched, error) {
	return r.runProgram(p, tensors)
}
