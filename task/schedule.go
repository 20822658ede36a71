package task

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// schedule is how far the program of one rank has come under a runtime: what is in
// storage, what may run, what has ended. It knows no time: the simulated control cores
// and the real ranks both go by it.
type schedule struct {
	*Program
	runtime Runtime
	config  *Config
	before  [][]ID // dependencies, by task
	behind  [][]ID // the same from the other side

	next  ID      // the first task that is not submitted
	left  []int32 // dependencies of each task that have not ended
	ended []bool
	done  int       // tasks that have ended
	cause []ID      // whose end released each task, -1 if its submission did
	ready queue[ID] // in the order in which they became so
	held  int       // tasks in storage, of aicpu_build_graph
	// rings is, by depth of scope, the tasks in the order of submission without those that
	// have given their slots back, of tensormap_and_ringbuffer.
	rings []queue[ID]
}

// ScopeError is a scope that can never end: its tasks keep their slots until it does, and
// are more than its ring has.
type ScopeError struct {
	Rank  int
	Scope Scope
	Tasks int // of the scope that lie in its ring
	Slots int
	At    ID // the task that there is no slot for
	Line  string
}

func (e *ScopeError) Error() string {
	return fmt.Sprintf("rank %d: deadlock of %s: scope %q at %s has %d tasks, which keep their slots until it ends, and its ring has %d: task %d, submitted at %s, can never be; make the scope smaller, or raise tasks.%s.slots",
		e.Rank, TensorMapAndRingBuffer, e.Scope.Name, e.Scope.Line, e.Tasks, e.Slots, e.At, e.Line, TensorMapAndRingBuffer)
}

// TooMany is a graph that is larger than the storage of host_build_graph.
type TooMany struct{ Rank, Tasks, Limit int }

func (e *TooMany) Error() string {
	return fmt.Sprintf("rank %d has %d tasks, and %s keeps at most %d: take another runtime, or raise tasks.%[3]s.tasks",
		e.Rank, e.Tasks, HostBuildGraph, e.Limit)
}

// TooLarge is a group that is larger than its rank.
type TooLarge struct {
	Rank, Cores int
	ID          ID
	Task        *Task
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("rank %d: task %d (%s) at %s is a group of %d, and the rank has %d compute cores: make it smaller, or raise tasks.control.compute_cores",
		e.Rank, e.ID, e.Task.Name, e.Task.Line, e.Task.Members, e.Cores)
}

// fits is why a program can be known not to run on so many compute cores.
func (p *Program) fits(r Runtime, c *Config, cores int) error {
	if n := len(p.Tasks); r == HostBuildGraph && n > c.Host.Tasks {
		return &TooMany{p.Rank, n, c.Host.Tasks}
	}
	for i := range p.Tasks {
		if t := &p.Tasks[i]; t.Members > cores {
			return &TooLarge{p.Rank, cores, ID(i), t}
		}
	}
	return nil
}

// newSchedule begins a program on a rank with so many compute cores.
func newSchedule(p *Program, r Runtime, c *Config, cores int) (*schedule, error) {
	if err := p.fits(r, c, cores); err != nil {
		return nil, err
	}
	n := len(p.Tasks)
	s := &schedule{
		Program: p, runtime: r, config: c, before: p.Dependencies(r.infers()), behind: make([][]ID, n),
		left: make([]int32, n), ended: make([]bool, n), cause: slices.Repeat([]ID{-1}, n), rings: make([]queue[ID], c.TensorMap.Rings),
	}
	for id, list := range s.before {
		for _, b := range list {
			s.behind[b] = append(s.behind[b], ID(id))
		}
	}
	return s, nil
}

// submitted reports whether all tasks have been.
func (s *schedule) submitted() bool { return int(s.next) == len(s.Tasks) }

// over reports whether all tasks have ended.
func (s *schedule) over() bool { return s.done == len(s.Tasks) }

// room reports whether there is storage for the next task, of which there is one. An
// error means that there never will be.
func (s *schedule) room() (bool, error) {
	switch s.runtime {
	case AICPUBuildGraph:
		return s.held < s.config.AICPU.Tasks, nil
	case TensorMapAndRingBuffer:
		t, slots := &s.Tasks[s.next], s.config.TensorMap.Slots
		r := s.ring(t)
		for r.len() > 0 && s.ended[r.at(0)] && !s.open(r.at(0)) {
			r.pop()
		}
		if r.len() < slots {
			return true, nil
		}
		if oldest := r.at(0); s.open(oldest) {
			return false, s.tooLarge(oldest, slots)
		}
		return false, nil
	}
	return true, nil
}

// tooLarge is the error of the scope that the oldest task in a full ring is in: all that
// has come since is of that scope.
func (s *schedule) tooLarge(oldest ID, slots int) error {
	scope := s.Scopes[s.Tasks[oldest].Scope]
	e := &ScopeError{Rank: s.Rank, Scope: scope, Slots: slots, At: s.next, Line: s.Tasks[s.next].Line}
	for id := oldest; id < scope.End; id++ {
		if s.ring(&s.Tasks[id]) == s.ring(&s.Tasks[oldest]) {
			e.Tasks++
		}
	}
	return e
}

func (s *schedule) ring(t *Task) *queue[ID] { return &s.rings[min(int(t.Depth), len(s.rings)-1)] }

// open reports whether the scope of a task has not ended yet: more tasks of it are to be
// submitted.
func (s *schedule) open(id ID) bool {
	scope := s.Tasks[id].Scope
	return scope >= 0 && s.Scopes[scope].End > s.next
}

// submit puts the next task into storage. It is ready if all it waits for has ended.
func (s *schedule) submit() ID {
	id := s.next
	s.next++
	s.held++
	for _, b := range s.before[id] {
		if !s.ended[b] {
			s.left[id]++
		}
	}
	if s.left[id] == 0 {
		s.ready.push(id)
	}
	if s.runtime == TensorMapAndRingBuffer {
		s.ring(&s.Tasks[id]).push(id)
	}
	return id
}

// take is the next task that may run, if so many compute cores are free. The first of
// those that are ready is the only one: a group for which there are too few waits, and
// all behind it do, so that it holds no core and nobody overtakes it for ever.
func (s *schedule) take(free int) (ID, bool) {
	if s.ready.len() == 0 || s.Tasks[s.ready.at(0)].Members > free {
		return 0, false
	}
	return s.ready.pop(), true
}

// end notes that a task has ended, and what that releases.
func (s *schedule) end(id ID) {
	s.ended[id] = true
	s.done++
	s.held--
	for _, a := range s.behind[id] {
		if a >= s.next {
			break // it is not submitted yet
		}
		if s.left[a]--; s.left[a] == 0 {
			s.cause[a] = id
			s.ready.push(a)
		}
	}
}

// Check is why a program can be known not to run under a runtime, before anything does:
// it has more tasks than there is room for, or a group larger than the rank.
func (p *Program) Check(o Options) error {
	c := o.Config
	if c == nil {
		c = Default()
	}
	return p.fits(o.Runtime, c, cmp.Or(c.Control.ComputeCores, math.MaxInt))
}
