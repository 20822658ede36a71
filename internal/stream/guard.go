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

// guarded runs the machine and gives up when it gets stuck in a kernel, when it is asked
// to end and does not, or when it is about to use up the memory of this computer. A loop
// of Go code cannot be stopped from outside: its goroutine is left behind, and the machine
// is not used again.
func (s *Scheduler) guarded() error {
	ctx, cancel := context.WithCancelCause(s.Context)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() {
		err := errors.New("a kernel or a worker ended its goroutine: return instead")
		defer func() { done <- err }()
		err = s.Machine.Engine.Run(ctx)
	}()
	ticker := time.NewTicker(max(1, s.Stall/stallLooks))
	defer ticker.Stop()
	memory := time.NewTicker(memoryLooks)
	defer memory.Stop()
	asked := ctx.Done()
	var patience <-chan time.Time
	last, still := uint64(0), 0
	for {
		select {
		case err := <-done:
			return err
		case <-asked:
			asked, patience = nil, time.After(endWithin)
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
			if still++; still >= stallLooks {
				return s.abandon(s.Stalled(s.working.Load() != nil, stalledLine()))
			}
		}
	}
}

// lost is the end of a machine whose code has not come back. It may do so later: nothing
// of the machine is looked at or changed after that.
type lost struct {
	err  error
	rank *Rank // whose code it is, if it is not a kernel's
}

func (s *Scheduler) abandon(err error) error {
	s.lost.Store(&lost{err, s.working.Load()})
	return err
}

// endWithin is how long a machine that is asked to end may take for it.
const endWithin = 200 * time.Millisecond

// memoryLooks is how long the guard waits before it looks at the memory again.
const memoryLooks = 100 * time.Millisecond

// stallLooks is how often the guard looks in the time it allows.
const stallLooks = 20

// stalledLine finds the author's line of the kernel or worker that is running.
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

// HostLine returns the line of host code that called into packages torch and dist: the
// innermost frame outside of them and of internal packages, as "train.go:41".
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
