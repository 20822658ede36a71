package torch

import (
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

// guarded runs the machine and gives up when it gets stuck in a kernel. A loop of
// Go code cannot be stopped from outside: its goroutine is left behind, and the
// machine must not be used again.
func (c *Context) guarded() error {
	done := make(chan error, 1)
	go func() { done <- c.m.Engine.Run(c.ctx) }()
	ticker := time.NewTicker(c.options.Stall / stallLooks)
	defer ticker.Stop()
	last, still := uint64(0), 0
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			now := c.m.Engine.Beats()
			if now != last {
				last, still = now, 0
				continue
			}
			if still++; still >= stallLooks {
				return &Stalled{c.options.Stall, kernelLine()}
			}
		}
	}
}

// stallLooks is how often the guard looks in the time it allows.
const stallLooks = 20

var stackLine = regexp.MustCompile(`(?m)^\t(\S+/([^/\s]+\.go:\d+))`)

// kernelLine finds the line of the kernel that is running: in the stack with the
// machine's kernel frame, the innermost line outside this module's own packages and
// the runtime.
func kernelLine() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for _, stack := range strings.Split(string(buf), "\n\n") {
		if !strings.Contains(stack, "machine.(*core).kernel") || strings.Contains(stack, "[coroutine]") {
			continue
		}
		for _, m := range stackLine.FindAllStringSubmatch(stack, -1) {
			if !strings.Contains(m[1], runtime.GOROOT()) {
				return m[2]
			}
		}
	}
	return ""
}
