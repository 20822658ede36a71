package runner

import (
	"errors"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
)

// failure is the error of a run, and that of its machine if it ended, for whoever wrote
// the kernel: without the insides of the machine.
func failure(err, ended error) error {
	var failed *RankError
	var input *InputError
	var misuse *tl.Error
	var panicked *sim.PanicError
	switch {
	case errors.As(err, &failed):
		return failed
	case errors.As(err, &input):
		return input
	case errors.As(ended, &misuse):
		err = misuse
	case errors.As(ended, &panicked):
		err = panicked
	}
	return &RankError{-1, err}
}
