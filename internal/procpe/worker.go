package procpe

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/stack"
	"github.com/kernbench/kernbench/tl"
)

// Worker runs kernels of a session, one after the other. Workers of a session take turns:
// they switch where a kernel waits, or where a test of a signal returns false. A worker is
// a coroutine: its kernel runs inside Start and Resume, so only one kernel runs at a time.
type Worker struct {
	session *Session
	core    *core
	body    func(m tl.Machine)
	running bool
	waits   []comm.Condition // signals that the running kernel waits for
	locals  []localWait      // local conditions that it waits for; if both are empty, it can continue
	err     error

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// localWait is a condition that a kernel waits for and that other kernels of its rank make
// true.
type localWait struct {
	description string      // for errors
	peer        *queueEnd   // the peer whose kernel must act; nil if several can
	holds       func() bool // whether the condition is true
}

// String describes the condition. If the peer's kernel has ended, the text says so.
func (l localWait) String() string {
	if l.peer != nil && l.peer.ended {
		return fmt.Sprintf("%s (member %d has ended)", l.description, l.peer.member)
	}
	return l.description
}

// NewWorker creates a worker of the session. The worker has its own tiles, of at most
// Options.TileBytes.
func (s *Session) NewWorker() *Worker {
	s.mustBeOpen()
	w := &Worker{session: s}
	w.core = s.newCore(w.await)
	w.core.pause = w.pause
	w.next, w.stop = iter.Pull(w.runKernels)
	s.workers = append(s.workers, w)
	return w
}

// mustBeOpen panics if the session has ended.
func (s *Session) mustBeOpen() {
	if s.ended {
		panic(fmt.Sprintf("%s on %s has ended: Begin another session", s.name, s.rank.name()))
	}
}

// Start starts a kernel whose code is the function `body`, and runs it until it ends or
// waits, or until a test of a signal returns false. `kernel` is the name that errors use.
// Start panics if the worker runs another kernel or if the session has ended.
func (w *Worker) Start(kernel string, body func(m tl.Machine)) {
	w.session.mustBeOpen()
	if w.running {
		panic(fmt.Sprintf("%s cannot start: the worker runs %s, which has not ended", kernel, w.core.kernel))
	}
	w.core.kernel, w.body, w.running, w.err = kernel, body, true, nil
	w.next()
}

// Resume continues the kernel of the worker if the kernel waits for nothing, if a condition
// that it waits for is true, or if its wait has failed. Otherwise it does nothing. Resume
// runs the kernel until it ends or waits again, or until a test of a signal returns false.
func (w *Worker) Resume() {
	if !w.running {
		return
	}
	if i, err := w.ready(); i >= 0 || err != nil || w.isPolling() {
		w.next()
	}
}

// ready returns the index of the first condition that the kernel waits for and that is true
// now. The indices of w.locals follow those of w.waits. ready returns -1 if no condition is
// true.
func (w *Worker) ready() (int, error) {
	if i, err := w.session.rank.test(w.waits); i >= 0 || err != nil {
		return i, err
	}
	if i := slices.IndexFunc(w.locals, func(l localWait) bool { return l.holds() }); i >= 0 {
		return len(w.waits) + i, nil
	}
	return -1, nil
}

// isPolling reports whether the running kernel has paused after a test of a signal and does
// not wait for anything.
func (w *Worker) isPolling() bool { return len(w.waits) == 0 && len(w.locals) == 0 }

// Running reports whether a kernel of the worker has started and not ended. Outside Start
// and Resume, such a kernel waits or polls.
func (w *Worker) Running() bool { return w.running }

// Err returns the error of the last kernel that has ended on the worker. Like the error of
// [Rank.Launch], it is a *tl.Error.
func (w *Worker) Err() error { return w.err }

// runKernels runs the kernels that Start provides, one after another, as the body of the
// worker's coroutine.
func (w *Worker) runKernels(yield func(struct{}) bool) {
	w.yield = yield
	for more := true; more; more = yield(struct{}{}) {
		w.err = w.core.run(w.body)
		w.body, w.running = nil, false
	}
}

var errEnded = errors.New("the session ended while the kernel waited")

// pause returns control to the caller of Start or Resume once, without waiting for a
// condition. It returns errEnded if the session has ended.
func (w *Worker) pause() error {
	if !w.session.ended {
		w.waits, w.locals = nil, nil
		w.yield(struct{}{})
	}
	if w.session.ended {
		return errEnded
	}
	return nil
}

// await returns control to the caller of Start or Resume until one of `conditions` or
// `locals` is true, and returns the index of that condition. The indices of `locals` follow
// those of `conditions`. If the session ends first, await returns errEnded.
func (w *Worker) await(conditions []comm.Condition, locals ...localWait) (int, error) {
	w.waits, w.locals = conditions, locals
	for !w.session.ended {
		if i, err := w.ready(); i >= 0 || err != nil {
			return i, err
		}
		w.yield(struct{}{})
	}
	return 0, errEnded
}

// run runs `body`, the code of a kernel, to its end. Then it releases the tiles, scratch
// buffers and receives of the kernel. A panic of the kernel becomes an error. It is also an
// error if the kernel ends without having waited for the message of a RecvAsync.
func (c *core) run(body func(m tl.Machine)) (err error) {
	defer func() {
		if stopped := recover(); stopped != nil {
			err = c.toError(stopped)
		}
		c.clear()
	}()
	c.start = time.Now()
	body(c)
	return c.checkReceives()
}

// checkReceives returns an error if the kernel has called RecvAsync and has not waited for
// the message.
func (c *core) checkReceives() error {
	if len(c.receives) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(c.receives)), func(a, b tl.Handle) int { return cmp.Compare(a.N, b.N) })
	return &tl.Error{
		Kernel: c.kernel, PE: c.name(), Op: "RecvAsync", Shapes: c.receives[first].port.String(),
		Err: errors.New("the kernel ended without having waited for the message"),
	}
}

// clear releases the tiles, scratch buffers and receives of the kernel.
func (c *core) clear() {
	clear(c.receives)
	c.tiles.clear()
	clear(c.regions[c.tensors:])
	c.regions = c.regions[:c.tensors]
}

// toError converts `stopped`, the value that a kernel has panicked with, to an error. It
// must be called while the stack of the panic still exists.
func (c *core) toError(stopped any) error {
	if e, ok := stopped.(*tl.Error); ok {
		named := *e
		named.Kernel, named.PE = c.kernel, c.name() // errors of tl.Ptr have neither
		return &named
	}
	err, ok := stopped.(error)
	if !ok {
		err = errors.New(fmt.Sprint(stopped))
	}
	line, _ := stack.Line(string(debug.Stack()))
	return &tl.Error{Kernel: c.kernel, PE: c.name(), Op: "panic", Line: line, Err: err}
}
