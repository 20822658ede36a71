package task

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
)

// simulation is the control cores of all ranks at work on a simulated machine.
type simulation struct {
	engine  *sim.Engine
	target  sim.Target
	options *Options
	cores   int // compute cores of each rank
	devices []*device
	result  *Result
}

// device is the control cores of one rank, and what they keep of its compute cores.
type device struct {
	*simulation
	*schedule
	rank    int
	memory  []memory // of the tensors of its program
	start   Time
	workers []*machine.Worker
	began   int // workers

	free       freeCores
	ends       queue[int32]          // compute cores whose kernels have ended, and nobody knows it
	busy       []bool                // control cores that schedule
	building   bool                  // the orchestrator is
	current    []Span                // by compute core: what it was given
	nextCore   []int32               // by compute core: the next one of its group, -1 for none
	firstCore  []int32               // by task
	groups     map[ID]*machine.Group // by task: the queues of members that run
	members    []int32               // by task: those whose ends are not known
	storedAt   []Time                // by task
	readyAt    []Time
	endOps     [][]oplog.ID           // by task, if somebody wants to see the log
	afterFirst map[ID][]oplog.Operand // what the members of a group began after
	finished   bool
}

// What events say, of a rank and a number that depends on it.
const (
	evBuilt      sim.Kind = iota // the host has built the graph
	evSubmitted                  // the next task is in storage; by control core
	evDispatched                 // its compute cores have been written to; by task and control core
	evBegin                      // they have turned to it; by task
	evNoticed                    // the end of a kernel is known; by compute core and control core
)

func (s *simulation) event(kind sim.Kind, rank, core int, n int32) sim.Event {
	return sim.Event{Target: s.target, Kind: kind, Arg: uint64(rank)<<48 | uint64(core)<<32 | uint64(uint32(n))}
}

// Handle is the end of a piece of work.
func (s *simulation) Handle(kind sim.Kind, arg uint64) {
	d, core, n := s.devices[arg>>48], int(arg>>32&0xffff), int32(uint32(arg))
	switch kind {
	case evBuilt:
		for !d.submitted() {
			d.submit()
		}
	case evSubmitted:
		d.release(core)
		d.submit()
	case evDispatched:
		d.release(core)
		c := &d.config.Control
		s.engine.Post(s.engine.Now()+c.ToCompute+c.CoreSwitch, s.event(evBegin, d.rank, 0, n))
	case evBegin:
		if err := d.connect(ID(n)); err != nil {
			s.engine.Stop(err)
			return
		}
		for at := d.firstCore[n]; at >= 0; at = d.nextCore[at] {
			d.workers[at].Wake()
		}
		return
	case evNoticed:
		d.release(core)
		d.noticed(int(n))
	}
	d.step()
}

// serve runs tasks on a compute core until the rank has none left.
func (s *simulation) serve(w *machine.Worker) {
	d, core := s.devices[w.Rank()/s.cores], w.Rank()%s.cores
	d.workers[core] = w
	if d.began++; d.began == s.cores {
		d.begin()
	}
	g := &guard{place: d.place(w.PE().String()), memory: d.memory, signals: s.options.Signals, home: func(rank int) int { return rank * s.cores }}
	for !d.finished {
		w.Wait(idle{})
		if d.finished {
			return
		}
		run := &d.current[core]
		t := &d.Tasks[run.Task]
		run.Begin = w.Now() - d.start
		if d.endOps != nil {
			w.Begin(t.Name, int(run.Task), d.afterOps(run), d.causeOp(run.Task))
		}
		w.Run(t.title(run.Task), func(m tl.Machine) {
			g.begin(m, t, run.Member)
			g.call(run.Task)
		})
		if group := d.groups[run.Task]; group != nil && group.Leave(w) {
			delete(d.groups, run.Task)
		}
		if d.endOps != nil {
			d.endOps[run.Task] = append(d.endOps[run.Task], w.End(int(run.Task)))
		}
		run.End, run.Peers = w.Now()-d.start, g.peers
		d.ends.push(int32(core))
		d.step()
	}
}

// idle is what a compute core without a task waits for.
type idle struct{}

func (idle) String() string { return "a task" }

// begin begins the program of the rank.
func (d *device) begin() {
	d.start = d.engine.Now()
	if d.over() {
		d.finish()
		return
	}
	if d.runtime == HostBuildGraph {
		c := &d.config.Host
		took := c.Fixed + Time(len(d.Tasks))*c.PerTask
		d.did(BuilderCore, Building, 0, took)
		d.engine.Post(d.start+took, d.event(evBuilt, d.rank, 0, 0))
		return
	}
	d.step()
}

// finish sends the workers of the rank home.
func (d *device) finish() {
	d.finished = true
	d.result.Makespan = max(d.result.Makespan, d.engine.Now()-d.start)
	for _, w := range d.workers {
		w.Wake()
	}
}

// afterOps is the operations of the log that ended what a task waited for, one list for
// all members of a group.
func (d *device) afterOps(run *Span) []oplog.Operand {
	if run.Member > 0 {
		return d.afterFirst[run.Task]
	}
	var ops []oplog.Operand
	for _, b := range d.before[run.Task] {
		for _, id := range d.endOps[b] {
			ops = append(ops, oplog.Operand{From: id})
		}
	}
	if d.Tasks[run.Task].Members > 1 {
		d.afterFirst[run.Task] = ops
	}
	return ops
}

// causeOp is the last operation of what released a task, 0 if its submission did.
func (d *device) causeOp(id ID) oplog.ID {
	if d.cause[id] < 0 {
		return 0
	}
	list := d.endOps[d.cause[id]]
	return list[len(list)-1]
}

// standing is how far the rank had come when it stopped moving.
func (d *device) standing() string {
	return fmt.Sprintf("rank %d: of %d tasks %d have been submitted, %d are ready and %d have ended", d.rank, len(d.Tasks), d.next, d.readyNow(), d.done)
}
