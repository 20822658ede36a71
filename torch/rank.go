package torch

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/stack"
	"github.com/kernbench/kernbench/tl"
)

// Rank is host code with a stream and a device of its own: the program itself, see
// [Context.Main], or one of those that Spawn runs. A rank is for its own code alone.
type Rank struct {
	*Context // the machine that all ranks share

	rank   int
	device int
	stream stream
	proc   *sim.Proc // nil for the program itself
	waits  *operation

	works    []*Work  // that it may not have waited for
	joined   []*Group // in the order in which it made them; the first is the default one
	made     int      // groups of the world, with those that it has destroyed
	before   int      // those of them that it made before the default one
	begun    bool
	returned bool
	over     bool  // its Spawn has returned
	fault    error // of its own account
	locals   map[reflect.Type]any

	coalescing *coalescing // while it calls collectives that become one
	profile    *Profile    // that it keeps now
}

// newRank returns a rank on the device of its number.
func (c *Context) newRank(rank int) *Rank {
	r := &Rank{Context: c, rank: rank, device: rank, locals: map[reflect.Type]any{}}
	r.stream.init()
	return r
}

// Main returns the rank of the program itself, which is rank 0 on the first device.
func (c *Context) Main() *Rank { return c.driver }

// Rank returns the number of the rank, from 0.
func (r *Rank) Rank() int { return r.rank }

// String names the rank: "rank 3", or "the program" outside of Spawn.
func (r *Rank) String() string {
	if r.proc == nil {
		return "the program"
	}
	return fmt.Sprintf("rank %d", r.rank)
}

// acting returns the rank that acts for what belongs to this one: itself, or after Spawn the
// program.
func (r *Rank) acting() *Rank {
	if r.over {
		return r.driver
	}
	return r
}

// Spawn runs a function for each rank, side by side on one simulated clock, and waits
// for all of them and everything they asked for. Rank i has the SIP of that number as its
// device; its code looks as if it were alone. Ranks share the memory of this process: what
// they change together is ordered by their waits alone. What ranks have made belongs to the
// program afterwards.
//
// When a rank returns an error or panics, the others are stopped where they wait, and
// where they next wait if they can go on at that instant: their own errors until then count
// too. The error is a *SpawnError with the errors of all ranks that failed by themselves.
func (c *Context) Spawn(run func(r *Rank) error, nprocs int) error {
	refuse(c.current != nil && c.current.proc != nil, "Spawn", "called by a worker: only the program itself spawns workers")
	if err := c.driver.operation("Spawn"); err != nil {
		return err
	}
	sips := c.Topology().Spec().System.SIPs.Count
	refuse(run == nil, "Spawn", "the worker is nil")
	refuse(nprocs < 1 || nprocs > sips, "Spawn", "%d workers for a system of %d SIPs: there is one for each rank, and a rank is a SIP", nprocs, sips)
	if err := c.driver.Synchronize(); err != nil {
		return err
	}
	own := c.groups // of the program itself
	c.workers, c.groups, c.messages = nil, nil, map[message][]*call{}
	for rank := range nprocs {
		r := c.newRank(rank)
		r.proc = c.m.Engine.Go(fmt.Sprintf("rank %d", rank), func(p *sim.Proc) { r.work(p, run) })
		c.workers = append(c.workers, r)
	}
	err := c.run()
	if l := c.lost.Load(); l != nil {
		if l.worker != nil {
			err = &SpawnError{[]RankError{{l.worker.rank, err}}}
		}
		return err
	}
	if err == nil && c.data != nil {
		err = c.flush()
	}
	err = c.verdict(err)
	c.withdraw(begun)
	for _, r := range c.workers {
		r.over = true
	}
	c.stopping, c.anyReceives = false, nil
	c.workers, c.groups, c.messages = nil, own, map[message][]*call{}
	c.measure() // a rank may not have stopped its profile
	return err
}

// work runs the code of a rank. Its failure stops the others.
func (r *Rank) work(p *sim.Proc, run func(*Rank) error) {
	p.Where = hostLine
	r.begun = true
	r.resume(r)
	defer func() {
		r.resume(nil)
		if p.Cancelled() { // what its deferred calls make of that does not matter
			recover()
			return
		}
		if r.returned {
			return
		}
		r.fault = Recovered(recover())
		if r.fault == nil {
			r.fault = errors.New("the worker ended its goroutine")
		}
		r.abort()
	}()
	err := run(r)
	if p.Cancelled() { // something has caught the panic that stops a rank
		return
	}
	if r.fault, r.returned = err, true; err != nil {
		r.abort()
	}
}

// resume notes whose code runs from now on: that of a rank, or of the machine.
func (c *Context) resume(r *Rank) {
	c.current = r
	c.working.Store(r)
}

// park lets the others go on until an operation has ended. It does not return if another
// rank has failed.
func (r *Rank) park(op *operation) {
	if r.stopping {
		r.proc.Cancel()
	}
	r.waits = op
	r.resume(nil)
	defer r.resume(r) // also to be stopped there
	r.proc.Park((*opWait)(op))
	r.waits = nil
}

// opWait is what a worker waits for, in reports of deadlocks.
type opWait operation

func (o *opWait) String() string {
	if len(o.forming) == 0 {
		return o.name
	}
	return fmt.Sprintf("%s, which %s not called", o.name, ranksDo((*operation)(o).missing(), "has", "have"))
}

// HeldBy returns a worker that has to do something first.
func (o *opWait) HeldBy() *sim.Proc {
	for _, w := range o.forming {
		if !w.returned {
			return w.proc
		}
	}
	return nil
}

// abort stops all workers that wait and takes back what has not begun. Workers that can go
// on at the present instant are stopped when they next wait.
func (c *Context) abort() {
	running := c.current
	c.stopping = true
	for _, w := range c.workers {
		if w != running && w.proc != nil && !w.proc.Done() && !w.proc.Running() && !w.runnable() {
			w.proc.Cancel()
		}
	}
	c.resume(running) // while the others were unwound, it was theirs
	c.withdraw(queued)
}

// runnable reports whether a worker that is not running can go on at the present instant: it
// has yet to begin, or what it waited for has ended or failed.
func (w *Rank) runnable() bool {
	return !w.begun || w.waits != nil && (w.waits.state == ended || w.waits.failure != nil)
}

// withdraw takes operations that have come no further than a state out of the
// workers' streams.
func (c *Context) withdraw(state opState) {
	for _, w := range c.workers {
		for _, op := range slices.Clone(w.stream.ops.ops) {
			if op.state <= state {
				op.timer.Stop()
				c.release(op)
				c.leave(op)
				op.streams = nil // it is never tried again
			}
		}
	}
}

// SpawnError is the failure of some workers. Those that were stopped because of it
// are not in it.
type SpawnError struct {
	Ranks []RankError // by rank
}

// RankError is the failure of one worker.
type RankError struct {
	Rank int
	Err  error
}

// Error has a line for each rank, or for several that failed for the same reason.
func (e *SpawnError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap gives an error for each reason, with the ranks that failed for it: "ranks 0-3: why".
// It wraps the error of each of them.
func (e *SpawnError) Unwrap() []error {
	var reasons []error
	of := map[string]*sameReason{}
	for _, r := range e.Ranks {
		text := r.Err.Error()
		if of[text] == nil {
			of[text] = &sameReason{}
			reasons = append(reasons, of[text])
		}
		of[text].ranks, of[text].errs = append(of[text].ranks, r.Rank), append(of[text].errs, r.Err)
	}
	return reasons
}

// sameReason is the errors of ranks that say the same.
type sameReason struct {
	ranks []int
	errs  []error
}

func (r *sameReason) Error() string { return fmt.Sprintf("%s: %v", rankList(r.ranks), r.errs[0]) }

// Unwrap returns the error of the first of them. With all of them the error would be a list,
// which is shown without the ranks.
func (r *sameReason) Unwrap() error { return r.errs[0] }

// Is reports whether the error of any of them is, or wraps, target.
func (r *sameReason) Is(target error) bool {
	return slices.ContainsFunc(r.errs, func(err error) bool { return errors.Is(err, target) })
}

// As reports whether the error of any of them is, or wraps, one of target's type, and sets
// target to it.
func (r *sameReason) As(target any) bool {
	return slices.ContainsFunc(r.errs, func(err error) bool { return errors.As(err, target) })
}

// HostPanic is a panic of host code, outside of kernels.
type HostPanic struct {
	Value any
	Stack string
}

// Recovered returns the error of host code that has panicked with a value: that of Must and
// OK, a *HostPanic, or nil if there was no panic. It is called in the deferred call that
// recovers.
func Recovered(value any) error {
	switch v := value.(type) {
	case nil:
		return nil
	case *Failure:
		return v.Err
	}
	return &HostPanic{value, string(debug.Stack())}
}

// Error says where in the author's code the panic was. The stack is added if this
// module's own code panicked.
func (p *HostPanic) Error() string {
	err, _ := p.Value.(error)
	switch {
	case errors.As(err, new(*tl.Error)):
		return err.Error() // says where
	case errors.As(err, new(*Error)):
		if line, _ := stack.Line(p.Stack); line != "" {
			return fmt.Sprintf("at %s: %v", line, err)
		}
		return err.Error()
	}
	return sim.Panicked(p.Value, p.Stack)
}

// Unwrap returns the panic's value where that is an error.
func (p *HostPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// verdict returns the error of a Spawn: who failed and whose kernels did, or else who returned
// while others wait for it, or who wait for each other.
func (c *Context) verdict(end error) error {
	e := &SpawnError{}
	blame := func(w *Rank, err error) { e.Ranks = append(e.Ranks, RankError{w.rank, err}) }
	for _, w := range c.workers {
		err := w.fault
		if err == nil && end != nil {
			err = c.kernelError(w)
		}
		if err != nil {
			blame(w, err)
		}
	}
	if len(e.Ranks) > 0 {
		return e
	}
	stuck, ok := errors.AsType[*sim.Deadlock](end)
	if end != nil && !ok {
		return end
	}
	if c.stuck(blame, stuck); len(e.Ranks) == 0 {
		return nil
	}
	slices.SortFunc(e.Ranks, func(a, b RankError) int { return a.Rank - b.Rank })
	return e
}
