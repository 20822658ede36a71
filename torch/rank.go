package torch

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/stack"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/tl"
)

// Rank is host code with a stream and a device of its own: the program itself, see
// [Context.Main], or one of those that Spawn runs. A rank is for its own code alone.
type Rank struct {
	*Context // the machine that all ranks share

	s       *stream.Rank
	device  int
	locals  map[reflect.Type]any
	profile *Profile // that it keeps now
}

// newRank returns a rank on the device of its number.
func (c *Context) newRank(s *stream.Rank) *Rank {
	return &Rank{Context: c, s: s, device: s.Number, locals: map[reflect.Type]any{}}
}

// Main returns the rank of the program itself, which is rank 0 on the first device.
func (c *Context) Main() *Rank { return c.main }

// Rank returns the number of the rank, from 0.
func (r *Rank) Rank() int { return r.s.Number }

// String names the rank: "rank 3", or "the program" outside of Spawn.
func (r *Rank) String() string { return r.s.String() }

// SetDevice chooses the SIP that tensors of this rank are made on. A worker of Spawn
// has that of its rank, other programs the first.
func (r *Rank) SetDevice(sip int) {
	n := r.Topology().Spec().System.SIPs.Count
	refuse(sip < 0 || sip >= n, "SetDevice", "no SIP %d: the system has 0 to %d", sip, n-1)
	if err := r.s.Begin("SetDevice"); err == nil {
		r.device = sip
	}
}

// Device returns the SIP that tensors of this rank are made on.
func (r *Rank) Device() int { return r.device }

// Synchronize waits for everything that this rank has asked for.
func (r *Rank) Synchronize() error { return r.s.Synchronize() }

// acting returns the rank that acts for what belongs to this one: itself, or after Spawn the
// program.
func (r *Rank) acting() *Rank {
	if r.s.Over {
		return r.main
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
	current := c.s.Current()
	refuse(current != nil && current.Spawned(), "Spawn", "called by a worker: only the program itself spawns workers")
	if err := c.main.s.Begin("Spawn"); err != nil {
		return err
	}
	sips := c.Topology().Spec().System.SIPs.Count
	refuse(run == nil, "Spawn", "the worker is nil")
	refuse(nprocs < 1 || nprocs > sips, "Spawn", "%d workers for a system of %d SIPs: there is one for each rank, and a rank is a SIP", nprocs, sips)
	if err := c.main.Synchronize(); err != nil {
		return err
	}
	c.ranks = make([]*Rank, nprocs)
	faults, err := c.s.Spawn(nprocs, func(s *stream.Rank) error {
		r := c.newRank(s)
		c.ranks[s.Number] = r
		return run(r)
	})
	if !c.s.Lost() {
		c.ranks = nil
		c.measure() // a rank may not have stopped its profile
	}
	if len(faults) == 0 {
		return err
	}
	e := &SpawnError{}
	for _, f := range faults {
		e.Ranks = append(e.Ranks, RankError{f.Rank, f.Err})
	}
	return e
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

func (r *sameReason) Error() string {
	return fmt.Sprintf("%s: %v", stream.RankList(r.ranks), r.errs[0])
}

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
	return sim.DescribePanic(p.Value, p.Stack)
}

// Unwrap returns the panic's value where that is an error.
func (p *HostPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Local returns the value of type T of a rank, which is zero until it is set. Packages that
// build on this one keep there what they know of a rank. It ends with the rank.
func Local[T any](r *Rank) *T {
	refuse(r.s.Current() == nil, "Local", "called from a kernel")
	kind := reflect.TypeFor[T]()
	if r.locals[kind] == nil {
		r.locals[kind] = new(T)
	}
	return r.locals[kind].(*T)
}

// Setting returns the value of type T among the Settings that the context was made with.
// Packages that build on this one find there what a user has chosen for them.
func Setting[T any](c *Context) (value T, ok bool) {
	for _, s := range c.options.Settings {
		if value, ok = s.(T); ok {
			return value, true
		}
	}
	return value, false
}
