package scenario

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Fill makes the elements of a buffer, in row-major order; out has as many as the shape.
// They are rounded to the dtype afterwards. An error says what is wrong with the
// parameters.
type Fill func(e Env, out []float64) error

// Env is what a registered function knows of the values that it makes. Root is 0 unless the
// file has a root: scenarios whose functions use it say root: 0.
type Env struct {
	Rank, Ranks, Root, Round, Device int
	Shape                            []int // of the buffer

	params map[string]setting
}

// Int is a whole number among the parameters. If the file has no such parameter the
// function ends here, and the file is refused.
func (e Env) Int(param string) int {
	s, ok := e.params[param]
	if !ok || s.word != "" || s.number.fraction {
		panic(missingParam(param))
	}
	return int(s.number.n)
}

// missingParam is the name of a parameter that a function wants and the file has not.
type missingParam string

// call runs the function until ctx ends. The function knows nothing of ctx: it is left
// behind then, with an out that nobody reads.
func (f Fill) call(ctx context.Context, name string, e Env, out []float64) error {
	done := make(chan error, 1)
	go func() {
		err := fmt.Errorf("the function %s ended its goroutine: return an error instead", name)
		defer func() {
			switch v := recover().(type) {
			case nil:
			case missingParam:
				err = fmt.Errorf("the function wants a parameter %s that is a whole number: add it to params, which has %s", string(v), list(slices.Sorted(maps.Keys(e.params))))
			default:
				err = fmt.Errorf("the function %s panicked at %s (rank %d, round %d): %v", name, panicLine(), e.Rank, e.Round, v)
			}
			done <- err
		}()
		err = f(e, out)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// panicLine is where the panic that is being recovered comes from: the first line after
// it that is not the runtime's.
func panicLine() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	for f, more := frames.Next(); more; f, more = frames.Next() {
		if f.Function != "runtime.gopanic" {
			continue
		}
		for more && strings.HasPrefix(f.Function, "runtime.") {
			f, more = frames.Next()
		}
		return f.File[strings.LastIndexByte(f.File, '/')+1:] + ":" + strconv.Itoa(f.Line)
	}
	return "an unknown line"
}
