package torch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestLocalBelongsToItsRank checks that Local has one value for each rank and each type.
// The value of a worker is gone when the worker has ended, and the code outside Spawn has a
// value of its own.
func TestLocalBelongsToItsRank(t *testing.T) {
	type other int
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	*torch.Local[int](l.Rank) = 100
	for round := range 2 {
		err := l.Spawn(func(r *torch.Rank) error {
			rank := r.Rank()
			if got := *torch.Local[int](r); got != 0 {
				return fmt.Errorf("round %d: rank %d has %d before it has set anything", round, rank, got)
			}
			*torch.Local[int](r), *torch.Local[other](r) = rank+1, other(-rank)
			hostedtest.Full(r, 1, 4)
			if err := r.Synchronize(); err != nil { // other ranks run meanwhile
				return err
			}
			if got, same := torch.Local[int](r), torch.Local[int](r); *got != rank+1 || got != same || *torch.Local[other](r) != other(-rank) {
				return fmt.Errorf("rank %d has %d and %d, want %d and %d", rank, *got, *torch.Local[other](r), rank+1, -rank)
			}
			return nil
		}, 3)
		if err != nil {
			t.Error(err)
		}
	}
	if got := *torch.Local[int](l.Rank); got != 100 {
		t.Errorf("the program has %d, want 100", got)
	}
}

// TestKernelsCannotCallLocal checks the errors for kernels that call Local or Layout.
func TestKernelsCannotCallLocal(t *testing.T) {
	for want, f := range map[string]func(l *hostedtest.Lab){
		"torch: Local: called from a kernel":  func(l *hostedtest.Lab) { torch.Local[int](l.Rank) },
		"torch: Layout: called from a kernel": func(l *hostedtest.Lab) { l.Layout(torch.Shape{4}, torch.DPPolicy{}) },
	} {
		l := hostedtest.New(t, hostedtest.Options(t, 3))
		err := try(l, "k", func(*tl.PE) { f(l) }, torch.PEs(0))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
