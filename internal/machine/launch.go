package machine

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Launch is a kernel on its way to a set of PEs, running there, or ended.
//
// The host sends a command to the IO CPU of each SIP, that one to each cube's
// control CPU, and that one to each PE's CPU. All PEs start at one instant: the
// latest of the arrivals and of the ends of earlier launches on those PEs.
type Launch struct {
	Name    string
	Targets []PEID // in order, each once
	Start   simtime.Time
	number  int32          // by which events know it
	ready   []simtime.Time // when each target could have started
	end     []simtime.Time
	last    []sim.Mark // the last activity of each, if somebody traces
	lane    int        // of the trace
	trace   int64      // its number there
	waiting int        // arrivals, ends and a Begin that are still to come
	running int
	kernel  Kernel
	begins  func() error // just before it starts, if somebody wants to know
	done    sim.Event
}

// Kernel is what runs on each PE of a launch.
type Kernel func(p *sim.Proc, pe *PE)

// launcher carries commands from CPU to CPU.
type launcher struct {
	machine *Machine
	target  sim.Target
	all     sim.Pool[*Launch] // under way
}

const (
	evAtIOCPU   sim.Kind = iota // a command is at a SIP's IO CPU
	evAtCubeCPU                 // at a cube's control CPU
	evAtPE                      // at a PE's CPU
)

// Launch sends a kernel to the targets, from the host, at the present instant.
// done is posted when the last of them has ended.
func (m *Machine) Launch(name string, targets []PEID, kernel Kernel, done sim.Event) (*Launch, error) {
	l, err := m.hold(name, targets, kernel, done)
	if err == nil {
		m.launcher.release(l)
	}
	return l, err
}

// hold is Launch of a kernel that does not start before the launcher releases it.
func (m *Machine) hold(name string, targets []PEID, kernel Kernel, done sim.Event) (*Launch, error) {
	l := &Launch{Name: name, Targets: slices.Clone(targets), kernel: kernel, done: done, Start: -1}
	slices.Sort(l.Targets)
	switch n := len(l.Targets); {
	case n == 0:
		return nil, fmt.Errorf("launch %s: no PEs: name at least one", name)
	case l.Targets[0] < 0 || int(l.Targets[n-1]) >= m.NumPEs():
		return nil, fmt.Errorf("launch %s: PEs %d to %d of a machine that has 0 to %d", name, l.Targets[0], l.Targets[n-1], m.NumPEs()-1)
	case len(slices.Compact(slices.Clone(l.Targets))) != n:
		return nil, fmt.Errorf("launch %s: a PE is named twice", name)
	}
	l.ready, l.end = make([]simtime.Time, len(targets)), make([]simtime.Time, len(targets))
	if m.tracer != nil {
		l.last = make([]sim.Mark, len(targets))
	}
	m.launcher.send(l)
	return l, nil
}

func (lr *launcher) send(l *Launch) {
	l.number = lr.all.Add(l)
	l.waiting = len(l.Targets) + 1
	for _, id := range l.Targets {
		pe := lr.machine.PE(id)
		if len(pe.launches) > 0 {
			l.waiting++
		}
		pe.launches = append(pe.launches, l)
	}
	g := lr.machine.Graph
	for at := 0; at < len(l.Targets); at = lr.groupEnd(l, at, sameSIP) {
		to := lr.machine.PE(l.Targets[at])
		lr.command(g.Host(), g.IOCPU(to.SIP), evAtIOCPU, l, at)
	}
}

// command sends a launch's packet to the next CPU, on behalf of the targets from
// number `at` on.
func (lr *launcher) command(from, to topology.NodeID, kind sim.Kind, l *Launch, at int) {
	m := lr.machine
	m.Fabric.Send(&fabric.Transfer{
		Path: m.path(nil, from, to), Bytes: m.Graph.Spec().Host.LaunchBytes, Class: fabric.Comm,
		Done: sim.Event{Target: lr.target, Kind: kind, Arg: uint64(l.number)<<32 | uint64(at)},
	})
}

func sameSIP(a, b *PE) bool  { return a.SIP == b.SIP }
func sameCube(a, b *PE) bool { return a.SIP == b.SIP && a.Cube == b.Cube }

// groupEnd is the first target behind `at` that is not in its group.
func (lr *launcher) groupEnd(l *Launch, at int, same func(a, b *PE) bool) int {
	first := lr.machine.PE(l.Targets[at])
	for at++; at < len(l.Targets) && same(first, lr.machine.PE(l.Targets[at])); at++ {
	}
	return at
}

// Handle is a command's arrival at a CPU, which sends it on.
func (lr *launcher) Handle(kind sim.Kind, arg uint64) {
	at := int(uint32(arg))
	l, m := *lr.all.At(int32(arg >> 32)), lr.machine
	pe := m.PE(l.Targets[at])
	switch kind {
	case evAtIOCPU:
		for end := lr.groupEnd(l, at, sameSIP); at < end; at = lr.groupEnd(l, at, sameCube) {
			to := m.PE(l.Targets[at])
			lr.command(m.Graph.IOCPU(pe.SIP), m.Graph.CubeCPU(to.SIP, to.Cube), evAtCubeCPU, l, at)
		}
	case evAtCubeCPU:
		for end := lr.groupEnd(l, at, sameCube); at < end; at++ {
			to := m.PE(l.Targets[at])
			lr.command(m.Graph.CubeCPU(pe.SIP, pe.Cube), m.Graph.PENode(to.SIP, to.Cube, to.PE, topology.KindPECPU), evAtPE, l, at)
		}
	case evAtPE:
		l.ready[at] = max(l.ready[at], m.Engine.Now())
		lr.release(l)
	}
}

// release counts one arrival, the end of earlier work, or that the launch may begin,
// and starts it with the last of them.
func (lr *launcher) release(l *Launch) {
	if l.waiting--; l.waiting > 0 {
		return
	}
	m := lr.machine
	if l.begins != nil {
		if err := l.begins(); err != nil {
			m.Engine.Stop(err)
			return
		}
	}
	l.Start, l.running = m.Engine.Now(), len(l.Targets)
	m.tracer.launching(l)
	for i, id := range l.Targets {
		pe := m.PE(id)
		m.Engine.Go(l.Name+"@"+pe.String(), func(p *sim.Proc) {
			l.kernel(p, pe)
			pe.DMA.Drain(p) // a kernel ends with its last transfer
			lr.ended(l, i, pe)
		})
		m.Engine.Beat()
	}
}

// ended notes the end of a launch's target i, and lets the next launch have the
// PE.
func (lr *launcher) ended(l *Launch, i int, pe *PE) {
	now := lr.machine.Engine.Now()
	l.end[i] = now
	if l.running == 1 { // the next may have its track
		lr.machine.tracer.launched(l)
	}
	pe.launches = pe.launches[1:]
	if len(pe.launches) > 0 {
		next := pe.launches[0]
		at := next.target(pe.ID)
		next.ready[at] = max(next.ready[at], now)
		lr.release(next)
	}
	if l.running--; l.running == 0 {
		lr.all.Take(l.number)
		lr.machine.Engine.Post(now, l.done)
	}
}

// target is the index of a PE among the targets.
func (l *Launch) target(id PEID) int {
	i, _ := slices.BinarySearch(l.Targets, id)
	return i
}

// Exec is how long the kernel ran on target i: pe_exec_ns.
func (l *Launch) Exec(i int) simtime.Time { return l.end[i] - l.Start }

// ExecOf returns how long the kernel ran on a PE, which must be a target.
func (l *Launch) ExecOf(id PEID) simtime.Time { return l.Exec(l.target(id)) }

// Critical is the longest of them: crit_ns, the metric of a launch.
func (l *Launch) Critical() simtime.Time { return slices.Max(l.end) - l.Start }

// Spread is how far apart the targets could have started, had they not waited for
// each other.
func (l *Launch) Spread() simtime.Time { return slices.Max(l.ready) - slices.Min(l.ready) }

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
	run := members[0].run
	cores, number := map[PEID]*cpu.Core{}, map[PEID]int{}
	for i, w := range members {
		cores[w.pe.ID], number[w.pe.ID] = w.core, i
	}
	g := &Group{name: name, running: len(members)}
	g.queues = neighbors{
		machine: run.machine, config: run.machine.Queues(over), core: func(id PEID) *cpu.Core { return cores[id] },
		where: func(id PEID) string { return fmt.Sprintf(" (member %d)", number[id]) },
	}
	if err := g.queues.connect(table); err != nil {
		g.queues.disconnect()
		run.failed = true
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	for _, w := range members {
		w.core.Attach(w.proc)
	}
	return g, nil
}

// Leave ends the part of a member, whose kernel has ended: its memory for slots is free for
// the next kernel of its worker. When the last member leaves, the queues are taken down, and
// Leave returns true. If they have messages that no member received, the run ends with an
// error.
func (g *Group) Leave(w *Worker) (last bool) {
	w.core.Leave(sim.Ended(w.as()))
	g.queues.blocks = slices.DeleteFunc(g.queues.blocks, func(b block) bool {
		if b.pe == w.pe {
			b.free()
		}
		return b.pe == w.pe
	})
	if g.running--; g.running > 0 {
		return false
	}
	w.run.finish(&g.queues, g.name)
	return true
}
