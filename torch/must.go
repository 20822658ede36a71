package torch

// Must returns the value of a call that may fail. A failure ends the worker or the bench
// that calls it, as if it had returned the error:
//
//	x := torch.Must(ctx.Zeros(torch.F16, torch.Shape{1024}))
func Must[T any](value T, err error) T {
	OK(err)
	return value
}

// OK is Must of a call without a value: torch.OK(dist.AllReduce(x, torch.SUM)).
func OK(err error) {
	if err != nil {
		panic(&Failure{err})
	}
}

// Failure is what Must and OK panic with. Spawn and the runner of benches make its
// error that of the worker or bench.
type Failure struct{ Err error }

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error.
func (f *Failure) Unwrap() error { return f.Err }
