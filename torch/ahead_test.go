package torch_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// pass is a kernel in which neighbouring PEs exchange tiles and add them, in many rounds.
// Each round also stores its result.
func pass(rounds int) func(t *tl.PE, x tl.Ptr) {
	return func(t *tl.PE, x tl.Ptr) {
		v := t.Load(x, tl.Shape{64}, tl.I32)
		for i := range rounds {
			t.Put((t.Rank()+1)%t.NumRanks(), x.Add(64), v)
			t.Barrier(0)
			v = t.Load(x.Add(64), tl.Shape{64}, tl.I32).Mul(3).Add(float64(i))
			t.Store(x, v)
			t.Barrier(0)
		}
	}
}

// TestValuesAheadOfTime checks that a long program has the same values for any number of
// threads that compute beside the simulation, and if the op log is kept.
func TestValuesAheadOfTime(t *testing.T) {
	var want []byte
	for _, o := range []torch.Options{{KeepLog: true, Threads: 1}, {Threads: 1}, {Threads: 2}, {Threads: 3}, {Threads: 8}} {
		c := torch.Must(torch.New(t.Context(), o))
		r := c.Main()
		x := torch.Must(r.FromFunc(func(i int) float64 { return float64(i * 7 % 1001) }, torch.I32, torch.Shape{8 * 128}, torch.On(0, 1, 2, 3, 8, 9, 10, 11)))
		torch.Must(r.Launch("pass", pass(200), x))
		got := torch.Must(x.Numpy()).Bytes
		c.Close()
		if want == nil {
			want = got
		} else if !bytes.Equal(got, want) {
			t.Errorf("other values with %d threads than with a log that is kept", o.Threads)
		}
	}
}

// TestValuesEndWithTheRun checks that no goroutine that computes values is left after a
// kernel fails, after the context ends, and after Close in the middle of a program.
func TestValuesEndWithTheRun(t *testing.T) {
	before := runtime.NumGoroutine()
	stop := errors.New("interrupted")
	for name, fail := range map[string]func(cancel context.CancelCauseFunc){
		"fails":     func(context.CancelCauseFunc) { panic("enough") },
		"interrupt": func(cancel context.CancelCauseFunc) { cancel(stop) },
		"ends":      func(context.CancelCauseFunc) {},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := torch.Must(torch.New(ctx, torch.Options{Threads: 3}))
		r := c.Main()
		x := torch.Must(r.Zeros(torch.I32, torch.Shape{8 * 128}, torch.On(0, 1, 2, 3, 4, 5, 6, 7)))
		_, err := r.Launch(name, func(t *tl.PE, x tl.Ptr) {
			pass(200)(t, x)
			if t.Rank() == 3 {
				fail(cancel)
			}
			pass(20)(t, x)
		}, x)
		if err == nil {
			err = r.Synchronize()
		}
		if (err != nil) != (name != "ends") || name == "interrupt" && !errors.Is(err, stop) {
			t.Errorf("%s: error %v", name, err)
		}
		cancel(nil)
		c.Close()
	}
	for i := 0; runtime.NumGoroutine() > before && i < 1_000_000; i++ {
		runtime.Gosched() // goroutines that have ended their work may still have to return
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines are left", now-before)
	}
}
