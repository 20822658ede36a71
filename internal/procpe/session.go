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

// Session is a launch of any number of kernels, which the rank runs on workers with the
// same tensors and signals, without meeting the others again. One goroutine at a time
// uses it.
type Session struct {
	rank       *Rank
	name       string
	regions    []region // one for each tensor
	ptrs       []tl.Ptr // to them
	workers    []*Worker
	conditions []comm.Condition // of the last Wait
	ended      bool
}

// maxTensors is what the windows of pointers can tell apart.
const maxTensors = math.MaxInt16

// Begin meets the other ranks, which all begin the session, with signals that are 0. A
// rank has one session at a time: End it before the next, or before a Launch.
func (r *Rank) Begin(name string, tensors ...Tensor) (*Session, error) {
	s := &Session{rank: r, name: name}
	if err := s.begin(tensors); err != nil {
		return nil, r.refused(name, err)
	}
	return s, nil
}

func (s *Session) begin(tensors []Tensor) error {
	if open := s.rank.open; open != nil {
		return fmt.Errorf("%s is still going on, and its signals are in use: End it first", open.name)
	}
	if len(tensors) > maxTensors {
		return fmt.Errorf("%d tensors: %d are the most", len(tensors), maxTensors)
	}
	for i := range tensors {
		if err := s.argument(&tensors[i]); err != nil {
			return err
		}
	}
	if err := s.rank.meet(); err != nil {
		return err
	}
	s.rank.open = s
	return nil
}

// Pointer is the pointer to a tensor, by its index in Begin, that kernels use.
func (s *Session) Pointer(i int) tl.Ptr { return s.ptrs[i] }

// core makes a core for kernels, with tiles of its own.
func (s *Session) core(await func([]comm.Condition, ...local) (int, error)) *core {
	return &core{
		Rank: s.rank, await: await,
		regions: slices.Clip(s.regions), tensors: len(s.regions),
		tiles: tiles{limit: s.rank.options.TileBytes},
	}
}

// ErrDeadlock is that kernels wait for messages of each other, or of kernels that have ended.
var ErrDeadlock = errors.New("a deadlock, no kernel of the rank can go on")

// Wait waits until what one of some workers waits for is so: [Worker.Resume] then has it
// go on. It waits for nothing if one of them can go on already. Those that run no kernel
// don't count. It also ends when one of some further conditions is so. An error is comm's or
// ErrDeadlock, and says what workers wait for; Resume then has waits for signals fail too.
func (s *Session) Wait(workers []*Worker, also ...comm.Condition) error {
	s.conditions = append(s.conditions[:0], also...)
	locals := 0
	for _, w := range workers {
		if !w.running {
			continue
		}
		if w.polls() {
			runtime.Gosched() // what it asks for may be up to a rank that is a goroutine
			return nil
		}
		if slices.ContainsFunc(w.locals, func(l local) bool { return l.holds() }) {
			return nil
		}
		s.conditions = append(s.conditions, w.waits...)
		locals += len(w.locals)
	}
	err := ErrDeadlock // of this rank alone, where nothing waits for others
	switch {
	case len(s.conditions) > 0:
		_, err = s.rank.wait(s.conditions)
	case locals == 0:
		return errors.New("no worker waits for anything: Start a kernel instead")
	}
	if err != nil {
		return fmt.Errorf("%s on %s, where %s: %w", s.name, s.rank.name(), cmp.Or(waiting(workers), "no kernel runs"), err)
	}
	return nil
}

// waiting says what workers wait for: "a waits for signal 3 GE 1".
func waiting(workers []*Worker) string {
	var list []string
	for _, w := range workers {
		if !w.running {
			continue
		}
		signals := lists.Map(w.waits, func(c comm.Condition) string { return fmt.Sprintf("signal %d %v %d", c.Signal, c.Cmp, c.Value) })
		what := append(signals, lists.Map(w.locals, local.String)...)
		list = append(list, w.core.kernel+" waits for "+strings.Join(what, " or "))
	}
	return strings.Join(list, ", ")
}

// End ends the session: kernels that still wait, or ask for signals in vain, are unwound,
// by an error of what they do that in, and so of every further wait. No kernel may call it. A second End does
// nothing.
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
