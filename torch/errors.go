package torch

import (
	"fmt"
	"time"
)

// Stalled is the error of a run that was abandoned because code ran too long without
// progress: a kernel without an operation of the tile language, or a worker of Spawn
// without a call of this package. Most likely the code never ends.
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

// Must returns value if err is nil. Otherwise it ends the calling worker or bench, as if
// the worker or bench had returned err:
//
//	x := torch.Must(r.Zeros(torch.F16, torch.Shape{1024}))
func Must[T any](value T, err error) T {
	OK(err)
	return value
}

// OK does the same as Must for a call whose only result is an error:
// torch.OK(dist.AllReduce(r, x, dist.SUM)).
func OK(err error) {
	if err != nil {
		panic(&Failure{err})
	}
}

// Failure is the value that Must and OK panic with. Spawn and the runner of benches return
// Err as the error of the worker or bench.
type Failure struct{ Err error }

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns f.Err.
func (f *Failure) Unwrap() error { return f.Err }
