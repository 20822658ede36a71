package torch_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/ipcq"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestBadKernelsStopWithOneError checks that a kernel with a mistake ends its launch with
// one error. The error has the right type and says what the kernel did and where.
func TestBadKernelsStopWithOneError(t *testing.T) {
	var release atomic.Bool // ends the endless loops after the test
	t.Cleanup(func() { release.Store(true) })
	vec := tl.Shape{64}
	for _, c := range []struct {
		name   string
		kernel func(t *tl.PE, x tl.Ptr)
		kind   func(error) bool
		says   []string
	}{
		{"wrong shape", func(t *tl.PE, x tl.Ptr) {
			t.Zeros(tl.Shape{4, 5}, tl.F16).Dot(t.Zeros(tl.Shape{4, 5}, tl.F16))
		}, is[*tl.Error], []string{"kernel bad on sip0.cube0.pe0", "Dot([4 5] f16, [4 5] f16)", "stop_test.go:"}},
		{"unknown port", func(t *tl.PE, x tl.Ptr) {
			t.Send(tl.North, t.Zeros(vec, tl.F16))
		}, is[*tl.Error], []string{"kernel bad on sip0.cube0.pe0", "Send(north, [64] f16)", "stop_test.go:", "east"}},
		{"TCM overflow", func(t *tl.PE, x tl.Ptr) {
			t.Zeros(tl.Shape{2 << 20}, tl.F16)
		}, is[*pe.Overflow], []string{"kernel bad on sip0.cube0.pe0", "stop_test.go:", "4MiB asked"}},
		{"another dtype than sent", func(t *tl.PE, x tl.Ptr) {
			t.Send(tl.East, t.Zeros(vec, tl.F16))
			t.Recv(tl.West, vec, tl.BF16)
		}, is[*ipcq.Mismatch], []string{"kernel bad on sip0.cube0.pe", "Recv(west, [64] bf16)", "stop_test.go:", "[64] f16"}},
		{"memory that is not there", func(t *tl.PE, x tl.Ptr) {
			t.Load(x.At(64), tl.Shape{1 << 20}, tl.F16)
		}, is[*tl.Error], []string{"kernel bad on sip0.cube0.pe", "Load([1048576] f16)", "stop_test.go:"}},
		{"deadlock", func(t *tl.PE, x tl.Ptr) {
			t.Recv(tl.West, vec, tl.F16)
		}, is[*sim.Deadlock], []string{"bad@sip0.cube0.pe0", "west", "stop_test.go:", "cycle"}},
		{"endless in simulated time", func(t *tl.PE, x tl.Ptr) {
			for {
				t.Zeros(vec, tl.F16)
			}
		}, is[*sim.TimeLimit], []string{"20000ns"}},
		{"panic", func(t *tl.PE, x tl.Ptr) {
			panic("oops")
		}, is[*sim.PanicError], []string{"launch bad: kernel bad on sip0.cube0.pe0: panic at stop_test.go:56: oops"}},
		// The reported line is that of the loop, even while package tl runs.
		{"endless pointers", func(t *tl.PE, x tl.Ptr) {
			for !release.Load() {
				x.Add(1)
			}
		}, is[*torch.Stalled], []string{" at stop_test.go:6", "100ms"}},
		{"endless Go loop", func(t *tl.PE, x tl.Ptr) {
			for !release.Load() {
			}
		}, is[*torch.Stalled], []string{"stop_test.go:", "100ms"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := hostedtest.New(t, torch.Options{Limit: 20 * simtime.Microsecond, Stall: 100 * time.Millisecond})
			x := l.MustZeros(torch.F16, torch.On(0, 1), 128)
			err := try(l, "bad", c.kernel, x, torch.Neighbors(torch.Ring(0, 1)))
			if err == nil || !c.kind(err) {
				t.Fatalf("the launch ends with %v (%T)", err, errors.Unwrap(err))
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("the error is %q, want %q in it", err, s)
				}
			}
			if again := try(l, "good", func(*tl.PE, tl.Ptr) {}, x); again == nil {
				t.Error("another launch succeeds, want the error again")
			}
		})
	}
}

// is reports whether err is, or wraps, an error of type T.
func is[T error](err error) bool {
	var e T
	return errors.As(err, &e)
}
