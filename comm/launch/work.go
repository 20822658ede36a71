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

// outcome is how a rank's part of a run ended.
type outcome struct {
	result []byte
	err    error
	blame  blame // for err
}

// blame is whose fault a failure is, as far as the rank that failed can tell.
type blame uint8

const (
	own        blame = iota
	deadlocked       // nobody's: all ranks wait
	late             // others', which it has waited for too long
	closers          // others have closed the communicator, perhaps with good reason
	others           // have failed, or want the run to stop
	killed           // so, and it did not stop by itself
	running          // so, and it has not stopped at all
)

// desk is where a rank works: what differs between processes and goroutines.
type desk struct {
	backend, rendezvous string
	bind                func(cpu int) error // the goroutine that calls it, at least
	opened              func()              // the rank has met the others
	stack               io.Writer           // for the stack of a panic
}

// work does a rank's job, with the communicator open.
func (o order) work(ctx context.Context, d desk) outcome {
	job, err := findJob(o.Job)
	if err != nil {
		return outcome{err: err}
	}
	// The launcher sees to it that all start, which may take longer than an operation.
	c, err := comm.Open(ctx, o.Rank, o.Ranks, d.rendezvous, comm.Options{Backend: d.backend})
	if err != nil {
		return outcome{err: err, blame: blameFor(ctx, err)}
	}
	c.SetTimeout(o.Timeout)
	d.opened()
	result, err := o.call(ctx, job, c, d)
	if err != nil {
		// A job need not wrap what it was told: what poisoned the communicator counts.
		whose := max(blameFor(ctx, err), blameFor(ctx, c.Err()))
		c.Abort(err) // returns what it is told
		c.Close()    // what went wrong with it is not why the rank failed
		return outcome{err: err, blame: whose}
	}
	if err := c.Close(); err != nil {
		return outcome{err: err}
	}
	return outcome{result: result}
}

// call runs the job on a goroutine of its own, so that whatever ends that is noticed.
func (o order) call(ctx context.Context, job Job, c *comm.Comm, d desk) (result []byte, err error) {
	err = errors.New("it ended its goroutine instead of returning")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
				fmt.Fprintf(d.stack, "%v\n\n%s", err, debug.Stack()) // if it cannot be written, err is still told
			}
		}()
		if o.CPU >= 0 {
			if failed := d.bind(o.CPU); failed != nil {
				err = fmt.Errorf("bind to CPU %d: %w: name a CPU that this process may use", o.CPU, failed)
				return
			}
		}
		result, err = job(ctx, c, o.Arg)
	}()
	<-done
	return result, err
}

// blameFor is whom an error blames: nobody else if it is nil.
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

// stopped is the cause with which a job's context ends.
type stopped string

func (s stopped) Error() string { return "the run was stopped: " + string(s) }

// Launcher and rank talk over two pipes, in values of encoding/gob. The launcher sends an
// order and, if the rank is to end early, a string with the reason. The rank sends reports.

// report is an event of a rank's process, as the process tells it. Its last report is of
// kind ended or failing.
type report struct {
	Kind   eventKind
	Result []byte // of ended
	Failed string // of failing: the text of the error
	Blame  blame  // of failing
}

// output passes on what ranks write, a line of one rank at a time.
type output struct {
	mu     sync.Mutex
	to     io.Writer // nil drops everything
	failed error     // the first; nothing is written after it
}

func (o *output) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed != nil {
		return fmt.Errorf("write what ranks print: %w", o.failed)
	}
	return nil
}

// longestLine is where one without an end is cut.
const longestLine = 64 << 10

// lines is the output of one rank. A rank never learns that it could not be written:
// it would die of that.
type lines struct {
	*output
	prefix string
	part   []byte // of a line, not yet complete
}

func (o *output) of(rank int) *lines {
	return &lines{output: o, prefix: fmt.Sprintf("rank %d: ", rank)}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		l.part = append(l.part, line...)
		b = rest
		if whole || len(l.part) >= longestLine {
			l.pass()
		}
	}
	return n, nil
}

// flush passes on what is there of a last line.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.pass()
	}
}

func (l *lines) pass() {
	text := fmt.Appendf(nil, "%s%s\n", l.prefix, l.part)
	l.part = l.part[:0]
	if l.to == nil || l.failed != nil {
		return
	}
	_, l.failed = l.to.Write(text)
}
