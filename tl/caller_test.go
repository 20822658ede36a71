package tl_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// here returns the line of its caller.
func here() string {
	_, _, line, _ := runtime.Caller(1)
	return fmt.Sprintf("caller_test.go:%d", line)
}

// inlined calls Exp. tl.Callers must find this line even if the compiler inlines inlined.
func inlined(x tl.Tile) tl.Tile { return x.Exp() }

const inlinedLine = "caller_test.go:18"

// TestCaller checks the line of the kernel that a machine finds for operations that are
// called directly, in chains, by helpers, as method values and in deferred calls.
func TestCaller(t *testing.T) {
	r := &recorder{}
	pe := tl.NewPE(r, "test")
	x := pe.Load(vector, tl.Shape{64}, tl.F16)
	for range 2 { // the second iteration uses the cache
		for _, tt := range []struct {
			name string
			do   func() string // returns the expected line
		}{
			{"operation", func() string { x.Add(1); return here() }},
			{"operation through another", func() string { pe.Zeros(tl.Shape{4}, tl.F16); return here() }},
			{"chain", func() string { x.Add(1).Mul(2).Sum(0); return here() }},
			{"helper of the kernel", func() string { inlined(x); return inlinedLine }},
			{"receive", func() string { pe.RecvAsync(tl.East, tl.Shape{4}, tl.F16).Wait(); return here() }},
			{"misuse", func() string { r.line = recoverError(t, func() { x.Add(nil) }).Line; return here() }},
			{"method value", func() string { exp := x.Exp; exp(); return here() }},
		} {
			want := tt.do()
			if r.line != want {
				t.Errorf("%s: the machine sees line %q, want %q", tt.name, r.line, want)
			}
		}
		deferred := func() (want string) {
			for range 1 { // defers in loops go through the runtime
				defer x.Free()
			}
			_, _, line, _ := runtime.Caller(0)
			return fmt.Sprintf("caller_test.go:%d", line+2) // the closing brace, where the deferred call runs
		}
		if want := deferred(); r.line != want {
			t.Errorf("deferred: the machine sees line %q, want %q", r.line, want)
		}
	}
	if got := new(tl.Callers).Line(); got != "" {
		t.Errorf("outside a kernel the line is %q, want none", got)
	}
}

// TestCallerFromDeepMachine checks that a machine finds the line of the kernel even if
// there are many calls between its method and Line.
func TestCallerFromDeepMachine(t *testing.T) {
	m := &deepMachine{depth: 40}
	pe := tl.NewPE(m, "test")
	do := func() string { pe.Zeros(tl.Shape{4}, tl.F16); return here() }
	if want := do(); m.line != want {
		t.Errorf("a machine many calls deep sees line %q, want %q", m.line, want)
	}
}

// deepMachine is a machine with `depth` calls between its method Compute and Line.
type deepMachine struct {
	recorder
	depth int
}

func (m *deepMachine) Compute(*tl.Value, *tl.Compute) error {
	m.line = m.deeper(m.depth)
	return nil
}

//go:noinline
func (m *deepMachine) deeper(n int) string {
	if n == 0 {
		return m.callers.Line()
	}
	return m.deeper(n-1) + ""
}
