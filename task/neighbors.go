package task

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// maxNeighbors bounds the members of a group that has a neighbour table. No device has
// more compute cores.
const maxNeighbors = 1 << 16

// join makes the neighbour table of the task, and checks it as far as every machine does.
func (t *Task) join() error {
	if t.Buffers != "" && !slices.Contains(topology.BufferKinds, t.Buffers) {
		return fmt.Errorf("no memory %q for slots of queues: use one of %v", t.Buffers, topology.BufferKinds)
	}
	if t.Buffers != "" && len(t.tables) == 0 {
		return fmt.Errorf("slots in %s, and no queues: give its group a neighbour table, or leave Buffers out", t.Buffers)
	}
	if len(t.tables) == 0 {
		return nil
	}
	if t.Members > maxNeighbors {
		return fmt.Errorf("a group of %d with a neighbour table: at most %d members can have one", t.Members, maxNeighbors)
	}
	members := lists.Count(0, t.Members)
	for _, table := range t.tables {
		if table == nil {
			return errors.New("a nil neighbour table: give Group a function such as torch.Ring")
		}
		t.Neighbors = append(t.Neighbors, table(slices.Clone(members)...)...)
	}
	for _, n := range t.Neighbors {
		for _, member := range [...]int{n.A, n.B} {
			if member < 0 || member >= t.Members {
				return fmt.Errorf("the neighbour table names member %d, and the group has members 0 to %d", member, t.Members-1)
			}
		}
	}
	return t.checkPorts(math.MaxInt)
}

// checkPorts checks the neighbour table of a task whose members have at most a number of
// ports each.
func (t *Task) checkPorts(most int) error {
	table := t.table(func(member int) machine.PEID { return machine.PEID(member) })
	return machine.CheckNeighbors(table, most, func(id machine.PEID) (fmt.Stringer, error) { return memberName(id), nil })
}

// memberName is a member of a group in errors.
type memberName int

func (m memberName) String() string { return fmt.Sprintf("member %d", int(m)) }

// table returns the neighbour table with PEs for members.
func (t *Task) table(pe func(member int) machine.PEID) []machine.Connection {
	table := make([]machine.Connection, len(t.Neighbors))
	for i, n := range t.Neighbors {
		table[i] = machine.Connection{A: pe(n.A), APort: n.APort, B: pe(n.B), BPort: n.BPort}
	}
	return table
}

// ports returns the ports of a member, appended to list.
func (t *Task) ports(list []tl.Port, member int) []tl.Port {
	for _, n := range t.Neighbors {
		if n.A == member {
			list = append(list, n.APort)
		}
		if n.B == member {
			list = append(list, n.BPort)
		}
	}
	return list
}

// connect builds the queues between the members of a task that is about to begin, if it
// has a neighbour table.
func (d *device) connect(id ID) error {
	t := &d.Tasks[id]
	if len(t.Neighbors) == 0 {
		return nil
	}
	var members []*machine.Worker
	for at := d.firstCore[id]; at >= 0; at = d.nextCore[at] {
		members = append(members, d.workers[at])
	}
	table := t.table(func(member int) machine.PEID { return members[member].PE().ID })
	group, err := machine.Join(t.title(), members, table, topology.IPCQ{BufferKind: t.Buffers})
	d.groups[id] = group
	return err
}

// Port checks that the member has a port, or any.
func (g *guard) Port(p tl.Port) error {
	switch {
	case len(g.task.Neighbors) == 0:
		return fmt.Errorf("no port %v: the task has no neighbour table; give its group one, as in task.Group(4, torch.Ring), and pass data to other tasks by regions", p)
	case len(g.ports) == 0:
		return fmt.Errorf("no port %v: the neighbour table does not name member %d", p, g.place.PE)
	case p != tl.AnyPort && !slices.Contains(g.ports, p):
		return fmt.Errorf("no port %v: member %d has %s", p, g.place.PE, strings.Join(lists.Map(g.ports, tl.Port.String), ", "))
	}
	return nil
}

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

// waitsFor returns which value the orchestration waits for, behind a separator, if it does for
// one.
func (s *schedule) waitsFor(separator string) string {
	if !s.waits(s.passed) {
		return ""
	}
	p := &s.by.pauses[s.passed]
	return fmt.Sprintf("%sthe orchestration waits for a value of %s, at %s", separator, s.by.task(p.task).title(), p.line)
}

// task returns a task of the builder's programs.
func (b *Builder) task(r Ref) *Task {
	return &b.program.at(r).Tasks[r.Task]
}

// at returns the program that has a task, of those that its builder makes.
func (p *Program) at(r Ref) *Program {
	if p.by == nil || !p.by.single {
		return p
	}
	return p.by.programs[r.Rank]
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
