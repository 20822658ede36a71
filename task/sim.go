package task

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// simulation is the control cores of all ranks at work on a simulated machine.
type simulation struct {
	engine   *sim.Engine
	machine  *machine.Machine
	target   sim.Target
	options  *Options
	cores    int // compute cores of each rank
	devices  []*device
	messages []message // between ranks, by number
	underWay []cause   // by number of a message: its way over the fabric
	result   *Result
	failed   error // why an orchestration could not go on
}

// device is the control cores of one rank, and what they keep of its compute cores.
type device struct {
	*simulation
	*schedule
	host    *hostBuilder
	rank    int
	home    machine.PEID // where messages of other ranks arrive
	memory  []memory     // of the tensors of its program
	start   Time
	workers []*machine.Worker
	began   int // workers

	free       freeCores
	ends       queue[arrival]        // ends of kernels, and messages, that no control core has read
	busy       []bool                // control cores that schedule
	posting    []message             // by control core: what it sends
	causes     []cause               // by control core, and of the builder: what it does
	turning    map[ID]sim.Mark       // in a trace, by task that cores turn to: its dispatch
	building   bool                  // the orchestrator is
	reading    bool                  // a value is being read
	current    []running             // by compute core: what it was given
	nextCore   []int32               // by compute core: the next one of its group, -1 for none
	firstCore  []int32               // by task
	groups     map[ID]*machine.Group // by task: the queues of members that run
	storedAt   []Time                // by task
	readyAt    []Time
	logged     bool
	endOps     [][]oplog.ID           // by task, if somebody wants to see the log
	afterFirst map[ID][]oplog.Operand // what the members of a group began after
	finished   bool
}

// running is a task on a compute core.
type running struct {
	Span
	task ID // in the program of the rank
}

// arrival is the end of a kernel on a compute core, or a message.
type arrival struct {
	core    int32 // -1 of a message
	message int32
}

// What events say, of a rank and a number that depends on it.
const (
	evBuilt      sim.Kind = iota // the host has built the graph
	evSubmitted                  // the next task is in storage; by control core
	evDispatched                 // its compute cores have been written to; by task and control core
	evBegin                      // they have turned to it; by task
	evNoticed                    // the end of a kernel is known; by compute core and control core
	evPosted                     // a message is on its way; by control core
	evArrived                    // a message is there; by its number
	evReceived                   // it is read; by its number and control core
	evValue                      // a value is read; by control core
)

func (s *simulation) event(kind sim.Kind, rank, core int, n int32) sim.Event {
	return sim.Event{Target: s.target, Kind: kind, Arg: uint64(rank)<<48 | uint64(core)<<32 | uint64(uint32(n))}
}

// Handle is the end of a piece of work.
func (s *simulation) Handle(kind sim.Kind, arg uint64) {
	d, core, n := s.devices[arg>>48], int(arg>>32&0xffff), int32(uint32(arg))
	switch kind {
	case evBuilt:
		d.worked(len(d.busy))
		d.host.launch()
		return
	case evSubmitted:
		d.release(core)
		d.submit()
	case evDispatched:
		d.release(core)
		if s.engine.By != 0 {
			d.turning[ID(n)] = s.engine.By
		}
		c := &d.config.Control
		s.engine.Post(s.engine.Now()+c.ToCompute+c.CoreSwitch, s.event(evBegin, d.rank, 0, n))
	case evBegin:
		s.engine.By = d.turning[ID(n)]
		delete(d.turning, ID(n))
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
	case evPosted:
		d.release(core)
		d.send(d.posting[core])
	case evArrived:
		if c := s.underWay[n]; c.by != 0 {
			d.record(false, "messages", c)
		}
		d.ends.push(arrival{-1, n})
	case evReceived:
		d.release(core)
		d.received(s.messages[n])
	case evValue:
		d.release(core)
		d.value()
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
		t := &d.Tasks[run.task]
		run.Begin = w.Now() - d.start
		if d.logged {
			w.Begin(t.Name, int(t.ID), d.afterOps(run), d.causeOp(run.task))
		}
		w.Run(t.title(), func(m tl.Machine) {
			g.begin(m, t, run.Member)
			g.call()
		})
		if group := d.groups[run.task]; group != nil && group.Leave(w) {
			delete(d.groups, run.task)
		}
		if d.logged {
			d.endOps[run.task] = append(d.endOps[run.task], w.End(int(t.ID)))
		}
		run.End, run.Peers = w.Now()-d.start, g.peers
		d.ends.push(arrival{core: int32(core)})
		d.step()
	}
}

// idle is what a compute core without a task waits for.
type idle struct{}

func (idle) String() string { return "a task" }

// begin begins the program of the rank.
func (d *device) begin() {
	d.start = d.engine.Now()
	d.list()
	if d.host.began++; d.runtime == HostBuildGraph {
		if d.host.began == len(d.host.devices) {
			d.host.build()
		}
		return
	}
	d.finishIfOver()
	d.step()
}

// finishIfOver sends the workers of the rank home, if its program has ended.
func (d *device) finishIfOver() {
	if d.finished || !d.over() {
		return
	}
	d.finished = true
	d.result.Makespan = max(d.result.Makespan, d.engine.Now()-d.start)
	for _, w := range d.workers {
		w.Wake()
	}
}

// afterOps returns the operations of the log that ended what a task waited for, one list for
// all members of a group: the tasks before it, and those whose values decided that it was
// submitted.
func (d *device) afterOps(run *running) []oplog.Operand {
	if run.Member > 0 {
		return d.afterFirst[run.task]
	}
	var ops []oplog.Operand
	add := func(ends []oplog.ID) {
		for _, id := range ends {
			ops = append(ops, oplog.Operand{From: id})
		}
	}
	t := &d.Tasks[run.task]
	for _, b := range d.before[run.task] {
		add(d.endOps[b])
	}
	for _, list := range [][]Ref{t.across(d.inferred), t.read} {
		for _, b := range list {
			add(d.endsOf(b))
		}
	}
	if t.Members > 1 {
		d.afterFirst[run.task] = ops
	}
	return ops
}

// endsOf returns the operations that ended a task of any rank.
func (d *device) endsOf(t Ref) []oplog.ID { return d.devices[t.Rank].endOps[t.Task] }

// causeOp returns the last operation of what released a task: the task that it waited for
// last, or, if its submission did, the one whose value was read last before that; 0 if
// there is neither.
func (d *device) causeOp(id ID) oplog.ID {
	cause := d.cause[id]
	if read := d.Tasks[id].read; cause.Rank < 0 && len(read) > 0 {
		cause = read[len(read)-1]
	}
	if cause.Rank < 0 {
		return 0
	}
	list := d.endsOf(cause)
	return list[len(list)-1]
}

// standing returns how far the rank had come when it stopped moving.
func (d *device) standing() string {
	return fmt.Sprintf("rank %d: of %d tasks %d have been submitted, %d are ready and %d have ended%s",
		d.rank, len(d.Tasks), d.next, d.readyNow(), d.done, d.waitsFor("; "))
}
