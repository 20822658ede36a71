package runner

import (
	"errors"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
)

// failure is the error of a run, and that of its machine if it ended, for whoever wrote
// the kernel: without the insides of the machine.
func failure(err, ended error) error {
	if failed, ok := errors.AsType[*RankError](err); ok {
		return failed
	}
	if input, ok := errors.AsType[*InputError](err); ok {
		return input
	}
	if misuse, ok := errors.AsType[*tl.Error](ended); ok {
		err = misuse
	} else if panicked, ok := errors.AsType[*sim.PanicError](ended); ok {
		err = panicked
	}
	return &RankError{-1, err}
}
