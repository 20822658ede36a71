package bench

import (
	"context"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

var lineNumber = regexp.MustCompile(`\.go:\d+`)

type shareRow struct {
	Share float64 `json:"share" table:",result"`
}

// TestFailures checks the error messages for mistakes of a bench's author. The scripts of
// internal/cli test mistakes inside kernels.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(b *B) error
		want string
	}{
		{"error", func(*B) error { return errors.New("no luck") }, "no luck"},
		{"panic", func(*B) error { panic("no luck") }, "the bench: panic at failure_test.go:NNN: no luck"},
		{"in the standard library", func(*B) error { return errors.New(strings.Repeat("x", -1)) }, "the bench: panic at failure_test.go:NNN: strings: negative Repeat count"},
		{"misuse", func(b *B) error { _, err := b.Zeros(torch.F16, torch.Shape{-1}); return err }, "the bench: at failure_test.go:NNN: torch: Zeros: shape [-1] has a negative extent"},
		{"pointer misuse", func(*B) error { tl.Ptr{DType: tl.F16, Rank: 1}.At(1, 2); return nil }, "At(pointer to f16) at failure_test.go:NNN: 2 indices are too many: what it points into has 1 axes"},
		{"no number", func(b *B) error { b.Row(shareRow{math.NaN()}); return nil }, "the bench: at failure_test.go:NNN: torch: Row: share: NaN is no number that a table can hold"},
		{"other row", func(b *B) error { b.Row(sampleRow{}); return nil }, "the bench: at failure_test.go:NNN: torch: Row: a bench.sampleRow is reported, and Bench.Row declares bench.shareRow: make them one type"},
		{"undeclared metrics", func(b *B) error { b.Metrics(shareRow{}); return nil }, "the bench: at failure_test.go:NNN: torch: Metrics: a bench.shareRow is reported, and Bench.Metrics declares <nil>: make them one type"},
	} {
		r, err := Bench{Name: "b", Row: shareRow{}, Run: tt.run}.Execute(t.Context(), Options{})
		if err == nil {
			t.Errorf("%s: got %+v, want an error", tt.name, r)
			continue
		}
		if got := lineNumber.ReplaceAllString(err.Error(), ".go:NNN"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestOwnPanicKeepsItsStack checks that a panic inside kernbench, which is not the author's
// mistake, is reported with its stack.
func TestOwnPanicKeepsItsStack(t *testing.T) {
	_, err := Bench{Name: "b", Run: func(*B) error {
		var x *torch.Tensor
		x.Numel()
		return nil
	}}.Execute(t.Context(), Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "the bench: a panic inside kernbench") || !strings.Contains(err.Error(), "torch/tensor.go:") {
		t.Errorf("got %v, want a panic inside kernbench with its stack", err)
	}
}

// TestInterrupted checks that a run with a canceled context returns the error of the
// context.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sample.Execute(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
