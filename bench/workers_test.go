package bench

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// TestFailuresOfWorkers checks that the error of a worker names the worker's rank and the
// source line of the mistake.
func TestFailuresOfWorkers(t *testing.T) {
	for _, c := range []struct {
		name   string
		worker func(r *torch.Rank) error
		want   string
	}{
		{"error", func(_ *torch.Rank) error { return errors.New("out of luck") }, "ranks 0, 1: out of luck"},
		{"Must", func(*torch.Rank) error { torch.OK(errors.New("out of luck")); return nil }, "ranks 0, 1: out of luck"},
		{"panic", func(*torch.Rank) error { panic("no") }, "ranks 0, 1: panic at workers_test.go:"},
		{"misuse", func(r *torch.Rank) error { _, err := r.Zeros(torch.F16, torch.Shape{-1}); return err },
			"ranks 0, 1: at workers_test.go:"},
	} {
		b := Bench{Name: "bad", Summary: "s", Run: func(b *B) error { return b.Spawn(c.worker, 2) }}
		if _, err := b.Execute(context.Background(), Options{}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
