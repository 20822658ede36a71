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

// Rank is host code with a stream and a device: the program itself (see [Context.Main]) or
// a function that Spawn runs. Only the code of the rank may use its Rank.
type Rank struct {
	*Context // the machine that all ranks share

	s       *stream.Rank
	device  int
	locals  map[reflect.Type]any
	profile *Profile // the profile in progress, or nil
}

// newRank returns a *Rank for s, the object of the same rank in the scheduler. Its device
// is the SIP with the number of the rank.
func (c *Context) newRank(s *stream.Rank) *Rank {
	return &Rank{Context: c, s: s, device: s.Number, locals: map[reflect.Type]any{}}
}

// Main returns the rank that stands for the program itself: rank 0, on the first device.
func (c *Context) Main() *Rank { return c.main }

// Rank returns the number of the rank, from 0.
func (r *Rank) Rank() int { return r.s.Number }

// String returns "rank 3" for a rank of Spawn, and "the program" for the program itself.
func (r *Rank) String() string { return r.s.String() }

// SetDevice selects the SIP on which this rank makes tensors. The default is the SIP with
// the number of the rank for a worker of Spawn, and the first SIP for the program itself.
func (r *Rank) SetDevice(sip int) {
	n := r.Topology().Spec().System.SIPs.Count
	refuse(sip < 0 || sip >= n, "SetDevice", "no SIP %d: the system has 0 to %d", sip, n-1)
	if err := r.s.Begin("SetDevice"); err == nil {
		r.device = sip
	}
}

// Device returns the SIP on which this rank makes tensors.
func (r *Rank) Device() int { return r.device }

// Synchronize waits until everything that this rank has requested has ended.
func (r *Rank) Synchronize() error { return r.s.Synchronize() }

// actingRank returns the rank that may use the tensors and launches of r: r itself or,
// after the Spawn that started r has returned, the main rank.
func (r *Rank) actingRank() *Rank {
	if r.s.Over {
		return r.main
	}
	return r
}

// Spawn calls run for each of nprocs ranks, concurrently on one simulated clock. It waits
// until all calls have returned and all operations that they requested have ended. The
// device of rank i is SIP i. The code of a rank is written as if the rank ran by itself.
// Ranks share the memory of this process; accesses to shared variables are ordered only by
// the waits of the ranks. After Spawn, the tensors that ranks have made belong to the
// program.
//
// When a rank returns an error or panics, the other ranks are stopped where they wait. A
// rank that can continue at that instant is stopped at its next wait, and its errors until
// then count too. Spawn returns a *SpawnError with the errors of all ranks that failed, but
// not of the ranks that were stopped.
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

// SpawnError is the error of a Spawn in which workers failed. Workers that were stopped
// because another worker failed are not included.
type SpawnError struct {
	Ranks []RankError // the ranks that failed, in ascending order
}

// RankError is the error with which one worker failed.
type RankError struct {
	Rank int
	Err  error
}

// Error returns one line for each different reason, with the ranks that failed for this
// reason.
func (e *SpawnError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns one error for each different reason, with the ranks that failed for this
// reason: "ranks 0-3: why". Each of these errors wraps the errors of its ranks.
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

// sameReason holds the errors of several ranks that failed with the same text.
type sameReason struct {
	ranks []int
	errs  []error
}

func (r *sameReason) Error() string {
	return fmt.Sprintf("%s: %v", stream.RankList(r.ranks), r.errs[0])
}

// Unwrap returns the error of the first rank. If it returned the errors of all ranks, they
// would be printed as a list without the ranks.
func (r *sameReason) Unwrap() error { return r.errs[0] }

// Is reports whether the error of at least one rank is, or wraps, target.
func (r *sameReason) Is(target error) bool {
	return slices.ContainsFunc(r.errs, func(err error) bool { return errors.Is(err, target) })
}

// As looks for an error of target's type among the errors of the ranks and the errors that
// they wrap. It sets target to the first such error and reports whether there is one.
func (r *sameReason) As(target any) bool {
	return slices.ContainsFunc(r.errs, func(err error) bool { return errors.As(err, target) })
}

// HostPanic is the error for a panic of host code, outside kernels.
type HostPanic struct {
	Value any
	Stack string
}

// Recovered converts `value`, which recover has returned, to an error. If Must or OK
// panicked, the result is the error that was passed to Must or OK. For any other panic, the
// result is a *HostPanic. If there was no panic, the result is nil. Recovered must be
// called in the deferred function that calls recover.
func Recovered(value any) error {
	switch v := value.(type) {
	case nil:
		return nil
	case *Failure:
		return v.Err
	}
	return &HostPanic{value, string(debug.Stack())}
}

// Error describes the panic and the line of user code that caused it. It includes the stack
// if code of this module panicked.
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

// Unwrap returns the value of the panic if it is an error, or else nil.
func (p *HostPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Local returns a pointer to the value of type T that belongs to rank r. The value is zero
// until it is set, and exists as long as the rank. Packages that build on this one store
// the data of a rank in such values.
func Local[T any](r *Rank) *T {
	refuse(r.s.Current() == nil, "Local", "called from a kernel")
	kind := reflect.TypeFor[T]()
	if r.locals[kind] == nil {
		r.locals[kind] = new(T)
	}
	return r.locals[kind].(*T)
}

// Setting returns the value of type T in Options.Settings. ok reports whether there is one.
// Packages that build on this one get their options in this way.
func Setting[T any](c *Context) (value T, ok bool) {
	for _, s := range c.options.Settings {
		if value, ok = s.(T); ok {
			return value, true
		}
	}
	return value, false
}
