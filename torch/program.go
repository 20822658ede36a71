package torch

import (
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/internal/trace"
)

// init sets the variables of package hosted. These variables give other packages of this
// module access to parts of this package that are not in the API.
func init() {
	hosted.Scheduler = func(c any) *stream.Scheduler { return c.(*Context).s }
	hosted.Rank = func(r any) *stream.Rank { return r.(*Rank).s }
	hosted.TensorOf = func(x any, op string) *hosted.Tensor { return x.(*Tensor).hosted(op) }
	hosted.Replicate = func(x any) { x.(*Tensor).replicate() }
	hosted.Hold = func(c any, op string, x any) error {
		return c.(*Context).reserveValues(op, heldWhenWritten, x.(*Tensor))
	}
	hosted.UsePEs = func(c any, op string, pes []machine.PEID) error { return c.(*Context).usePEs(op, pes) }
	hosted.Scratch = func(c any, op, name string, dtype DType, pes []machine.PEID, elems []int, written bool) (*hosted.Tensor, func() error, error) {
		return c.(*Context).scratch(op, name, dtype, pes, elems, written)
	}
	hosted.Runs = func(c any, op *stream.Operation, p *machine.Program, members []int, prepare func() error, ended func(*machine.Run)) {
		c.(*Context).setProgram(op, p, members, prepare, ended)
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

// hosted returns a description of the tensor for collectives: see hosted.Tensor. op is the
// name of the calling operation, for errors.
func (x *Tensor) hosted(op string) *hosted.Tensor {
	x.checkUsable(op)
	t := &hosted.Tensor{
		Region: x.region, DType: x.dtype, Shape: x.shape, Axes: axes(x.shape), Shards: make([]hosted.Shard, len(x.shards)),
		Base: x.base, Name: x.name, Cuts: x.cuts, Irregular: x.irregular, Partial: len(x.partial) > 0,
	}
	for i := range x.shards {
		s := &x.shards[i]
		t.Shards[i] = hosted.Shard{At: s.at, VA: s.va, Elems: s.elems, Bytes: s.bytes, Start: s.box.start, Extent: s.box.extent, Copy: s.copy, Addend: s.addend}
	}
	if x.viewOf != nil {
		t.Of = x.viewOf.name
	}
	return t
}

// scratch allocates memory for elems[i] elements in the HBM of PE pes[i], and returns it as
// a tensor with the given name. If `written` is true, kernels write the values of the
// tensor, and scratch also reserves host memory for them. The returned function frees the
// memory. op is the name of the calling operation, for errors.
func (c *Context) scratch(op, name string, dtype DType, pes []machine.PEID, elems []int, written bool) (_ *hosted.Tensor, free func() error, err error) {
	x := &Tensor{storage: &storage{}, rank: c.main, name: name, dtype: dtype}
	for i, pe := range pes {
		x.shards = append(x.shards, shard{at: pe, elems: elems[i], bytes: memory.Bytes(elems[i]) * memory.Bytes(dtype.Size())})
	}
	if err := x.mapShards(); err != nil {
		return nil, nil, err
	}
	if written {
		err = c.reserveValues(op, heldWhenWritten, x)
	}
	return x.hosted(op), x.unmap, err
}

// runProgram enqueues a copy of the program p. Like the kernel of Launch, the program runs
// when everything that this rank has requested before has ended. `tensors` lists all
// tensors that p may read or write. p.Starting is ignored.
func (r *Rank) runProgram(p *machine.Program, tensors []*Tensor) (*Launched, error) {
	for _, x := range tensors {
		x.checkUsable("RunProgram")
	}
	if err := r.s.Begin("RunProgram"); err != nil {
		return nil, err
	}
	if err := r.reserveValues("RunProgram", heldWhenWritten, tensors...); err != nil {
		return nil, err
	}
	own := *p
	l, err := r.newLaunch("RunProgram", &own, machine.Numbers(p.Targets))
	if err != nil {
		return nil, err
	}
	l.enqueue(&own, tensors)
	return l, nil
}

// newProgram returns an operation that runs the program p. `tensors` lists all tensors that
// p may read or write. When the program has ended, the operation calls `ended`, unless
// `ended` is nil.
func (r *Rank) newProgram(p *machine.Program, tensors []*Tensor, ended func(*machine.Run)) *stream.Operation {
	op := r.s.NewOperation("launch "+p.Name, regions(tensors)...)
	r.setProgram(op, p, nil, nil, ended)
	for _, x := range tensors {
		x.region.Wrote(op, nil)
	}
	return op
}

// setProgram makes the operation op run the program p. members[i] is the rank of the world
// to which target PE i of p belongs; if members is nil, each target is a rank of its own.
// `prepare` is called when the program starts, and `ended` is called when the program has
// ended; both may be nil.
func (c *Context) setProgram(op *stream.Operation, p *machine.Program, members []int, prepare func() error, ended func(*machine.Run)) {
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
		c.crit = max(c.crit, op.Run.Critical())
		if c.options.PerRank {
			c.launches = append(c.launches, rankTimes(op.Run, members))
		}
		c.addToProfiles(op)
		if ended != nil {
			ended(op.Run)
		}
		op.Run = nil
	}
}
