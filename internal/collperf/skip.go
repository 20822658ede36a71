package collperf

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
)

// hopeless bounds how many times as long as the best an algorithm may take by its formula to be
// measured in a comparison: simulating it would take that much longer, too.
const hopeless = 30

// hopelessError is the error of an algorithm that is not worth a simulation.
type hopelessError struct{ times float64 }

func (e *hopelessError) Error() string {
	return fmt.Sprintf("not measured: by its formula %.0f times as long as the best", e.times)
}

// skipped returns why a comparison goes without an algorithm at a size: the algorithm does not
// fit or is hopeless. It returns "" for errors that are failures.
func skipped(err error) string {
	if slow, ok := errors.AsType[*hopelessError](err); ok {
		return slow.Error()
	}
	if full, ok := errors.AsType[*memory.OutOfMemory](err); ok {
		return fmt.Sprintf("does not fit: %v has %v free of %v, asked %v", full.Memory, full.Free, full.Size, full.Asked)
	}
	if over, ok := errors.AsType[*pe.Overflow](err); ok && !over.Freed {
		return fmt.Sprintf("does not fit: TCM has %v free of %v, asked %v", over.Free, over.Size, over.Asked)
	}
	if fit, ok := errors.AsType[*ccl.FitError](err); ok {
		return "does not fit: " + fit.Reason
	}
	return ""
}
