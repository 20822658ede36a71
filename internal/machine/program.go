package machine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Program is what a launch runs on its PEs: a kernel of the tile language, Body, or
// Serve, which runs kernels one after another.
type Program struct {
	Name    string
	Targets []PEID // by rank
	Body    func(t *tl.PE)
	Serve   func(w *Worker)
	// Homes is, by rank, the PE of the launch at which the signals of that rank lie; nil
	// is each at its own. Ranks with the same home have the same signals.
	Homes []PEID
	// Windows is, for each tensor argument, the part that each rank holds.
	Windows [][]Part
	// Links is the neighbour table.
	Links []Connection
	// Queues is how the queues are built, where it differs from the topology: what is
	// zero is as the topology says.
	Queues topology.IPCQ
	// Starting, if it is set, is called just before the program starts, and is the
	// launches of the log that are known to have ended by then.
	Starting func(r *Run) (after []int32, err error)
}

// Part is a part of a tensor in virtual addresses.
type Part struct {
	VA    memory.VA
	Bytes memory.Bytes
}

// Connection joins a port of one PE with a port of another, both ways.
type Connection struct {
	A     PEID
	APort tl.Port
	B     PEID
	BPort tl.Port
}

// Run is a program that has been started.
type Run struct {
	*Launch
	Program Program
	ranks   []PEID
	log     int32
	cores   map[PEID]*core
	queues  neighbors
	left    int // PEs that have not ended
	failed  bool
	err     error // of the first kernel that has panicked
	machine *Machine
}

// Failed reports whether a kernel of this program has failed, which ends the machine.
func (r *Run) Failed() bool { return r.failed }

// Err returns the error of the first kernel of this program that has panicked.
func (r *Run) Err() error { return r.err }

// LogID is the number of the launch in the op log.
func (r *Run) LogID() int32 { return r.log }

// Start launches a program. done is posted when it has ended everywhere.
func (m *Machine) Start(p Program, done sim.Event) (*Run, error) {
	r, err := m.Send(p, done)
	if err == nil {
		r.Begin()
	}
	return r, err
}

// Send sends a program to its PEs, where it waits for Begin, and for what these were
// sent before. done is posted when it has ended everywhere.
func (m *Machine) Send(p Program, done sim.Event) (*Run, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("launch %s: %w", p.Name, err)
	}
	r := &Run{
		Program: p, ranks: slices.Clone(p.Targets), cores: map[PEID]*core{}, log: -1, left: len(p.Targets),
		machine: m,
	}
	r.queues = neighbors{
		machine: m, config: m.Queues(p.Queues), core: func(id PEID) *core { return r.cores[id] }, where: func(PEID) string { return "" },
	}
	var err error
	r.Launch, err = m.hold(p.Name, r.ranks, func(proc *sim.Proc, pe *PE) { r.cores[pe.ID].serve(proc) }, done)
	if err != nil {
		return nil, err
	}
	r.begins = r.prepare
	return r, nil
}

// check looks for what is wrong with a program on every machine.
func (p *Program) check() error {
	if (p.Body == nil) == (p.Serve == nil) {
		return errors.New("it has to have either a Body or a Serve")
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

// home is the PE at which the signals of a rank lie.
func (r *Run) home(rank int) *PE {
	if r.Program.Homes == nil {
		return r.machine.PE(r.ranks[rank])
	}
	return r.machine.PE(r.Program.Homes[rank])
}

// Begin lets a program that was sent start, when its PEs have ended what they were sent
// before.
func (r *Run) Begin() { r.machine.launcher.release(r.Launch) }

// prepare builds what the program needs while it runs. If that fails the machine ends.
func (r *Run) prepare() (err error) {
	m := r.machine
	defer func() { r.failed = err != nil }()
	var after []int32
	if r.Program.Starting != nil {
		if after, err = r.Program.Starting(r); err != nil {
			return err
		}
	}
	for rank, id := range r.ranks {
		r.cores[id] = m.newCore(r, m.PE(id), rank)
		r.cores[id].measure()
		clear(r.cores[id].home.signals)
		m.Engine.Beat()
	}
	if err := r.queues.connect(r.Program.Links); err != nil {
		r.queues.disconnect()
		return fmt.Errorf("launch %s: %w", r.Name, err)
	}
	if m.Log == nil {
		return nil
	}
	r.log = int32(len(m.Log.Launches))
	for _, first := range after {
		order := oplog.Order(first, r.log)
		order.Issue, order.Start, order.End = m.Engine.Now(), m.Engine.Now(), m.Engine.Now()
		m.Log.Add(order)
	}
	pes := make([]int32, len(r.ranks))
	for i, id := range r.ranks {
		pes[i] = int32(id)
	}
	m.Log.Launches = append(m.Log.Launches, oplog.Launch{Name: r.Name, PEs: pes})
	return nil
}

// Queues is how queues are built, where some of it is said: the rest is as the
// topology says.
func (m *Machine) Queues(over topology.IPCQ) topology.IPCQ {
	q := m.Graph.Spec().PE.IPCQ
	q.MaxPorts = cmp.Or(over.MaxPorts, q.MaxPorts)
	q.NSlots = cmp.Or(over.NSlots, q.NSlots)
	q.SlotSize = cmp.Or(over.SlotSize, q.SlotSize)
	q.BufferKind = cmp.Or(over.BufferKind, q.BufferKind)
	q.CreditBytes = cmp.Or(over.CreditBytes, q.CreditBytes)
	q.Backpressure = cmp.Or(over.Backpressure, q.Backpressure)
	q.PollCycles = cmp.Or(over.PollCycles, q.PollCycles)
	q.HBMOverhead = cmp.Or(over.HBMOverhead, q.HBMOverhead)
	return q
}

func (m *Machine) newCore(r *Run, p *PE, rank int) *core {
	s := &m.Graph.Spec().PE
	c := &core{
		m: m, eng: m.Engine, pe: p, run: r, rank: rank, home: r.home(rank), limit: over, trace: p.trace,
		dispatch: s.CPU.Clock.Cycles(s.CPU.DispatchCycles), scheduler: s.Scheduler.Overhead,
	}
	if r.queues.config.Backpressure == topology.Poll {
		c.poll = s.CPU.Clock.Cycles(r.queues.config.PollCycles)
	}
	return c
}

// serve runs the program on one PE.
func (c *core) serve(proc *sim.Proc) {
	c.proc = proc
	proc.Where = c.m.callers.Line
	c.attach(proc)
	ended := false
	defer func() { c.run.failed = c.run.failed || !ended && !proc.Cancelled() }()
	proc.Failed = func(err *sim.PanicError) { c.run.err = cmp.Or[error](c.run.err, err) }
	if p := &c.run.Program; p.Serve != nil {
		w := &Worker{core: c, name: p.Name}
		proc.As = w.as
		c.cpu.ended = proc.Now()
		p.Serve(w)
		c.idled()
	} else {
		c.kernel(p.Name, func(m tl.Machine) { p.Body(tl.NewPE(m, p.Name)) })
	}
	ended = true
	if c.trace != nil {
		c.run.last[c.run.target(c.pe.ID)] = c.cpu.last
	}
	if c.run.left--; c.run.left == 0 {
		c.m.finish(c.run)
	}
}

// finish ends a run: no kernel will receive what is left in its queues.
func (m *Machine) finish(r *Run) {
	if err := r.queues.left(r.Name); err != nil {
		r.failed = true
		m.Engine.Stop(err)
	}
	r.queues.disconnect()
}

// reserveTCM allocates scratch memory of a PE.
func (m *Machine) reserveTCM(p *PE, n memory.Bytes) (memory.VA, oplog.Access, error) {
	b, err := newBlock(p, p.Memory(topology.KindTCM), n)
	if err != nil {
		return 0, oplog.Access{}, err
	}
	va, err := m.Space.Map("scratch of "+p.String(), []memory.Segment{{Memory: b.memory, Addr: b.addr, Bytes: n}})
	if err != nil {
		b.free()
		return 0, oplog.Access{}, err
	}
	region := memory.Contiguous(b.addr, n)
	if n == 0 {
		region = memory.Region{}
	}
	return va, accesses([]piece{{b.memory, region}})[0], nil
}

// releaseTCM gives it back.
func (m *Machine) releaseTCM(p *PE, va memory.VA) {
	segs, err := m.Space.Unmap(va)
	if err != nil {
		panic(err) // it was mapped by reserveTCM
	}
	for _, s := range segs {
		(&block{p, s.Memory, s.Addr, s.Bytes}).free()
	}
}

var _ tl.Machine = (*core)(nil)

// engines makes the engines of a PE.
func (m *Machine) engines(p *PE) {
	s := &m.Graph.Spec().PE
	p.Tiles.Init(s.TCM.Size)
	p.DMA.Init(m.Engine, m.Fabric, s.DMA, s.TCM, &p.Tiles)
	p.Pipeline.Init(m.Engine, &p.Tiles, &p.DMA)
	m.traces(p)
	if m.Log != nil {
		p.Pipeline.Settled = p.command
		p.DMA.Followed = m.followed
	}
}
