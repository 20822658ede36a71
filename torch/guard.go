package torch

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// Stalled is the end of a run whose kernel computed too long without an operation
// of the tile language: most likely it never ends.
type Stalled struct {
	After time.Duration
	At    string // the line of the kernel, if it could be found
}

func (s *Stalled) Error() string {
	where := ""
	if s.At != "" {
		where = " at " + s.At
	}
	return fmt.Sprintf("a kernel has run for %v%s without an operation of the tile language: an endless loop, or raise the limit", s.After, where)
}

// guarded runs the machine and gives up when it gets stuck in a kernel, or when it
// is asked to end and does not. A loop of Go code cannot be stopped from outside: its
// goroutine is left behind, and the machine is not used again.
func (c *Context) guarded() error {
	done := make(chan error, 1)
	go func() { done <- c.m.Engine.Run(c.ctx) }()
	ticker := time.NewTicker(max(1, c.options.Stall/stallLooks))
	defer ticker.Stop()
	asked := c.ctx.Done()
	var patience <-chan time.Time
	last, still := uint64(0), 0
	for {
		select {
		case err := <-done:
			return err
		case <-asked:
			asked, patience = nil, time.After(endWithin)
		case <-patience:
			c.stuck = true
			return context.Cause(c.ctx)
		case <-ticker.C:
			now := c.m.Engine.Beats()
			if now != last {
				last, still = now, 0
				continue
			}
			if still++; still >= stallLooks {
				c.stuck = true
				return &Stalled{c.options.Stall, kernelLine()}
			}
		}
	}
}

// endWithin is how long a machine that is asked to end may take for it.
const endWithin = 200 * time.Millisecond

// stallLooks is how often the guard looks in the time it allows.
const stallLooks = 20

var stackLine = regexp.MustCompile(`(?m)^\t(\S+/([^/\s]+\.go:\d+))`)

// kernelLine finds the line of the kernel that is running: in the stack that has the
// machine's kernel frame, the innermost line outside the standard library.
func kernelLine() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for _, stack := range strings.Split(string(buf), "\n\n") {
		if !strings.Contains(stack, "machine.(*core).kernel") || strings.Contains(stack, "[coroutine]") {
			continue
		}
		lines := stackLine.FindAllStringSubmatch(stack, -1)
		library := "" // the folder of the standard library
		for _, m := range lines {
			if before, _, ok := strings.Cut(m[1], "iter/iter.go"); ok { // a kernel is a coroutine
				library = before
			}
		}
		for _, m := range lines {
			if library == "" || !strings.HasPrefix(m[1], library) {
				return m[2]
			}
		}
	}
	return ""
}
