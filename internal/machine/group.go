package machine

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// Group is some workers of a launch that run one kernel together, with queues between
// them. The queues exist from Join until the last member leaves.
type Group struct {
	queues  neighbors
	name    string
	running int // members that have not left
}

// Join builds the queues of a neighbour table between workers, which run no kernel at
// present: members of the group in that order. The table names their PEs. What is zero in
// over is as the topology says. name is that of the kernel in errors. If Join fails, the run
// has to end.
func Join(name string, members []*Worker, table []Connection, over topology.IPCQ) (*Group, error) {
	m := members[0].core.m
	cores, number := map[PEID]*core{}, map[PEID]int{}
	for i, w := range members {
		cores[w.core.pe.ID], number[w.core.pe.ID] = w.core, i
	}
	g := &Group{name: name, running: len(members)}
	g.queues = neighbors{
		machine: m, config: m.Queues(over), core: func(id PEID) *core { return cores[id] },
		where: func(id PEID) string { return fmt.Sprintf(" (member %d)", number[id]) },
	}
	if err := g.queues.connect(table); err != nil {
		g.queues.disconnect()
		members[0].core.run.failed = true
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	for _, w := range members {
		w.core.turn = 0
		w.core.attach(w.core.proc)
	}
	return g, nil
}

// Leave ends the part of a member, whose kernel has ended: its memory for slots is free for
// the next kernel of its worker. When the last member leaves, the queues are taken down, and
// Leave returns true. If they have messages that no member received, the run ends with an
// error.
func (g *Group) Leave(w *Worker) (last bool) {
	c := w.core
	c.attach(sim.Ended(w.as()))
	clear(c.ports)
	c.ports = c.ports[:0]
	g.queues.blocks = slices.DeleteFunc(g.queues.blocks, func(b block) bool {
		if b.pe == c.pe {
			b.free()
		}
		return b.pe == c.pe
	})
	if g.running--; g.running > 0 {
		return false
	}
	if err := g.queues.left(g.name); err != nil {
		c.run.failed = true
		c.m.Engine.Stop(err)
	}
	g.queues.disconnect()
	return true
}
