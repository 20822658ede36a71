package scenario

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/kernbench/kernbench/internal/stack"
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
				line, _ := stack.Line(string(debug.Stack()))
				err = fmt.Errorf("the function %s panicked at %s (rank %d, round %d): %v", name, line, e.Rank, e.Round, v)
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
