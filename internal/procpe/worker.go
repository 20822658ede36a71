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

// Worker runs kernels of a session, one after the other, beside those of other workers:
// where a kernel waits, or asks for a signal in vain, others go on. It is a coroutine: a
// kernel runs inside of Start and Resume, and so one at a time.
type Worker struct {
	session *Session
	core    *core
	body    func(m tl.Machine)
	running bool
	waits   []comm.Condition // what a kernel that runs waits for; nothing if it can go on
	locals  []local
	err     error

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// local is something that a kernel waits for, and that other kernels of its rank bring about.
type local struct {
	what  string // for reports
	peer  *end   // whose kernel has to do something; nil if there are several
	holds func() bool
}

// String describes the wait, and says if it is in vain.
func (l local) String() string {
	if l.peer != nil && l.peer.ended {
		return fmt.Sprintf("%s (member %d has ended)", l.what, l.peer.member)
	}
	return l.what
}

// Worker makes a worker, with TileBytes for tiles of its own.
func (s *Session) Worker() *Worker {
	s.mustGoOn()
	w := &Worker{session: s}
	w.core = s.core(w.await)
	w.core.pause = w.pause
	w.next, w.stop = iter.Pull(w.serve)
	s.workers = append(s.workers, w)
	return w
}

func (s *Session) mustGoOn() {
	if s.ended {
		panic(fmt.Sprintf("%s on %s has ended: Begin another session", s.name, s.rank.name()))
	}
}

// Start begins a kernel, which errors name, and runs it until it ends or waits, or has
// asked for a signal in vain. The worker must not be running one.
func (w *Worker) Start(kernel string, body func(m tl.Machine)) {
	w.session.mustGoOn()
	if w.running {
		panic(fmt.Sprintf("%s cannot start: the worker runs %s, which has not ended", kernel, w.core.kernel))
	}
	w.core.kernel, w.body, w.running, w.err = kernel, body, true, nil
	w.next()
}

// Resume lets a kernel go on, as far as Start does, if it waits for nothing, or what it
// waits for is so or can no longer be.
func (w *Worker) Resume() {
	if !w.running {
		return
	}
	if i, err := w.ready(); i >= 0 || err != nil || w.polls() {
		w.next()
	}
}

// ready returns the index of the first of the things that the kernel waits for that is so
// now, -1 if none is.
func (w *Worker) ready() (int, error) {
	if i, err := w.session.rank.test(w.waits); i >= 0 || err != nil {
		return i, err
	}
	if i := slices.IndexFunc(w.locals, func(l local) bool { return l.holds() }); i >= 0 {
		return len(w.waits) + i, nil
	}
	return -1, nil
}

// polls reports whether a kernel that runs can go on: it asks, and does not wait.
func (w *Worker) polls() bool { return len(w.waits) == 0 && len(w.locals) == 0 }

// Running reports whether a kernel has started and not ended: it waits, or it asks for
// signals and can go on.
func (w *Worker) Running() bool { return w.running }

// Err is the error of the last kernel, if it has ended: a *tl.Error, as of
// [Rank.Launch].
func (w *Worker) Err() error { return w.err }

// serve is the coroutine.
func (w *Worker) serve(yield func(struct{}) bool) {
	w.yield = yield
	for more := true; more; more = yield(struct{}{}) {
		w.err = w.core.run(w.body)
		w.body, w.running = nil, false
	}
}

var errEnded = errors.New("the session ended while the kernel waited")

// pause lets the rank do something else, once.
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

// await lets the rank do something else until one of some conditions is so.
func (w *Worker) await(conditions []comm.Condition, locals ...local) (int, error) {
	w.waits, w.locals = conditions, locals
	for !w.session.ended {
		if i, err := w.ready(); i >= 0 || err != nil {
			return i, err
		}
		w.yield(struct{}{})
	}
	return 0, errEnded
}

// run runs a kernel to its end, and ends what it leaves.
func (c *core) run(body func(m tl.Machine)) (err error) {
	defer func() {
		if stopped := recover(); stopped != nil {
			err = c.failure(stopped)
		}
		c.clear()
	}()
	c.began = time.Now()
	body(c)
	return c.unwaited()
}

// unwaited returns the error of a kernel that has not waited for a message it asked for.
func (c *core) unwaited() error {
	if len(c.receives) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(c.receives)), func(a, b tl.Handle) int { return cmp.Compare(a.N, b.N) })
	return &tl.Error{
		Kernel: c.kernel, PE: c.name(), Op: "RecvAsync", Shapes: c.receives[first].port.String(),
		Err: errors.New("the kernel ended without having waited for the message"),
	}
}

// clear ends tiles, scratch and receives.
func (c *core) clear() {
	clear(c.receives)
	c.tiles.clear()
	clear(c.regions[c.tensors:])
	c.regions = c.regions[:c.tensors]
}

// failure is the error of a kernel that panicked. It is called while the stack of the
// panic is there.
func (c *core) failure(stopped any) error {
	if e, ok := stopped.(*tl.Error); ok {
		said := *e
		said.Kernel, said.PE = c.kernel, c.name() // a pointer's misuse has neither
		return &said
	}
	err, ok := stopped.(error)
	if !ok {
		err = errors.New(fmt.Sprint(stopped))
	}
	line, _ := stack.Line(string(debug.Stack()))
	return &tl.Error{Kernel: c.kernel, PE: c.name(), Op: "panic", Line: line, Err: err}
}
