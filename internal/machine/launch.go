package machine

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Launch is a kernel on a set of PEs: sent, running or ended.
//
// The host sends a command to the IO CPU of each SIP, the IO CPU to the control CPU of
// each cube, and the control CPU to the CPU of each PE. All PEs start at the same
// instant: when the last command has arrived and all earlier launches on these PEs have
// ended.
type Launch struct {
	Name    string
	Targets []PEID // sorted, without duplicates
	Start   simtime.Time
	number  int32          // identifies the launch in events
	ready   []simtime.Time // when each target could have started
	end     []simtime.Time
	launchTrace
	waiting int // commands, ends of earlier launches and a release that are outstanding
	running int // targets whose kernel has not ended
	kernel  Kernel
	onStart func() error // called just before the kernel starts, unless nil
	done    sim.Event

	partitions bool      // its SIPs may be simulated by themselves
	left       [][]int32 // targets that have ended in SIPs that are simulated by themselves, by thread
	finish     func()    // called at the end of a launch that ran in partitions, unless nil
}

// launchTrace is the part of a launch that only traces use.
type launchTrace struct {
	last     []sim.Mark // the last activity of each target; nil without a trace
	trace    int64      // the number of the launch in the trace
	released sim.Mark   // the activity that released the launch
	commands int        // commands in flight
	sent     simtime.Time
	sentBy   sim.Mark // the activity that sent the commands
}

// Kernel is a function that runs on each PE of a launch.
type Kernel func(p *sim.Proc, pe *PE)

// launcher forwards commands from CPU to CPU.
type launcher struct {
	machine *Machine
	target  sim.Target
	all     sim.Pool[*Launch] // launches that have not ended
	running *Launch           // the launch whose SIPs are simulated by themselves, or nil
	dense   int               // least number of targets in a SIP, on average, for which a launch runs in partitions
}

const (
	evAtIOCPU   sim.Kind = iota // a command arrives at the IO CPU of a SIP
	evAtCubeCPU                 // a command arrives at the control CPU of a cube
	evAtPE                      // a command arrives at the CPU of a PE
	evEnded                     // the last target of a launch over partitions has ended
)

// Launch sends a kernel from the host to the targets at the current time. It posts the
// event `done` when the last target has ended.
func (m *Machine) Launch(name string, targets []PEID, kernel Kernel, done sim.Event) (*Launch, error) {
	l, err := m.hold(name, targets, kernel, done)
	if err == nil {
		m.launcher.release(l)
	}
	return l, err
}

// hold sends a kernel from the host to the targets, as Launch does. The kernel does not
// start before the caller releases the launch.
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

// send queues the launch on its PEs and sends a command to the IO CPU of each SIP.
func (lr *launcher) send(l *Launch) {
	lr.join()
	l.number = lr.all.Add(l)
	l.waiting = len(l.Targets) + 1
	l.recordSend(lr.machine.Engine)
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

// command sends the command of launch l over the fabric from one CPU to the next. `at` is
// the index of the first target for which the CPU `to` is responsible. `kind` is the kind
// of the event that is posted when the command arrives.
func (lr *launcher) command(from, to topology.NodeID, kind sim.Kind, l *Launch, at int) {
	m := lr.machine
	m.Fabric.Send(&fabric.Transfer{
		Path: m.path(nil, from, to), Bytes: m.Graph.Spec().Host.LaunchBytes, Class: fabric.Comm,
		Done: sim.Event{Target: lr.target, Kind: kind, Arg: uint64(l.number)<<32 | uint64(at)},
	})
}

func sameSIP(a, b *PE) bool  { return a.SIP == b.SIP }
func sameCube(a, b *PE) bool { return a.SIP == b.SIP && a.Cube == b.Cube }

// groupEnd returns the index after the last target of the group that starts at index `at`.
// A group consists of a first target and the following targets t for which same(first, t)
// is true, for example the targets in one cube.
func (lr *launcher) groupEnd(l *Launch, at int, same func(a, b *PE) bool) int {
	first := lr.machine.PE(l.Targets[at])
	for at++; at < len(l.Targets) && same(first, lr.machine.PE(l.Targets[at])); at++ {
	}
	return at
}

// Handle handles the arrival of a command. The CPU of a SIP or cube forwards the command to
// the CPUs of the next level. At a PE, the arrival counts towards the start of the launch.
func (lr *launcher) Handle(kind sim.Kind, arg uint64) {
	at := int(uint32(arg))
	l, m := *lr.all.At(int32(arg >> 32)), lr.machine
	if kind == evEnded {
		if lr.endSplit(); l.finish != nil {
			l.finish()
		}
		return
	}
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
		l.recordArrival(m)
		lr.release(l)
	}
}

// release counts one of the events for which the launch waits: the arrival of a command,
// the end of an earlier launch on a PE, or the caller's release. After the last of these
// events it starts the kernel.
func (lr *launcher) release(l *Launch) {
	if l.waiting--; l.waiting > 0 {
		return
	}
	m := lr.machine
	if l.onStart != nil {
		if err := l.onStart(); err != nil {
			m.Engine.Stop(err)
			return
		}
	}
	l.Start, l.running = m.Engine.Now(), len(l.Targets)
	m.tracer.recordStart(l)
	lr.split(l)
	for i, id := range l.Targets {
		pe := m.PE(id)
		// The stacks of kernels are a large part of the memory of a launch on very many PEs.
		// Go doubles a stack of 4 KiB when a kernel needs more than about 3.2 KiB. A few
		// functions that kernels call on the way to a DMA request are not inlined, so that
		// their variables leave the stack before the request.
		m.Engine.GoIn(partitionOf(pe), l.Name+"@"+pe.String(), func(p *sim.Proc) {
			l.kernel(p, pe)
			pe.DMA.Drain(p) // a kernel ends with its last transfer
			lr.endTarget(l, i, pe)
		})
		m.Engine.Beat()
	}
}

// partitionOf returns the partition of the events of pe.
func partitionOf(p *PE) int32 { return pe.PartitionOf(int32(p.SIP)) }

// endTarget records that the kernel has ended on pe, which is target i of the launch. It
// releases the next launch on this PE, unless SIPs are simulated by themselves: then there is
// none, and the host knows only when they have joined.
func (lr *launcher) endTarget(l *Launch, i int, pe *PE) {
	part := partitionOf(pe)
	eng, thread := lr.machine.Engine.Of(part), lr.machine.Engine.ThreadOf(part)
	l.end[i] = eng.Now()
	if eng.Leave() {
		l.left[thread] = append(l.left[thread], int32(i))
		return
	}
	lr.leaveTarget(l, i)
}

// leaveTarget counts target i as ended and releases the next launch on its PE. The last target
// ends the launch.
func (lr *launcher) leaveTarget(l *Launch, i int) {
	pe, now := lr.machine.PE(l.Targets[i]), lr.machine.Engine.Now()
	if l.running == 1 { // end its track here: the next launch may reuse it
		lr.machine.tracer.recordEnd(l)
	}
	pe.launches = pe.launches[1:]
	if len(pe.launches) > 0 {
		if l.last != nil {
			lr.machine.Engine.By = l.last[i]
		}
		next := pe.launches[0]
		at := next.targetIndex(pe.ID)
		next.ready[at] = max(next.ready[at], now)
		lr.release(next)
	}
	if l.running--; l.running == 0 {
		lr.all.Take(l.number)
		lr.machine.Engine.Post(now, l.done)
	}
}

// targetIndex returns the index of PE id in Targets. If the PE is not a target, another index
// is returned, which may be the number of targets.
func (l *Launch) targetIndex(id PEID) int {
	if i := int(id - l.Targets[0]); i >= 0 && i < len(l.Targets) && l.Targets[i] == id {
		return i // the targets up to this one are consecutive PEs
	}
	i, _ := slices.BinarySearch(l.Targets, id)
	return i
}

// Exec returns how long the kernel ran on target i (pe_exec_ns).
func (l *Launch) Exec(i int) simtime.Time { return l.end[i] - l.Start }

// ExecOf returns how long the kernel ran on PE id, which must be a target.
func (l *Launch) ExecOf(id PEID) simtime.Time { return l.Exec(l.targetIndex(id)) }

// Critical returns the time from the common start of the launch to the end of its last
// target (crit_ns).
func (l *Launch) Critical() simtime.Time { return slices.Max(l.end) - l.Start }

// Spread returns the time between the instants at which the first and the last target
// became ready to start.
func (l *Launch) Spread() simtime.Time { return slices.Max(l.ready) - slices.Min(l.ready) }

// Group is a set of workers of one launch that run a kernel together, with queues between
// them. The queues exist from Join until the last member leaves.
type Group struct {
	queues  queueSet
	name    string
	running int // members that have not left
}

// Join forms a group of the given workers, none of which may be running a kernel. It builds
// the queues of the neighbour table between their PEs. Members are numbered in the given
// order. The nonzero fields of `over` replace the settings of the topology for queues.
// `name` is the name of the kernel in errors. If Join fails, the run must end.
func Join(name string, members []*Worker, table []Connection, over topology.IPCQ) (*Group, error) {
	run := members[0].run
	cores, number := map[PEID]*cpu.Core{}, map[PEID]int{}
	for i, w := range members {
		cores[w.pe.ID], number[w.pe.ID] = w.core, i
	}
	g := &Group{name: name, running: len(members)}
	g.queues = queueSet{
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

// Leave removes member w, whose kernel has ended, from the group and frees the memory of
// its slots for the next kernel. When the last member leaves, Leave removes the queues and
// returns true. If a queue then still has messages that no member received, the run ends
// with an error.
func (g *Group) Leave(w *Worker) (last bool) {
	w.core.Leave(sim.Ended(w.displayName()))
	g.queues.allocations = slices.DeleteFunc(g.queues.allocations, func(b allocation) bool {
		if b.pe == w.pe {
			b.free()
		}
		return b.pe == w.pe
	})
	if g.running--; g.running > 0 {
		return false
	}
	w.run.removeQueues(&g.queues, g.name)
	return true
}
