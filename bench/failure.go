package bench

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// explain turns the error of a run, and that of its machine if it ended, into one
// for the person who wrote the bench: a panic becomes one line that says where in
// their code it was. The stack is kept only if this module's own code panicked.
func explain(err, ended error) error {
	var inKernel *sim.PanicError
	var wrong *tl.Error
	var inHost *torch.HostPanic
	switch {
	case errors.As(ended, &inKernel):
		if errors.As(ended, &wrong) {
			return wrong // says where
		}
		return inKernel
	case errors.As(err, new(*torch.SpawnError)):
		return err
	case errors.As(err, &inHost):
		if errors.As(err, &wrong) {
			return wrong
		}
		return fmt.Errorf("the bench: %w", inHost)
	}
	return err
}
