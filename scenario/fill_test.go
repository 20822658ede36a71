package scenario

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestPlanContext checks that Input, Golden and Plan return the cause of the context after
// it has ended, for values from expressions and from Go functions.
func TestPlanContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	s, err := Parse("sample.yaml", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	pl, err := s.Plan(ctx, Choice{})
	if err != nil {
		t.Fatal(err)
	}
	cancel(cause)
	if _, err := pl.Input(pl.Buffers[0], 0, 0); err != cause {
		t.Errorf("an expression: got %v, want the cause, enough", err)
	}
	if _, err := pl.Golden(pl.Outputs[1], 0, 0); err != cause {
		t.Errorf("a function: got %v, want the cause, enough", err)
	}
	if _, err := s.Plan(ctx, Choice{}); err != cause {
		t.Errorf("a plan: got %v, want the cause, enough", err)
	}
}

// TestStuckFill checks that Fill.call returns when the context ends, although the Go
// function has not returned.
func TestStuckFill(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	left := make(chan struct{})
	defer close(left)
	stuck := Fill(func(Env, []float64) error {
		cancel(cause)
		<-left
		return nil
	})
	if err := stuck.call(ctx, "stuck", Env{}, nil); err != cause {
		t.Errorf("got %v, want the cause, enough", err)
	}
}

// TestFillPanics checks the errors of Go functions that panic with an error or a nil
// dereference. testdata/bad.txt has other panics.
func TestFillPanics(t *testing.T) {
	deep := func() { panic(errors.New("deep")) }
	for want, f := range map[string]Fill{
		"the function f panicked at fill_test.go:NN (rank 2, round 3): deep": func(Env, []float64) error { deep(); return nil },
		"the function f panicked at fill_test.go:NN (rank 2, round 3): runtime error: invalid memory address or nil pointer dereference": func(Env, []float64) error {
			var b *Buffer
			b.Name = ""
			return nil
		},
	} {
		err := f.call(t.Context(), "f", Env{Rank: 2, Round: 3}, nil)
		if err == nil {
			t.Errorf("no error, want %s", want)
			continue
		}
		before, after, _ := strings.Cut(err.Error(), ".go:")
		_, after, _ = strings.Cut(after, " ")
		if got := before + ".go:NN " + after; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
