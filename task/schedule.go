package task

import (
	"math/bits"
	"slices"
)

// schedule is the state of one rank's program under a runtime: which tasks are stored,
// which may run, and which have ended. It has no times: the simulated control cores and the
// real ranks both use it.
type schedule struct {
	*Program
	*limits
	dependencies
	successors [][]ID // by task: the tasks of the rank that wait for it

	next      ID        // the first task that is not submitted
	passed    int       // number of pauses of the orchestration whose values the rank has
	pending   []int32   // by task: dependencies that have not ended, as far as the rank knows
	active    []int32   // by task: members that have started and not ended, as far as the rank knows
	numEnded  int       // number of tasks that have ended
	releasers []Ref     // by task: the task whose end made it ready; Rank is -1 if its submission did
	ready     queue[ID] // tasks in the order in which they became ready; may contain tasks that have started
	coreReservation
	stored int // number of tasks in storage, for aicpu_build_graph
	// rings are the task rings of tensormap_and_ringbuffer, by depth of scope. Each has the
	// tasks that hold a slot, in the order of submission.
	rings []queue[ID]
	remoteEdges
}

// newSchedule returns the initial state of program p. f checks that p fits into the storage
// and the compute cores of the rank.
func newSchedule(p *Program, f *limits) *schedule {
	s := &schedule{
		Program: p, limits: f, dependencies: newDependencies(f.runtime.infers()),
		rings:       make([]queue[ID], f.config.TensorMap.Rings),
		remoteEdges: remoteEdges{known: map[Ref]bool{}, waiting: map[Ref][]ID{}, receivers: map[ID][]int{}, valuesReceived: map[int]bool{}},
	}
	s.addTasks()
	return s
}

// grow adds the tasks that the orchestration has recorded since the last call. It returns
// an error if these tasks do not fit into the storage or the compute cores of the rank.
func (s *schedule) grow() error {
	err := s.limits.extend(s.Program)
	if err == nil {
		s.addTasks()
	}
	return err
}

// addTasks adds the tasks that the orchestration has recorded since the last call. Unlike
// grow, it does not check whether these tasks fit into the storage and the compute cores of
// the rank.
func (s *schedule) addTasks() {
	old, n := len(s.pending), len(s.Tasks)
	s.dependencies.extend(s.Program)
	s.successors = append(s.successors, make([][]ID, n-old)...)
	s.pending, s.active = append(s.pending, make([]int32, n-old)...), append(s.active, make([]int32, n-old)...)
	s.releasers = append(s.releasers, slices.Repeat([]Ref{{Rank: -1}}, n-old)...)
	s.coreReservation.grow(s.Program)
	for id := ID(old); int(id) < n; id++ {
		for _, b := range s.predecessors[id] {
			s.successors[b] = append(s.successors[b], id)
		}
		for _, t := range s.Tasks[id].remoteDependencies(s.inferred) {
			s.waiting[t] = append(s.waiting[t], id)
		}
	}
}

// submitted reports whether the orchestration's tasks up to its next pause have all been
// submitted. A pause is a call of Value.
func (s *schedule) submitted() bool {
	return int(s.next) == s.recordedUntil(s.passed).tasks
}

// allEnded reports whether all tasks have ended and no more will follow.
func (s *schedule) allEnded() bool {
	return s.numEnded == len(s.Tasks) && s.allRecorded() && !s.hasPause(s.passed)
}

// hasSpace reports whether there is storage for the next task. There must be a next task.
// If there is no space now, there will be later, because the program fits into the storage.
func (s *schedule) hasSpace() bool {
	switch s.runtime {
	case AICPUBuildGraph:
		return s.stored < s.config.AICPU.Tasks
	case TensorMapAndRingBuffer:
		r := s.ring(s.next)
		for r.len() > 0 && s.ended[r.at(0)] && !s.scopeOpen(r.at(0), s.next) {
			r.pop()
		}
		return r.len() < s.config.TensorMap.Slots
	}
	return true
}

// ring returns the task ring that stores task id.
func (s *schedule) ring(id ID) *queue[ID] { return &s.rings[s.ringIndex(id, len(s.rings))] }

// submit stores the next task and returns its index. The task is ready if every task that
// it waits for has ended.
func (s *schedule) submit() ID {
	id := s.next
	s.next++
	s.stored++
	for _, b := range s.predecessors[id] {
		if !s.ended[b] {
			s.pending[id]++
		}
	}
	for _, t := range s.Tasks[id].remoteDependencies(s.inferred) {
		if !s.known[t] {
			s.pending[id]++
		}
	}
	if s.pending[id] == 0 {
		s.ready.push(id)
	}
	if s.runtime == TensorMapAndRingBuffer {
		s.ring(id).push(id)
	}
	return id
}

// takeTask starts a task that may run with the given number of free compute cores. It
// returns the task, and reports whether it started one. It first tries the first ready
// task. If that task may not start, takeTask tries the oldest task that has not started, if
// that task is ready.
func (s *schedule) takeTask(free int) (ID, bool) {
	for s.ready.len() > 0 && s.started[s.ready.at(0)] {
		s.ready.pop()
	}
	if s.ready.len() == 0 {
		return 0, false
	}
	id := s.ready.at(0)
	if !s.canStart(id, free) {
		if id = s.oldest; id >= s.next || s.pending[id] > 0 || !s.canStart(id, free) {
			return 0, false
		}
	}
	s.markStarted(id)
	s.active[id] = int32(s.Tasks[id].Members)
	return id, true
}

// canStart reports whether task id may start with the given number of free compute cores.
// If older tasks have not started, task id must leave enough cores for each of them.
func (s *schedule) canStart(id ID, free int) bool {
	n := s.Tasks[id].Members
	return n <= free && (id == s.oldest || s.youngerCores+n+s.largest.maxBefore(int(id)) <= s.cores)
}

// countReady returns the number of ready tasks.
func (s *schedule) countReady() (n int) {
	for i := range s.ready.len() {
		if !s.started[s.ready.at(i)] {
			n++
		}
	}
	return n
}

// endMember records that a member of task id has ended, and reports whether it was the last
// member. When the last member ends, the task ends, and the messages that report this to
// other ranks are due.
func (s *schedule) endMember(id ID) (last bool) {
	if s.active[id]--; s.active[id] > 0 {
		return false
	}
	s.end(id)
	s.postEnd(id)
	return true
}

// end records that task id has ended, and unblocks the tasks of the rank that wait for it.
func (s *schedule) end(id ID) {
	s.markEnded(id)
	s.numEnded++
	s.stored--
	s.unblock(s.successors[id], Ref{int32(s.Rank), id})
}

// unblock records that task `by` has ended. Each of the given successors depends on task
// `by`. A successor without other pending dependencies becomes ready.
func (s *schedule) unblock(successors []ID, by Ref) {
	for _, a := range successors {
		if a >= s.next {
			break // this task and the later ones are not submitted yet
		}
		if s.pending[a]--; s.pending[a] == 0 {
			s.releasers[a] = by
			s.ready.push(a)
		}
	}
}

// queue is a first-in, first-out queue.
type queue[T any] struct {
	list  []T
	first int
}

func (q *queue[T]) len() int { return len(q.list) - q.first }

// at returns the i-th item of the queue, counted from the front.
func (q *queue[T]) at(i int) T { return q.list[q.first+i] }

func (q *queue[T]) push(x T) { q.list = append(q.list, x) }

// pop removes and returns the item at the front.
func (q *queue[T]) pop() T {
	x := q.list[q.first]
	if q.first++; q.first > len(q.list)/2 {
		q.list, q.first = append(q.list[:0], q.list[q.first:]...), 0
	}
	return x
}

// freeCores is the set of free compute cores.
type freeCores struct {
	n     int
	words []uint64
}

// newFreeCores returns the set of the cores from 0 to n-1.
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

// take removes and returns the core with the lowest number. The set must not be empty.
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
