package torch

import (
	"fmt"
	"time"
)

// Stalled is the error of a run that was abandoned because a kernel computed too long
// without an operation of the tile language, or a worker of Spawn without one of this
// package. Most likely the code never ends.
type Stalled struct {
	After  time.Duration
	Worker bool
	At     string // the line of code, as "train.go:41"; "" if it was not found
}

func (s *Stalled) Error() string {
	where, what, without := "", "kernel", "the tile language"
	if s.Worker {
		what, without = "worker", "the host API"
	}
	if s.At != "" {
		where = " at " + s.At
	}
	return fmt.Sprintf("a %s has run for %v%s without an operation of %s: an endless loop, or raise the limit (--stall, Options.Stall)", what, s.After, where, without)
}

// Must returns value. If err is not nil, it ends the calling worker or bench as if that had
// returned the error:
//
//	x := torch.Must(r.Zeros(torch.F16, torch.Shape{1024}))
func Must[T any](value T, err error) T {
	OK(err)
	return value
}

// OK does the same as Must for a call without a value: torch.OK(dist.AllReduce(r, x,
// dist.SUM)).
func OK(err error) {
	if err != nil {
		panic(&Failure{err})
	}
}

// Failure is the value that Must and OK panic with. Spawn and the runner of benches return
// its error as that of the worker or bench.
type Failure struct{ Err error }

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error.
func (f *Failure) Unwrap() error { return f.Err }
