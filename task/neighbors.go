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

// maxNeighbors is the largest number of members of a group with a neighbour table. No
// device has more compute cores.
const maxNeighbors = 1 << 16

// makeNeighbors builds the neighbour table of the task. It returns an error if the table or
// the option Buffers has a mistake that does not depend on the machine.
func (t *Task) makeNeighbors() error {
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

// checkPorts returns an error if the neighbour table of the task is wrong, or if a member
// needs more than `most` ports.
func (t *Task) checkPorts(most int) error {
	table := t.table(func(member int) machine.PEID { return machine.PEID(member) })
	return machine.CheckNeighbors(table, most, func(id machine.PEID) (fmt.Stringer, error) { return memberName(id), nil })
}

// memberName is the number of a member, formatted for errors.
type memberName int

func (m memberName) String() string { return fmt.Sprintf("member %d", int(m)) }

// table returns the neighbour table of the task with PEs in place of members. The function
// `pe` returns the PE of a member.
func (t *Task) table(pe func(member int) machine.PEID) []machine.Connection {
	table := make([]machine.Connection, len(t.Neighbors))
	for i, n := range t.Neighbors {
		table[i] = machine.Connection{A: pe(n.A), APort: n.APort, B: pe(n.B), BPort: n.BPort}
	}
	return table
}

// ports appends the ports of a member to `list`, and returns the list.
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

// connectMembers builds the queues between the members of a task that is about to start, if
// the task has a neighbour table.
func (d *device) connectMembers(id ID) error {
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

// Port returns an error unless the member has port p. For tl.AnyPort the member must have
// at least one port.
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

// message is what one rank sends to another: a task has ended, or the orchestration has
// read a value.
type message struct {
	to    int
	task  Ref // the task that has ended, or whose value was read
	pause int // number of the pause whose value was read; -1 for the end of a task
}

// remoteEdges is the state of the edges between a rank and the other ranks.
type remoteEdges struct {
	known          map[Ref]bool   // tasks of other ranks whose ends this rank has received
	waiting        map[Ref][]ID   // by task of another rank: the tasks of this rank that wait for it
	receivers      map[ID][]int   // by task that has not ended: the ranks that receive a message
	listed         int            // number of edges of Program.out that are in receivers or due
	due            queue[message] // messages to send
	valuesReceived map[int]bool   // pauses whose values have been received
}

// addOutEdges adds the edges to other ranks that the orchestration has recorded up to the
// next pause. For tasks that have already ended, the messages to these ranks are due at
// once.
func (s *schedule) addOutEdges() {
	kind := 0
	if s.inferred {
		kind = 1
	}
	for n := s.recordedUntil(s.passed).out[kind]; s.listed < n; s.listed++ {
		if o := s.out[kind][s.listed]; s.ended[o.task] {
			s.postTo(o.to, o.task)
		} else {
			s.receivers[o.task] = append(s.receivers[o.task], o.to)
		}
	}
}

// postTo adds a message to the messages that are due. The message reports to the given rank
// that task id has ended.
func (s *schedule) postTo(rank int, id ID) {
	s.due.push(message{rank, Ref{int32(s.Rank), id}, -1})
}

// postEnd adds messages to the messages that are due: one for each rank that waits for task
// id. The messages report that the task has ended.
func (s *schedule) postEnd(id ID) {
	for _, rank := range s.receivers[id] {
		s.postTo(rank, id)
	}
	delete(s.receivers, id)
}

// receiveEnd marks task t of another rank as ended, and unblocks the tasks of this rank
// that wait for t.
func (s *schedule) receiveEnd(t Ref) {
	s.known[t] = true
	s.unblock(s.waiting[t], t)
}

// passPause records that the rank has the value of the next pause, so that it can submit
// the tasks after the pause.
func (s *schedule) passPause() {
	s.passed++
	s.addOutEdges()
}

// receiveValue records that the value of the given pause has been received. Then it passes
// all pauses whose values are known, in order.
func (s *schedule) receiveValue(pause int) {
	s.valuesReceived[pause] = true
	for s.valuesReceived[s.passed] {
		s.passPause()
	}
}

// valueToRead returns the pause whose value this rank must read now, and reports whether
// there is one. There is one if all recorded tasks are submitted, and the task that
// computes the value belongs to this rank and has ended.
func (s *schedule) valueToRead() (*pause, bool) {
	if !s.hasPause(s.passed) || !s.submitted() {
		return nil, false
	}
	p := &s.builder.pauses[s.passed]
	return p, int(p.task.Rank) == s.Rank && s.ended[p.task.Task]
}

// describeWait returns a text for error messages about the value that the orchestration
// waits for. The text begins with `separator`. If the orchestration waits for no value, the
// text is "".
func (s *schedule) describeWait(separator string) string {
	if !s.hasPause(s.passed) {
		return ""
	}
	p := &s.builder.pauses[s.passed]
	return fmt.Sprintf("%sthe orchestration waits for a value of %s, at %s", separator, s.builder.task(p.task).title(), p.line)
}

// task returns the task that r identifies.
func (b *Builder) task(r Ref) *Task {
	return &b.program.programOf(r).Tasks[r.Task]
}

// programOf returns the program that contains the task r. The program belongs to the same
// builder as p.
func (p *Program) programOf(r Ref) *Program {
	if p.builder == nil || !p.builder.single {
		return p
	}
	return p.builder.programs[r.Rank]
}

// postValue adds messages to the messages that are due: one for every other rank of the
// orchestration. The messages report that the value of the given pause is known.
func (s *schedule) postValue(pause int) {
	for _, p := range s.builder.programs {
		if p.Rank != s.Rank {
			s.due.push(message{p.Rank, s.builder.pauses[pause].task, pause})
		}
	}
}
