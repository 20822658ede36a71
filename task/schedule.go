package task

import (
	"slices"
)

// schedule is how far the program of one rank has come under a runtime: what is in
// storage, what may run, what has ended. It knows no time: the simulated control cores
// and the real ranks both go by it.
type schedule struct {
	*Program
	runtime Runtime
	config  *Config
	cores   int    // compute cores
	before  [][]ID // dependencies, by task
	behind  [][]ID // the same from the other side

	next  ID        // the first task that is not submitted
	left  []int32   // dependencies of each task that have not ended
	done  int       // tasks that have ended
	cause []ID      // whose end released each task, -1 if its submission did
	ready queue[ID] // in the order in which they became so; those that have started are stale
	turn
	held int // tasks in storage, of aicpu_build_graph
	// rings is, by depth of scope, the tasks in the order of submission without those that
	// have given their slots back, of tensormap_and_ringbuffer.
	rings []queue[ID]
}

// newSchedule begins a program that fits on so many compute cores.
func newSchedule(p *Program, r Runtime, c *Config, cores int) *schedule {
	n := len(p.Tasks)
	s := &schedule{
		Program: p, runtime: r, config: c, cores: cores, turn: newTurn(p), before: p.Dependencies(r.infers()), behind: make([][]ID, n),
		left: make([]int32, n), cause: slices.Repeat([]ID{-1}, n), rings: make([]queue[ID], c.TensorMap.Rings),
	}
	for id, list := range s.before {
		for _, b := range list {
			s.behind[b] = append(s.behind[b], ID(id))
		}
	}
	return s
}

// submitted reports whether all tasks have been.
func (s *schedule) submitted() bool { return int(s.next) == len(s.Tasks) }

// over reports whether all tasks have ended.
func (s *schedule) over() bool { return s.done == len(s.Tasks) }

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

// ring is the one that a task lies in.
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
	if s.left[id] == 0 {
		s.ready.push(id)
	}
	if s.runtime == TensorMapAndRingBuffer {
		s.ring(id).push(id)
	}
	return id
}

// take is the next task that may run, if so many compute cores are free: the first of
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
	return id, true
}

// may reports whether a task may start, if so many compute cores are free.
func (s *schedule) may(id ID, free int) bool {
	n := s.Tasks[id].Members
	return n <= free && (id == s.oldest || s.younger+n+s.largest.before(int(id)) <= s.cores)
}

// readyNow is how many tasks are ready.
func (s *schedule) readyNow() (n int) {
	for i := range s.ready.len() {
		if !s.started[s.ready.at(i)] {
			n++
		}
	}
	return n
}

// end notes that a task has ended, and what that releases.
func (s *schedule) end(id ID) {
	s.leave(id)
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
