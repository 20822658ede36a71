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

// Rank is host code with a stream and a device of its own: the program itself (see
// [Context.Main]) or a function that Spawn runs. Only the rank's own code may use it.
type Rank struct {
	*Context // the machine that all ranks share

	s       *stream.Rank
	device  int
	locals  map[reflect.Type]any
	profile *Profile // the profile in progress, or nil
}

// newRank returns a rank whose device is the SIP of the same number.
func (c *Context) newRank(s *stream.Rank) *Rank {
	return &Rank{Context: c, s: s, device: s.Number, locals: map[reflect.Type]any{}}
}

// Main returns the rank of the program itself: rank 0, on the first device.
func (c *Context) Main() *Rank { return c.main }

// Rank returns the number of the rank, from 0.
func (r *Rank) Rank() int { return r.s.Number }

// String returns "rank 3", or "the program" outside Spawn.
func (r *Rank) String() string { return r.s.String() }

// SetDevice selects the SIP on which this rank makes tensors. By default it is the SIP of
// the rank's number for a worker of Spawn, and the first SIP otherwise.
func (r *Rank) SetDevice(sip int) {
	n := r.Topology().Spec().System.SIPs.Count
	refuse(sip < 0 || sip >= n, "SetDevice", "no SIP %d: the system has 0 to %d", sip, n-1)
	if err := r.s.Begin("SetDevice"); err == nil {
		r.device = sip
	}
}

// Device returns the SIP on which this rank makes tensors.
func (r *Rank) Device() int { return r.device }

// Synchronize waits for everything that this rank has requested.
func (r *Rank) Synchronize() error { return r.s.Synchronize() }

// actingRank returns the rank that acts for objects of this rank: the rank itself or, after
// its Spawn has returned, the program.
func (r *Rank) actingRank() *Rank {
	if r.s.Over {
		return r.main
	}
	return r
}

// Spawn runs a function for each of nprocs ranks, concurrently on one simulated clock. It
// waits for all ranks and for everything that they requested. The device of rank i is SIP
// i, and its code is written as if it ran by itself. Ranks share the memory of this
// process; only their waits order accesses to shared variables. Objects that ranks have
// made belong to the program afterwards.
//
// When a rank returns an error or panics, the other ranks are stopped where they wait. A
// rank that can continue at that instant is stopped at its next wait, and its errors until
// then count too. The error is a *SpawnError with the errors of all ranks that failed by
// themselves.
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
		c.updateMeasuring() // a rank may not have stopped its profile
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

// SpawnError is the failure of some workers. It does not include workers that were stopped
// because of it.
type SpawnError struct {
	Ranks []RankError // in the order of the ranks
}

// RankError is the failure of one worker.
type RankError struct {
	Rank int
	Err  error
}

// Error returns a line for each reason, with the ranks that failed for it.
func (e *SpawnError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns an error for each reason, with the ranks that failed for it: "ranks 0-3:
// why". It wraps the errors of these ranks.
func (e *SpawnError) Unwrap() []error {
	var reasons []error
	byText := map[string]*sameReason{}
	for _, r := range e.Ranks {
		text := r.Err.Error()
		if byText[text] == nil {
			byText[text] = &sameReason{}
			reasons = append(reasons, byText[text])
		}
		byText[text].ranks, byText[text].errs = append(byText[text].ranks, r.Rank), append(byText[text].errs, r.Err)
	}
	return reasons
}

// sameReason is the errors of several ranks that have the same text.
type sameReason struct {
	ranks []int
	errs  []error
}

func (r *sameReason) Error() string {
	return fmt.Sprintf("%s: %v", stream.RankList(r.ranks), r.errs[0])
}

// Unwrap returns the error of the first rank. If it returned all errors, they would be
// printed as a list without the ranks.
func (r *sameReason) Unwrap() error { return r.errs[0] }

// Is reports whether the error of any rank is, or wraps, target.
func (r *sameReason) Is(target error) bool {
	return slices.ContainsFunc(r.errs, func(err error) bool { return errors.Is(err, target) })
}

// As reports whether the error of any rank is, or wraps, an error of target's type, and
// sets target to it.
func (r *sameReason) As(target any) bool {
	return slices.ContainsFunc(r.errs, func(err error) bool { return errors.As(err, target) })
}

// HostPanic is a panic of host code, outside kernels.
type HostPanic struct {
	Value any
	Stack string
}

// Recovered returns the error for a value that recover returned: the error passed to Must
// or OK, a *HostPanic, or nil if there was no panic. It must be called in the deferred
// function that recovers.
func Recovered(value any) error {
	switch v := value.(type) {
	case nil:
		return nil
	case *Failure:
		return v.Err
	}
	return &HostPanic{value, string(debug.Stack())}
}

// Error says where in the user's code the panic was. It includes the stack if this module's
// own code panicked.
func (p *HostPanic) Error() string {
	err, _ := p.Value.(error)
	switch {
	case errors.As(err, new(*tl.Error)):
		return err.Error() // the error says where
	case errors.As(err, new(*Error)):
		if line, _ := stack.Line(p.Stack); line != "" {
			return fmt.Sprintf("at %s: %v", line, err)
		}
		return err.Error()
	}
	return sim.DescribePanic(p.Value, p.Stack)
}

// Unwrap returns the value of the panic if it is an error.
func (p *HostPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Local returns a pointer to the rank's value of type T, which is zero until it is set.
// Packages that build on this one store data of a rank there. The value exists as long as
// the rank.
func Local[T any](r *Rank) *T {
	refuse(r.s.Current() == nil, "Local", "called from a kernel")
	kind := reflect.TypeFor[T]()
	if r.locals[kind] == nil {
		r.locals[kind] = new(T)
	}
	return r.locals[kind].(*T)
}

// Setting returns the value of type T among Options.Settings. Packages that build on this
// one find their options there.
func Setting[T any](c *Context) (value T, ok bool) {
	for _, s := range c.options.Settings {
		if value, ok = s.(T); ok {
			return value, true
		}
	}
	return value, false
}
