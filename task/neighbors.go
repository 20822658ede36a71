package task

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

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
	members := make([]int, t.Members)
	for i := range members {
		members[i] = i
	}
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
		names := make([]string, len(g.ports))
		for i, has := range g.ports {
			names[i] = has.String()
		}
		return fmt.Errorf("no port %v: member %d has %s", p, g.place.PE, strings.Join(names, ", "))
	}
	return nil
}
