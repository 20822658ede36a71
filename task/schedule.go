package task

import (
	"math/bits"
	"slices"
)

// schedule is how far the program of one rank has come under a runtime: what is in
// storage, what may run, what has ended. It knows no time: the simulated control cores
// and the real ranks both go by it.
type schedule struct {
	*Program
	*fitting
	dependencies
	behind [][]ID // by task: those that wait for it

	next   ID        // the first task that is not submitted
	passed int       // pauses of the orchestration whose values the rank has
	left   []int32   // dependencies of each task that have not ended, as far as the rank knows
	active []int32   // members of each task that have started and not ended, as far as the rank knows
	done   int       // tasks that have ended
	cause  []Ref     // whose end released each task, of rank -1 if its submission did
	ready  queue[ID] // in the order in which they became so; those that have started are stale
	turn
	held int // tasks in storage, of aicpu_build_graph
	// rings is, by depth of scope, the tasks in the order of submission without those that
	// have given their slots back, of tensormap_and_ringbuffer.
	rings []queue[ID]
	across
}

// newSchedule begins a program that fits.
func newSchedule(p *Program, f *fitting) *schedule {
	s := &schedule{
		Program: p, fitting: f, dependencies: newDependencies(f.runtime.infers()),
		rings:  make([]queue[ID], f.config.TensorMap.Rings),
		across: across{known: map[Ref]bool{}, waiting: map[Ref][]ID{}, outward: map[ID][]int{}, gates: map[int]bool{}},
	}
	s.add()
	return s
}

// grow adds the tasks that the orchestration has recorded since, if there is room for them.
func (s *schedule) grow() error {
	err := s.fitting.extend(s.Program)
	if err == nil {
		s.add()
	}
	return err
}

// add takes the tasks into account that the orchestration has recorded since.
func (s *schedule) add() {
	old, n := len(s.left), len(s.Tasks)
	s.dependencies.extend(s.Program)
	s.behind = append(s.behind, make([][]ID, n-old)...)
	s.left, s.active = append(s.left, make([]int32, n-old)...), append(s.active, make([]int32, n-old)...)
	s.cause = append(s.cause, slices.Repeat([]Ref{{Rank: -1}}, n-old)...)
	s.turn.grow(s.Program)
	for id := ID(old); int(id) < n; id++ {
		for _, b := range s.before[id] {
			s.behind[b] = append(s.behind[b], id)
		}
		for _, t := range s.Tasks[id].across(s.inferred) {
			s.waiting[t] = append(s.waiting[t], id)
		}
	}
}

// submitted reports whether all tasks have been that are recorded up to the next value.
func (s *schedule) submitted() bool {
	return int(s.next) == s.recordedUntil(s.passed).tasks
}

// over reports whether all tasks have ended, and none will follow.
func (s *schedule) over() bool {
	return s.done == len(s.Tasks) && s.recorded() && !s.waits(s.passed)
}

// room reports whether there is storage for the next task, of which there is one. If there
// is none there will be: the program fits.
func (s *schedule) room() bool {
	switch s.runtime {
	case AICPUBuildGraph:
		return s.held < s.config.AICPU.Tasks
	case TensorMapAndRingBuffer:
		r := s.ring(s.next)
		for r.len() > 0 && s.ended[r.at(0)] && !s.open(r.at(0), s.next) {
			r.pop()
		}
		return r.len() < s.config.TensorMap.Slots
	}
	return true
}

// ring returns the one that a task lies in.
func (s *schedule) ring(id ID) *queue[ID] { return &s.rings[s.depth(id, len(s.rings))] }

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
	for _, t := range s.Tasks[id].across(s.inferred) {
		if !s.known[t] {
			s.left[id]++
		}
	}
	if s.left[id] == 0 {
		s.ready.push(id)
	}
	if s.runtime == TensorMapAndRingBuffer {
		s.ring(id).push(id)
	}
	return id
}

// take returns the next task that may run, if so many compute cores are free: the first of
// those that are ready, or else the oldest of all that have not started.
func (s *schedule) take(free int) (ID, bool) {
	for s.ready.len() > 0 && s.started[s.ready.at(0)] {
		s.ready.pop()
	}
	if s.ready.len() == 0 {
		return 0, false
	}
	id := s.ready.at(0)
	if !s.may(id, free) {
		if id = s.oldest; id >= s.next || s.left[id] > 0 || !s.may(id, free) {
			return 0, false
		}
	}
	s.start(id)
	s.active[id] = int32(s.Tasks[id].Members)
	return id, true
}

// may reports whether a task may start, if so many compute cores are free.
func (s *schedule) may(id ID, free int) bool {
	n := s.Tasks[id].Members
	return n <= free && (id == s.oldest || s.younger+n+s.largest.before(int(id)) <= s.cores)
}

// readyNow returns how many tasks are ready.
func (s *schedule) readyNow() (n int) {
	for i := range s.ready.len() {
		if !s.started[s.ready.at(i)] {
			n++
		}
	}
	return n
}

// endMember notes that a member of a task has ended. With the last one the task has, and
// messages about that are due.
func (s *schedule) endMember(id ID) (last bool) {
	if s.active[id]--; s.active[id] > 0 {
		return false
	}
	s.end(id)
	s.postEnd(id)
	return true
}

// end notes that a task has ended, and what that releases.
func (s *schedule) end(id ID) {
	s.leave(id)
	s.done++
	s.held--
	s.unblock(s.behind[id], Ref{int32(s.Rank), id})
}

// unblock notes that a task has ended which others of the rank wait for.
func (s *schedule) unblock(behind []ID, by Ref) {
	for _, a := range behind {
		if a >= s.next {
			break // it is not submitted yet
		}
		if s.left[a]--; s.left[a] == 0 {
			s.cause[a] = by
			s.ready.push(a)
		}
	}
}

// queue is first in first out.
type queue[T any] struct {
	list  []T
	first int
}

func (q *queue[T]) len() int { return len(q.list) - q.first }

// at returns the i-th from the front.
func (q *queue[T]) at(i int) T { return q.list[q.first+i] }

func (q *queue[T]) push(x T) { q.list = append(q.list, x) }

// pop removes the front one.
func (q *queue[T]) pop() T {
	x := q.list[q.first]
	if q.first++; q.first > len(q.list)/2 {
		q.list, q.first = append(q.list[:0], q.list[q.first:]...), 0
	}
	return x
}

// freeCores is a set of compute cores, of which the first can be taken.
type freeCores struct {
	n     int
	words []uint64
}

// newFreeCores returns the cores from 0 to before n.
func newFreeCores(n int) freeCores {
	f := freeCores{words: make([]uint64, (n+63)/64)}
	for core := range n {
		f.put(core)
	}
	return f
}

func (f *freeCores) put(core int) {
	f.words[core/64] |= 1 << (core % 64)
	f.n++
}

// take removes the first, of which there is one.
func (f *freeCores) take() int {
	f.n--
	for i, w := range f.words {
		if w != 0 {
			f.words[i] = w & (w - 1)
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	panic("task: no compute core is free")
}
