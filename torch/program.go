package torch

import (
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/internal/trace"
)

// init gives other packages of this module what they need beyond the API.
func init() {
	hosted.Scheduler = func(c any) *stream.Scheduler { return c.(*Context).s }
	hosted.Rank = func(r any) *stream.Rank { return r.(*Rank).s }
	hosted.TensorOf = func(x any, op string) *hosted.Tensor { return x.(*Tensor).hosted(op) }
	hosted.Replicate = func(x any) { x.(*Tensor).replicate() }
	hosted.Hold = func(c any, op string, x any) error { return c.(*Context).hold(op, onceWritten, x.(*Tensor)) }
	hosted.UsePEs = func(c any, op string, pes []machine.PEID) error { return c.(*Context).usePEs(op, pes) }
	hosted.Scratch = func(c any, op, name string, dtype DType, pes []machine.PEID, elems []int, written bool) (*hosted.Tensor, func() error, error) {
		return c.(*Context).scratch(op, name, dtype, pes, elems, written)
	}
	hosted.Runs = func(c any, op *stream.Operation, p *machine.Program, members []int, prepare func() error, ended func(*machine.Run)) {
		c.(*Context).runs(op, p, members, prepare, ended)
	}
	hosted.RunProgram = func(r any, p *machine.Program, tensors any) (func() error, error) {
		l, err := r.(*Rank).runProgram(p, tensors.([]*Tensor))
		if err != nil {
			return nil, err
		}
		return l.Wait, nil
	}
	hosted.Read = func(r, x any) ([]byte, error) {
		a, err := x.(*Tensor).read(r.(*Rank), "CopyFrom")
		if err != nil {
			return nil, err
		}
		return a.Bytes, nil
	}
	hosted.SaveTrace = func(c any, about trace.About) error { return c.(*Context).saveTrace(about) }
	hosted.DropTrace = func(c any) error { return c.(*Context).dropTrace() }
}

// hosted returns what collectives need to know of the tensor.
func (x *Tensor) hosted(op string) *hosted.Tensor {
	x.usable(op)
	t := &hosted.Tensor{
		Region: x.region, DType: x.dtype, Shape: x.shape, Axes: axes(x.shape), Shards: make([]hosted.Shard, len(x.shards)),
		Base: x.base, Name: x.name, Cuts: x.cuts, Irregular: x.irregular, Partial: len(x.partial) > 0,
	}
	for i := range x.shards {
		s := &x.shards[i]
		t.Shards[i] = hosted.Shard{At: s.at, VA: s.va, Elems: s.elems, Bytes: s.bytes, Start: s.box.start, Extent: s.box.extent, Copy: s.copy, Addend: s.addend}
	}
	if x.of != nil {
		t.Of = x.of.name
	}
	return t
}

// scratch allocates memory on PEs, which the function that it returns frees.
func (c *Context) scratch(op, name string, dtype DType, pes []machine.PEID, elems []int, written bool) (_ *hosted.Tensor, free func() error, err error) {
	x := &Tensor{storage: &storage{}, rank: c.main, name: name, dtype: dtype}
	for i, pe := range pes {
		x.shards = append(x.shards, shard{at: pe, elems: elems[i], bytes: memory.Bytes(elems[i]) * memory.Bytes(dtype.Size())})
	}
	if err := x.mapped(); err != nil {
		return nil, nil, err
	}
	if written {
		err = c.hold(op, onceWritten, x)
	}
	return x.hosted(op), x.unmap, err
}

// runProgram runs a program of the machine as Launch runs a kernel: when everything
// that this rank asked for before has ended. The tensors are those that it uses, and
// may write. The context has a Starting of its own for it.
func (r *Rank) runProgram(p *machine.Program, tensors []*Tensor) (*Launched, error) {
	for _, x := range tensors {
		x.usable("RunProgram")
	}
	if err := r.s.Begin("RunProgram"); err != nil {
		return nil, err
	}
	if err := r.hold("RunProgram", onceWritten, tensors...); err != nil {
		return nil, err
	}
	own := *p
	l, err := r.launched("RunProgram", &own, machine.Numbers(p.Targets))
	if err != nil {
		return nil, err
	}
	l.enqueue(&own, tensors)
	return l, nil
}

// program returns the operation of running a program, which may write some tensors. ended
// is called at its end, if it is wanted.
func (r *Rank) program(p *machine.Program, tensors []*Tensor, ended func(*machine.Run)) *stream.Operation {
	op := r.s.NewOperation("launch "+p.Name, regions(tensors)...)
	r.runs(op, p, nil, nil, ended)
	for _, x := range tensors {
		x.region.Wrote(op, nil)
	}
	return op
}

// runs makes an operation run a program. members is the rank in the world of each target, nil
// if each is a rank. prepare is called when it starts and ended when it has ended, if they are
// wanted.
func (c *Context) runs(op *stream.Operation, p *machine.Program, members []int, prepare func() error, ended func(*machine.Run)) {
	p.Starting = func(*machine.Run) (after []int32, err error) {
		after = c.s.Starting(op)
		if prepare != nil {
			err = prepare()
		}
		return after, err
	}
	op.Send = func(done sim.Event) (err error) {
		op.Expect()
		op.Run, err = c.m.Send(*p, done)
		return err
	}
	op.Begin = func(sim.Event) error {
		op.Run.Begin()
		return nil
	}
	op.Finish = func() {
		if c.HasData() {
			c.s.Values.End(op.Run.LogID())
		}
		c.crit = max(c.crit, op.Run.Critical())
		if c.options.PerRank {
			c.launches = append(c.launches, rankTimes(op.Run, members))
		}
		c.profiled(op)
		if ended != nil {
			ended(op.Run)
		}
		op.Run = nil
	}
}
