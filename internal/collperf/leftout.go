package collperf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
)

// LeftOut is an algorithm that a comparison goes without at some sizes.
type LeftOut struct {
	Algorithm string  `json:"algorithm"`
	Sizes     int     `json:"sizes"`           // at how many
	Times     float64 `json:"times,omitempty"` // as long as the best by formula, at most; 0 if it does not fit
	Reason    string  `json:"reason"`
}

// hopeless is how many times as long as the best an algorithm takes by its formula to be
// left out of a comparison: simulating it would take that much longer, too.
const hopeless = 30

// hopelessError is the error of an algorithm that is not worth a simulation.
type hopelessError struct{ times float64 }

func (e *hopelessError) Error() string {
	return fmt.Sprintf("by its formula %.0f times as long as the best", e.times)
}

// leftOut is what an error says about an algorithm that others may do without, nil if it
// concerns them too.
func leftOut(algorithm string, err error) *LeftOut {
	l := &LeftOut{Algorithm: algorithm, Sizes: 1}
	var (
		slow *hopelessError
		full *memory.OutOfMemory
		over *pe.Overflow
		fit  *ccl.FitError
	)
	switch {
	case errors.As(err, &slow):
		l.Times, l.Reason = slow.times, slow.Error()
	case errors.As(err, &full):
		l.Reason = fmt.Sprintf("does not fit: %v has %v free of %v, asked %v", full.Memory, full.Free, full.Size, full.Asked)
	case errors.As(err, &over) && !over.Freed:
		l.Reason = fmt.Sprintf("does not fit: TCM has %v free of %v, asked %v", over.Free, over.Size, over.Asked)
	case errors.As(err, &fit):
		l.Reason = "does not fit: " + fit.Reason
	default:
		return nil
	}
	return l
}

// addLeftOut counts one more size, and keeps the reason of the worst.
func addLeftOut(list []LeftOut, l LeftOut) []LeftOut {
	i := slices.IndexFunc(list, func(m LeftOut) bool {
		return m.Algorithm == l.Algorithm && (m.Times > 0) == (l.Times > 0)
	})
	if i < 0 {
		return append(list, l)
	}
	m := &list[i]
	m.Sizes += l.Sizes
	if l.Times > m.Times {
		m.Times, m.Reason = l.Times, l.Reason
	}
	return list
}
