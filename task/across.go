package task

import "fmt"

// message is sent to another rank when a task has ended, or when the orchestration has read
// a value.
type message struct {
	to    int
	task  Ref // that has ended, or whose value was read
	pause int // at which the value was read; -1 for an end
}

// across is the state of the edges between a rank and the others.
type across struct {
	known   map[Ref]bool   // tasks of other ranks that have ended, by the messages received
	waiting map[Ref][]ID   // by task of another rank: the tasks of this rank that wait for it
	outward map[ID][]int   // by task that has not ended: the ranks that get a message
	listed  int            // outward edges of the program that have been added so far
	due     queue[message] // messages to send
	gates   map[int]bool   // pauses whose values have been received
}

// list adds the edges to other ranks that are recorded up to the next value. For tasks that
// have ended already the messages are due at once.
func (s *schedule) list() {
	kind := 0
	if s.inferred {
		kind = 1
	}
	for n := s.recordedUntil(s.passed).out[kind]; s.listed < n; s.listed++ {
		if o := s.out[kind][s.listed]; s.ended[o.task] {
			s.postTo(o.to, o.task)
		} else {
			s.outward[o.task] = append(s.outward[o.task], o.to)
		}
	}
}

// postTo adds a message about the end of a task.
func (s *schedule) postTo(rank int, id ID) {
	s.due.push(message{rank, Ref{int32(s.Rank), id}, -1})
}

// postEnd adds the messages about the end of a task.
func (s *schedule) postEnd(id ID) {
	for _, rank := range s.outward[id] {
		s.postTo(rank, id)
	}
	delete(s.outward, id)
}

// receiveEnd marks a task of another rank as ended, and unblocks those that wait for it.
func (s *schedule) receiveEnd(t Ref) {
	s.known[t] = true
	s.unblock(s.waiting[t], t)
}

// pass continues after a pause, when the rank has its value.
func (s *schedule) pass() {
	s.passed++
	s.list()
}

// receiveValue marks the value of a pause as known, and passes all pauses whose values are.
func (s *schedule) receiveValue(pause int) {
	s.gates[pause] = true
	for s.gates[s.passed] {
		s.pass()
	}
}

// asked returns the pause whose value the rank has to read now: all recorded tasks are
// submitted, and the task with the value is one of this rank and has ended.
func (s *schedule) asked() (*pause, bool) {
	if !s.waits(s.passed) || !s.submitted() {
		return nil, false
	}
	p := &s.by.pauses[s.passed]
	return p, int(p.task.Rank) == s.Rank && s.ended[p.task.Task]
}

// waitsFor says which value the orchestration waits for, if it does for one.
func (s *schedule) waitsFor() string {
	if !s.waits(s.passed) {
		return ""
	}
	p := &s.by.pauses[s.passed]
	return fmt.Sprintf("the orchestration waits for a value of %s, at %s", s.by.task(p.task).title(), p.line)
}

// task returns a task of the builder's programs.
func (b *Builder) task(r Ref) *Task {
	if !b.single {
		return &b.program.Tasks[r.Task]
	}
	return &b.programs[r.Rank].Tasks[r.Task]
}

// postValue adds a message about the value of a pause for each other rank of the
// orchestration.
func (s *schedule) postValue(pause int) {
	for _, p := range s.by.programs {
		if p.Rank != s.Rank {
			s.due.push(message{p.Rank, s.by.pauses[pause].task, pause})
		}
	}
}
