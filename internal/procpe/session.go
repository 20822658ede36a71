package procpe

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
)

// Session is a launch of any number of kernels. The rank runs them on workers with the same
// tensors and signals, without another barrier with other ranks. Only one goroutine may use
// it at a time.
type Session struct {
	rank       *Rank
	name       string
	regions    []region // one for each tensor
	ptrs       []tl.Ptr // pointers to the tensors
	workers    []*Worker
	conditions []comm.Condition // conditions of the last Wait, kept for reuse
	ended      bool
}

// maxTensors is the largest number of tensors, which the type of tl.Ptr.Window limits.
const maxTensors = math.MaxInt16

// Begin starts a session with the given tensors. It waits until all ranks have begun
// theirs. All signals are 0 at first. A rank has one session at a time and must End it
// before the next Begin or Launch.
func (r *Rank) Begin(name string, tensors ...Tensor) (*Session, error) {
	s := &Session{rank: r, name: name}
	if err := s.begin(tensors); err != nil {
		return nil, r.launchError(name, err)
	}
	return s, nil
}

// begin adds the tensors to the session, waits for the other ranks and makes s the open
// session of the rank. It returns an error if another session is open, if there are too
// many tensors, or if a tensor is not valid.
func (s *Session) begin(tensors []Tensor) error {
	if open := s.rank.open; open != nil {
		return fmt.Errorf("%s is still going on, and its signals are in use: End it first", open.name)
	}
	if len(tensors) > maxTensors {
		return fmt.Errorf("%d tensors: %d are the most", len(tensors), maxTensors)
	}
	for i := range tensors {
		if err := s.addTensor(&tensors[i]); err != nil {
			return err
		}
	}
	if err := s.rank.synchronize(); err != nil {
		return err
	}
	s.rank.open = s
	return nil
}

// Pointer returns the pointer that kernels use for tensor i of the list given to Begin.
func (s *Session) Pointer(i int) tl.Ptr { return s.ptrs[i] }

// newCore creates a core that runs kernels of the session, with its own tiles. The core
// calls `await` when a kernel waits.
func (s *Session) newCore(await func([]comm.Condition, ...localWait) (int, error)) *core {
	return &core{
		Rank: s.rank, await: await,
		regions: slices.Clip(s.regions), tensors: len(s.regions),
		tiles: tiles{limit: s.rank.options.TileBytes},
	}
}

// ErrDeadlock is the error of kernels that can never continue. They wait for messages of
// each other, or for messages of kernels that have already ended.
var ErrDeadlock = errors.New("a deadlock, no kernel of the rank can continue")

// Wait waits until at least one of the workers can continue, or until one of the conditions
// in `also` is true. [Worker.Resume] then continues the kernel of the worker. Wait ignores
// workers that run no kernel. It returns an error if there is nothing to wait for.
//
// If the wait fails, the error says what the workers wait for, and wraps ErrDeadlock or an
// error of comm. After an error of comm, a kernel that waits for a signal fails too when
// Resume continues it.
func (s *Session) Wait(workers []*Worker, also ...comm.Condition) error {
	s.conditions = append(s.conditions[:0], also...)
	locals := 0
	for _, w := range workers {
		if !w.running {
			continue
		}
		if w.isPolling() {
			runtime.Gosched() // the rank that changes the signal may be another goroutine
			return nil
		}
		if slices.ContainsFunc(w.locals, func(l localWait) bool { return l.holds() }) {
			return nil
		}
		s.conditions = append(s.conditions, w.waits...)
		locals += len(w.locals)
	}
	err := ErrDeadlock // if no kernel waits for a signal, which other ranks could change
	switch {
	case len(s.conditions) > 0:
		_, err = s.rank.wait(s.conditions)
	case locals == 0:
		return errors.New("no worker waits for anything: Start a kernel instead")
	}
	if err != nil {
		return fmt.Errorf("%s on %s, where %s: %w", s.name, s.rank.name(), cmp.Or(describeWaits(workers), "no kernel runs"), err)
	}
	return nil
}

// describeWaits returns a text that says what each running worker waits for, such as "a
// waits for signal 3 GE 1".
func describeWaits(workers []*Worker) string {
	var lines []string
	for _, w := range workers {
		if !w.running {
			continue
		}
		signals := lists.Map(w.waits, func(c comm.Condition) string { return fmt.Sprintf("signal %d %v %d", c.Signal, c.Cmp, c.Value) })
		conditions := append(signals, lists.Map(w.locals, localWait.String)...)
		lines = append(lines, w.core.kernel+" waits for "+strings.Join(conditions, " or "))
	}
	return strings.Join(lines, ", ")
}

// End ends the session. It unwinds kernels that still wait or poll: the operation that
// waits or polls returns an error, and so does every later wait of the kernel. A kernel
// must not call End. A second End does nothing.
func (s *Session) End() {
	if s.ended {
		return
	}
	s.ended = true
	for _, w := range s.workers {
		w.stop()
	}
	s.workers = nil
	s.rank.open = nil
}
