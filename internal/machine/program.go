package machine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Program is the code that a launch runs on its PEs. It is either a kernel of the tile
// language (Body) or a function that runs kernels one after another (Serve).
type Program struct {
	Name    string
	Targets []PEID // the PE of each rank
	Body    func(t *tl.PE)
	Serve   func(w *Worker)
	// Homes has, for each rank, the PE of the launch that holds the signals of the rank. If
	// Homes is nil, each rank has its signals on its own PE. Ranks with the same home share
	// their signals.
	Homes []PEID
	// Windows has, for each tensor argument, the part of each rank.
	Windows [][]memory.Part
	// Links is the neighbour table.
	Links []Connection
	// Queues overrides how the topology builds queues. Zero fields keep the value of the
	// topology.
	Queues topology.IPCQ
	// Starting, unless nil, is called just before the program starts. It returns the
	// launches that are known to have ended, by their numbers in the op log.
	Starting func(r *Run) (after []int32, err error)
}

// Connection connects a port of one PE with a port of another, in both directions.
type Connection struct {
	A     PEID
	APort tl.Port
	B     PEID
	BPort tl.Port
}

// Run is a program that has been sent to its PEs.
type Run struct {
	*Launch
	Program   Program
	cpus      cpu.Launch  // shared by the cores
	cores     []*cpu.Core // by PEID; nil for PEs that are not targets
	queues    queueSet
	remaining atomic.Int32 // PEs that have not ended
	failed    bool
	err       error // the error of the first kernel that panicked
	machine   *Machine
}

// Failed reports whether the program has failed. A failure ends the run of the machine.
func (r *Run) Failed() bool { return r.failed }

// Err returns the error of the first kernel of this program that panicked, or nil.
func (r *Run) Err() error { return r.err }

// LogID returns the number by which the op log refers to this launch.
func (r *Run) LogID() int32 { return r.cpus.Log }

// Start launches a program. It posts the event `done` when the program has ended on all
// PEs.
func (m *Machine) Start(p Program, done sim.Event) (*Run, error) {
	r, err := m.Send(p, done)
	if err == nil {
		r.Begin()
	}
	return r, err
}

// Send sends a program to its PEs. The program starts after Begin, when all earlier
// launches on these PEs have ended. Send posts the event `done` when the program has ended
// on all PEs.
func (m *Machine) Send(p Program, done sim.Event) (*Run, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("launch %s: %w", p.Name, err)
	}
	r := &Run{Program: p, machine: m}
	r.remaining.Store(int32(len(p.Targets)))
	r.queues = queueSet{
		machine: m, config: m.Queues(p.Queues), core: r.core, where: func(PEID) string { return "" },
	}
	r.cpus = cpu.Launch{Ranks: slices.Clone(p.Targets), Home: r.home, Log: -1}
	if r.queues.config.Backpressure == topology.Poll {
		r.cpus.Poll = m.Graph.Spec().PE.CPU.Clock.Cycles(r.queues.config.PollCycles)
	}
	var err error
	r.Launch, err = m.hold(p.Name, r.cpus.Ranks, r.runPE, done)
	if err != nil {
		return nil, err
	}
	r.onStart = r.prepare
	r.partitions, r.finish = r.independent(), func() { r.removeQueues(&r.queues, r.Name) }
	return r, nil
}

// check returns an error if the program is invalid on every machine. An example is a
// program with neither Body nor Serve.
func (p *Program) check() error {
	if (p.Body == nil) == (p.Serve == nil) {
		return errors.New("it must have either a Body or a Serve")
	}
	if p.Homes == nil {
		return nil
	}
	if len(p.Homes) != len(p.Targets) {
		return fmt.Errorf("%d homes for %d PEs: give one for each, or none at all", len(p.Homes), len(p.Targets))
	}
	targets := map[PEID]bool{}
	for _, id := range p.Targets {
		targets[id] = true
	}
	for rank, home := range p.Homes {
		if !targets[home] {
			return fmt.Errorf("the home of rank %d is PE %d, which may be in another launch: choose one of this launch", rank, home)
		}
	}
	return nil
}

// independent reports whether the PEs of one SIP use no state of another.
func (r *Run) independent() bool {
	if r.Program.Serve != nil || r.machine.Fabric.Fidelity() == fabric.Flit {
		return false
	}
	for rank, home := range r.Program.Homes {
		if r.machine.PE(home).SIP != r.machine.PE(r.cpus.Ranks[rank]).SIP {
			return false
		}
	}
	return true
}

// home returns the PE that holds the signals of the given rank.
func (r *Run) home(rank int) *cpu.Element {
	if r.Program.Homes == nil {
		return &r.machine.PE(r.cpus.Ranks[rank]).Element
	}
	return &r.machine.PE(r.Program.Homes[rank]).Element
}

// Begin allows a program that was sent with Send to start. The program starts when all
// earlier launches on its PEs have ended.
func (r *Run) Begin() { r.machine.launcher.release(r.Launch) }

// prepare calls Program.Starting, if it is set, builds the cores and queues of the program,
// and adds the launch to the op log. If it fails, the run of the machine ends.
func (r *Run) prepare() (err error) {
	m := r.machine
	defer func() { r.failed = err != nil }()
	var after []int32
	if r.Program.Starting != nil {
		if after, err = r.Program.Starting(r); err != nil {
			return err
		}
	}
	r.cpus.Windows = r.Program.Windows // Starting may have set them
	r.cores = make([]*cpu.Core, slices.Max(r.cpus.Ranks)+1)
	for rank, id := range r.cpus.Ranks {
		r.cores[id] = cpu.New(&r.cpus, &m.PE(id).Element, rank)
		m.Engine.Beat()
	}
	if r.partitions {
		_, r.queues.apart = m.launcher.perPartition(r.Launch)
	}
	if err := r.queues.connect(r.Program.Links); err != nil {
		r.queues.disconnect()
		return fmt.Errorf("launch %s: %w", r.Name, err)
	}
	if !m.Log.Kept() {
		return nil
	}
	r.cpus.Log = int32(len(m.Log.Launches))
	for _, first := range after {
		order := oplog.Order(first, r.cpus.Log)
		order.Issue, order.Start, order.End = m.Engine.Now(), m.Engine.Now(), m.Engine.Now()
		m.Log.Add(order)
	}
	pes := lists.Map(r.cpus.Ranks, func(id PEID) int32 { return int32(id) })
	m.Log.Launches = append(m.Log.Launches, oplog.Launch{Name: r.Name, PEs: pes})
	return nil
}

// core returns the core of a PE for this program, or nil if the PE is not a target.
func (r *Run) core(id PEID) *cpu.Core {
	if int(id) < len(r.cores) {
		return r.cores[id]
	}
	return nil
}

// Queues returns the configuration of queues. It takes each field from `over`, or from the
// topology if the field of `over` is zero.
func (m *Machine) Queues(over topology.IPCQ) topology.IPCQ {
	return m.Graph.Spec().PE.IPCQ.Override(over)
}

// runPE runs the program on one PE, to its end.
func (r *Run) runPE(proc *sim.Proc, pe *PE) {
	c := r.cores[pe.ID]
	if r.last != nil {
		r.cpus.Trace = r.trace
	}
	c.Start(proc)
	proc.Failed = r.fail
	if r.Program.Serve != nil {
		r.serve(c, proc, pe)
	} else {
		c.Run(r.Name, r.runBody)
	}
	r.endPE(c, pe)
}

// fail records the error of a kernel that panicked.
func (r *Run) fail(err *sim.PanicError) { r.failed, r.err = true, cmp.Or[error](r.err, err) }

// runBody runs the kernel of the program on m.
func (r *Run) runBody(m tl.Machine) { r.Program.Body(tl.NewPE(m, r.Name)) }

// serve runs the program as a worker.
func (r *Run) serve(c *cpu.Core, proc *sim.Proc, pe *PE) {
	w := &Worker{core: c, proc: proc, run: r, pe: pe, rank: c.Place().Rank, name: r.Name}
	proc.As = w.displayName
	c.BeginIdle()
	r.Program.Serve(w)
	w.recordIdle()
}

// endPE records that the program has ended on one PE. The last PE removes the queues.
func (r *Run) endPE(c *cpu.Core, pe *PE) {
	if r.last != nil {
		r.last[r.targetIndex(pe.ID)] = c.Last()
	}
	if r.remaining.Add(-1) == 0 && !r.machine.Engine.IsSplit() {
		r.removeQueues(&r.queues, r.Name)
	}
}

// removeQueues removes the queues q after the kernel of the given name has ended. If a queue
// still has messages that no PE received, the run ends with an error.
func (r *Run) removeQueues(q *queueSet, kernel string) {
	if err := q.checkReceived(kernel); err != nil {
		r.failed = true
		r.machine.Engine.Stop(err)
	}
	q.disconnect()
}

// reserveTCM allocates a scratch buffer of n bytes in the TCM of e. It returns the virtual
// address of the buffer and its location in the TCM.
func (m *Machine) reserveTCM(e *cpu.Element, n memory.Bytes) (memory.VA, pe.Access, error) {
	p := m.PE(e.ID)
	b, err := allocate(p, p.Memory(topology.KindTCM), n)
	if err != nil {
		return 0, pe.Access{}, err
	}
	va, err := m.scratch[p.SIP].Map("scratch of "+p.String(), []memory.Segment{b.Segment})
	if err != nil {
		b.free()
		return 0, pe.Access{}, err
	}
	region := memory.Contiguous(b.Addr, n)
	if n == 0 {
		region = memory.Region{}
	}
	return va, pe.Access{Memory: b.Memory, Region: region}, nil
}

// releaseTCM frees the scratch buffer of e at virtual address va.
func (m *Machine) releaseTCM(e *cpu.Element, va memory.VA) {
	segs, err := m.space(va).Unmap(va)
	if err != nil {
		panic(err) // the address is from reserveTCM
	}
	for _, s := range segs {
		(&allocation{m.PE(e.ID), s}).free()
	}
}

// ByRank returns the ranks in ascending order and, for each rank, the longest time that the
// kernel ran on one of the rank's PEs. members[i] is the rank of target i. If members is
// nil, target i is rank i.
func (r *Run) ByRank(members []int) (ranks []int, exec []simtime.Time) {
	longest := map[int]simtime.Time{}
	for i, pe := range r.Program.Targets {
		rank := i
		if members != nil {
			rank = members[i]
		}
		longest[rank] = max(longest[rank], r.ExecOf(pe))
	}
	ranks = slices.Sorted(maps.Keys(longest))
	for _, rank := range ranks {
		exec = append(exec, longest[rank])
	}
	return ranks, exec
}
