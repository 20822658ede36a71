package bench

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

var lineNumber = regexp.MustCompile(`\.go:\d+`)

// TestFailures is what authors of benches see of their mistakes. Those inside
// kernels are in the scripts of internal/cli.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(ctx *torch.Context) error
		want string
	}{
		{"error", func(*torch.Context) error { return errors.New("no luck") }, "no luck"},
		{"panic", func(*torch.Context) error { panic("no luck") }, "the bench: panic at failure_test.go:NNN: no luck"},
		{"in the standard library", func(*torch.Context) error { return errors.New(strings.Repeat("x", -1)) }, "the bench: panic at failure_test.go:NNN: strings: negative Repeat count"},
		{"misuse", func(ctx *torch.Context) error { _, err := ctx.Zeros(torch.F16, torch.Shape{-1}); return err }, "the bench: at failure_test.go:NNN: torch: Zeros: shape [-1] has a negative extent"},
		{"pointer misuse", func(ctx *torch.Context) error { tl.Ptr{DType: tl.F16, Rank: 1}.At(1, 2); return nil }, "At(pointer to f16) at failure_test.go:NNN: 2 indices are too many: what it points into has 1 axes"},
		{"no number", func(ctx *torch.Context) error {
			zero := 0.0
			ctx.Row(torch.Col("share", zero/zero))
			return nil
		}, "bench b: share is NaN, which JSON has no number for"},
		{"no name", func(ctx *torch.Context) error { ctx.Metric("", 1); return nil }, "bench b: the value 1 has no name"},
	} {
		r, err := Bench{Name: "b", Run: tt.run}.Execute(t.Context(), Options{})
		if err == nil {
			t.Errorf("%s: got %+v, want an error", tt.name, r)
			continue
		}
		if got := lineNumber.ReplaceAllString(err.Error(), ".go:NNN"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestOwnPanicKeepsItsStack: what is no author's fault is for us to find.
func TestOwnPanicKeepsItsStack(t *testing.T) {
	_, err := Bench{Name: "b", Run: func(ctx *torch.Context) error {
		var x *torch.Tensor
		x.Numel()
		return nil
	}}.Execute(t.Context(), Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "the bench: a panic inside kernbench") || !strings.Contains(err.Error(), "torch/tensor.go:") {
		t.Errorf("got %v, want a panic inside kernbench with its stack", err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sample.Execute(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
