package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/kernbench/kernbench/comm"
)

// outcome is the result or the error of a rank.
type outcome struct {
	result []byte
	err    error
	blame  blame // whose fault err is
}

// blame says whose fault a failure is, in the view of the failed rank. Smaller values are
// closer to the root cause.
type blame uint8

const (
	own        blame = iota // the failed rank
	deadlocked              // no rank: all ranks wait
	late                    // other ranks: the rank has waited for them too long
	closers                 // other ranks: they have closed the communicator, perhaps rightly
	others                  // other ranks: they have failed, or the run must stop
	killed                  // as others, and the rank was killed because it did not stop
	running                 // as others, and the rank still runs
)

// environment holds what differs between ranks that are processes and ranks that are
// goroutines.
type environment struct {
	backend, rendezvous string
	bind                func(cpu int) error // binds at least the calling goroutine to a CPU
	opened              func()              // called when the communicator is open
	stack               io.Writer           // receives the stack of a panic
}

// runJob opens the communicator of the rank, runs the job, closes the communicator, and
// returns the result or the error.
func (o order) runJob(ctx context.Context, env environment) outcome {
	job, err := findJob(o.Job)
	if err != nil {
		return outcome{err: err}
	}
	// No timeout yet: the launcher checks that all ranks start, which may take longer than
	// an operation.
	c, err := comm.Open(ctx, o.Rank, o.Ranks, env.rendezvous, comm.Options{Backend: env.backend})
	if err != nil {
		return outcome{err: err, blame: blameFor(ctx, err)}
	}
	c.SetTimeout(o.Timeout)
	env.opened()
	result, err := o.callJob(ctx, job, c, env)
	if err != nil {
		// A job may return an error that does not wrap the cause. The error that poisoned
		// the communicator is therefore considered, too.
		whose := max(blameFor(ctx, err), blameFor(ctx, c.Err()))
		c.Abort(err) // returns err
		c.Close()    // its error is not why the rank failed
		return outcome{err: err, blame: whose}
	}
	if err := c.Close(); err != nil {
		return outcome{err: err}
	}
	return outcome{result: result}
}

// callJob runs the job in a new goroutine and returns the result or error of the job. If
// the order names a CPU, callJob first binds the rank to that CPU. A panic and
// runtime.Goexit of the job become errors.
func (o order) callJob(ctx context.Context, job Job, c *comm.Comm, env environment) (result []byte, err error) {
	err = errors.New("it ended its goroutine instead of returning")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
				fmt.Fprintf(env.stack, "%v\n\n%s", err, debug.Stack()) // if this fails, err is still returned
			}
		}()
		if o.CPU >= 0 {
			if failed := env.bind(o.CPU); failed != nil {
				err = fmt.Errorf("bind to CPU %d: %w: name a CPU that this process may use", o.CPU, failed)
				return
			}
		}
		result, err = job(ctx, c, o.Arg)
	}()
	<-done
	return result, err
}

// blameFor returns whose fault err is, in the view of the rank that got it. For a nil error
// it returns the constant `own`.
func blameFor(ctx context.Context, err error) blame {
	switch {
	case errors.Is(err, comm.ErrPeer), errors.Is(err, comm.ErrLost):
		return others
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		return others
	case errors.Is(err, comm.ErrClosed):
		return closers
	case errors.Is(err, comm.ErrTimeout):
		return late
	case errors.Is(err, comm.ErrDeadlock):
		return deadlocked
	}
	return own
}

// stopCause is the cause with which the context of a job ends. It holds the reason.
type stopCause string

func (s stopCause) Error() string { return "the run was stopped: " + string(s) }

// The launcher and a rank communicate through two pipes, in values of encoding/gob. The
// launcher sends an order and, if the rank must end early, a string with the reason. The
// rank sends reports.

// report is a message from the process of a rank. The kind of the last report is ended or
// failing.
type report struct {
	Kind   eventKind
	Result []byte // kind ended: the result of the job
	Failed string // kind failing: the text of the error
	Blame  blame  // kind failing
}

// output forwards the text that ranks write, one line of one rank at a time.
type output struct {
	mu     sync.Mutex
	to     io.Writer // nil discards everything
	failed error     // the first error; nothing is written after it
}

func (o *output) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed != nil {
		return fmt.Errorf("write what ranks print: %w", o.failed)
	}
	return nil
}

// longestLine is the length in bytes after which an incomplete line is written.
const longestLine = 64 << 10

// lines splits the output of one rank into lines. Write never returns an error, because a
// rank whose output fails would die.
type lines struct {
	*output
	prefix string
	part   []byte // the beginning of an incomplete line
}

// forRank returns a writer that splits the output of a rank into lines and writes them with
// the rank before each line.
func (o *output) forRank(rank int) *lines {
	return &lines{output: o, prefix: fmt.Sprintf("rank %d: ", rank)}
}

// Write collects the text of the rank and writes each line when it is complete or too long.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		l.part = append(l.part, line...)
		b = rest
		if whole || len(l.part) >= longestLine {
			l.writeLine()
		}
	}
	return n, nil
}

// flush writes the last line of the rank if the line is incomplete.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.writeLine()
	}
}

// writeLine writes the collected line after the prefix with the rank. The caller holds the
// lock of the output.
func (l *lines) writeLine() {
	text := fmt.Appendf(nil, "%s%s\n", l.prefix, l.part)
	l.part = l.part[:0]
	if l.to == nil || l.failed != nil {
		return
	}
	_, l.failed = l.to.Write(text)
}
