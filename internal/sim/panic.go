package sim

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/kernbench/kernbench/internal/stack"
)

// PanicError is a panic inside a process.
type PanicError struct {
	Proc  string // "kernel@sip0.cube0.pe1", or another name
	At    Time
	Value any
	Stack string
}

// Error returns one line that says where in the author's code the panic was. The stack is added
// if the simulator panicked by itself, not with an error for the author.
func (e *PanicError) Error() string {
	who := e.Proc
	if kernel, pe, ok := strings.Cut(who, "@"); ok {
		who = "kernel " + kernel + " on " + pe
	}
	line, inside := stack.Line(e.Stack)
	err := e.Unwrap()
	switch {
	case !inside || err == nil || errors.As(err, new(runtime.Error)):
		return fmt.Sprintf("%s: %s", who, Panicked(e.Value, e.Stack))
	case strings.Contains(err.Error(), line):
		return err.Error() // it has all of that
	}
	return fmt.Sprintf("%s at %s: %v", who, line, err)
}

// Panicked describes a panic with a value, by its stack.
func Panicked(value any, text string) string {
	line, inside := stack.Line(text)
	switch {
	case inside:
		return fmt.Sprintf("a panic inside kernbench, which should not happen: %v\n%s", value, text)
	case line != "":
		line = " at " + line
	}
	return fmt.Sprintf("panic%s: %v", line, value)
}

// Unwrap returns the panic's value where that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
