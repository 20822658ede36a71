package torch

import (
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
)

// RunProgram runs a program of the machine as Launch runs a kernel: when everything
// that this rank asked for before has ended. The tensors are those that it uses, and
// may write. The context has a Starting of its own for it.
func (r *Rank) RunProgram(p *machine.Program, tensors ...*Tensor) (*Launched, error) {
	for _, x := range tensors {
		x.usable("RunProgram")
	}
	if err := r.operation("RunProgram"); err != nil {
		return nil, err
	}
	if err := r.hold("RunProgram", onceWritten, tensors...); err != nil {
		return nil, err
	}
	own := *p
	l, err := r.launched("RunProgram", &own, peNumbers(p.Targets))
	if err != nil {
		return nil, err
	}
	l.enqueue(&own, tensors)
	return l, nil
}

// program returns the operation of running a program, which may write some tensors. ended
// is called at its end, if it is wanted.
func (r *Rank) program(p *machine.Program, tensors []*Tensor, ended func(*machine.Run)) *operation {
	op := r.newOperation("launch "+p.Name, tensors...)
	r.runs(op, p, nil, ended)
	for _, x := range tensors {
		x.wrote(op, nil)
	}
	return op
}

// runs makes an operation run a program. prepare is called when it starts and ended
// when it has ended, if they are wanted.
func (c *Context) runs(op *operation, p *machine.Program, prepare func() error, ended func(*machine.Run)) {
	p.Starting = func(*machine.Run) (after []int32, err error) {
		after = c.starting(op)
		if prepare != nil {
			err = prepare()
		}
		return after, err
	}
	op.send = func(done sim.Event) (err error) {
		op.left++
		op.run, err = c.m.Send(*p, done)
		return err
	}
	op.begin = func(sim.Event) error {
		op.run.Begin()
		return nil
	}
	op.finish = func() {
		if c.data != nil {
			c.data.End(op.run.LogID())
		}
		c.crit = max(c.crit, op.run.Critical())
		if c.options.PerRank {
			c.launches = append(c.launches, rankTimes(op.run, op.members))
		}
		c.profiled(op)
		if ended != nil {
			ended(op.run)
		}
		op.run = nil
	}
}
