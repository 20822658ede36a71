package stream

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/stack"
)

// runGuarded runs the machine and returns the error that ended it, or nil. It gives up in
// three cases: a kernel or a rank makes no progress, the machine does not end although its
// context has ended, or this computer is about to run out of memory. A loop of Go code
// cannot be stopped from outside: its goroutine keeps running, and the machine is not used
// again.
func (s *Scheduler) runGuarded() error {
	ctx, cancel := context.WithCancelCause(s.Context)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() {
		err := errors.New("a kernel or a worker ended its goroutine: return instead")
		defer func() { done <- err }()
		err = s.Machine.Engine.Run(ctx)
	}()
	ticker := time.NewTicker(max(1, s.Stall/stallChecks))
	defer ticker.Stop()
	memory := time.NewTicker(memoryInterval)
	defer memory.Stop()
	asked := ctx.Done()
	var patience <-chan time.Time
	last, still := uint64(0), 0
	for {
		select {
		case err := <-done:
			return err
		case <-asked:
			asked, patience = nil, time.After(endGrace)
		case <-patience:
			return s.abandon(context.Cause(ctx))
		case <-memory.C:
			if err := host.Exhausted(); err != nil {
				cancel(fmt.Errorf("the simulation was stopped: %w: take a smaller system, shorter programs, or no op log", err))
			}
		case <-ticker.C:
			now := s.Machine.Engine.Beats()
			if now != last {
				last, still = now, 0
				continue
			}
			if still++; still >= stallChecks {
				return s.abandon(s.Stalled(s.working.Load() != nil, stalledLine()))
			}
		}
	}
}

// lost describes a machine that was abandoned because code that runs on it did not return
// in time. The code may return later, so the machine is neither read nor changed any more.
type lost struct {
	err  error
	rank *Rank // the rank whose code did not return; nil for a kernel
}

// abandon marks the machine as abandoned because its code did not return in time. err is
// the error of the run; abandon returns it.
func (s *Scheduler) abandon(err error) error {
	s.lost.Store(&lost{err, s.working.Load()})
	return err
}

// endGrace is the wall-clock time within which a machine must end after its context has
// ended.
const endGrace = 200 * time.Millisecond

// memoryInterval is the wall-clock time between two checks of this computer's memory.
const memoryInterval = 100 * time.Millisecond

// stallChecks is the number of times that runGuarded checks for progress during
// Options.Stall.
const stallChecks = 20

// stalledLine returns the line of user code that is running in a kernel or a worker, or ""
// if the line cannot be found.
func stalledLine() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for _, text := range strings.Split(string(buf), "\n\n") {
		code := strings.Contains(text, "stream.(*Rank).work(") || strings.Contains(text, "cpu.(*Core).Run(")
		if code && !strings.Contains(text, "[coroutine") {
			return stack.Loop(text)
		}
	}
	return ""
}

// HostLine returns the line of host code that has called package torch or torch/dist, as
// "train.go:41". It is the innermost frame of the stack that is outside these packages and
// outside internal packages. HostLine returns "" if there is no such call.
func HostLine() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	inside := false
	for {
		f, more := frames.Next()
		test := strings.HasSuffix(f.File, "_test.go")
		ours := (strings.HasPrefix(f.Function, "github.com/kernbench/kernbench/torch.") || strings.HasPrefix(f.Function, "github.com/kernbench/kernbench/torch/dist.")) && !test
		hidden := strings.HasPrefix(f.Function, "github.com/kernbench/kernbench/internal/") && !test || strings.HasPrefix(f.Function, "iter.")
		if inside && !ours && !hidden && !strings.HasPrefix(f.Function, "runtime.") {
			return filepath.Base(f.File) + ":" + strconv.Itoa(f.Line)
		}
		inside = inside || ours
		if !more {
			return ""
		}
	}
}
