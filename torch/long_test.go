package torch_test

import (
	"context"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestLongProgramKeepsNoLog checks that the op log of a program with many launches does not
// grow without limit, and that the values are right although the log is cleared.
func TestLongProgramKeepsNoLog(t *testing.T) {
	c, err := torch.New(context.Background(), torch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := c.Main()
	defer r.Close()
	x, err := r.Zeros(torch.I32, torch.Shape{64})
	if err != nil {
		t.Fatal(err)
	}
	const launches, rounds = 50, 3000
	longest := 0
	for range launches {
		if _, err := r.Launch("count", func(t *tl.PE, x tl.Ptr) {
			v := t.Load(x, tl.Shape{64}, tl.I32)
			for range rounds {
				v = v.Add(1)
			}
			t.Store(x, v)
		}, x); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, len(r.Log().Ops))
	}
	a, err := x.Numpy()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.At(63), float64(launches*rounds); got != want {
		t.Errorf("counted to %v, want %v", got, want)
	}
	if longest > 1<<16+rounds+10 {
		t.Errorf("the log grew to %d operations", longest)
	}
}
