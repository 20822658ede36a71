package task

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// simulation is a run of the programs of all ranks on a simulated machine.
type simulation struct {
	engine   *sim.Engine
	machine  *machine.Machine
	target   sim.Target
	options  *Options
	cores    int // compute cores of each rank
	devices  []*device
	messages []message  // between ranks, in the order of sending
	inFlight []activity // by index in messages: the transfer over the fabric
	result   *Result
	failed   error // why an orchestration could not continue; nil if none failed
}

// device is the state of the control cores and compute cores of one rank.
type device struct {
	*simulation
	*schedule
	host           *hostBuilder
	rank           int
	messagePE      machine.PEID // the PE whose TCM receives messages from other ranks
	memory         []memory     // by number of the tensor
	start          Time
	workers        []*machine.Worker
	startedWorkers int // number of workers that have started

	free          freeCores
	arrivals      queue[arrival]        // ends of kernels and messages that no control core has read
	busy          []bool                // by control core that schedules
	posting       []message             // by control core: the message that it sends
	activities    []activity            // by control core: what it does; the last entry is for the builder
	dispatchMarks map[ID]sim.Mark       // in a trace, by task whose kernel has not begun: its dispatch
	building      bool                  // the orchestrator is busy
	reading       bool                  // a value is being read
	current       []assignment          // by compute core: its task
	nextCore      []int32               // by compute core: the next core of its group; -1 for none
	firstCore     []int32               // by task: the core of member 0
	groups        map[ID]*machine.Group // by running task: the queues between its members
	storedAt      []Time                // by task: when it was stored
	readyAt       []Time                // by task: when it became ready
	logged        bool
	endOps        [][]oplog.ID           // by task: the operations that ended its members; only if logged
	groupAfterOps map[ID][]oplog.Operand // by task group: what afterOps returned for member 0
	finished      bool
}

// assignment is a member of a task that was given to a compute core.
type assignment struct {
	Span
	task ID // index in Program.Tasks
}

// arrival is the end of a kernel on a compute core, or a message from another rank.
type arrival struct {
	core    int32 // -1 for a message
	message int32 // index in simulation.messages
}

// The kinds of events. Each event has a rank, and the parameters named here.
const (
	evBuilt      sim.Kind = iota // the host has built the graph
	evSubmitted                  // the next task is stored; control core
	evDispatched                 // a task is written to its compute cores; task, control core
	evBegin                      // the compute cores begin a task; task
	evNoticed                    // the end of a kernel is read; compute core, control core
	evPosted                     // a message is written; control core
	evArrived                    // a message has arrived; index of the message
	evReceived                   // a message is read; index of the message, control core
	evValue                      // a value is read; control core
)

// event returns an event of the given kind. Its argument encodes the rank, the core and the
// parameter n.
func (s *simulation) event(kind sim.Kind, rank, core int, n int32) sim.Event {
	return sim.Event{Target: s.target, Kind: kind, Arg: uint64(rank)<<48 | uint64(core)<<32 | uint64(uint32(n))}
}

// Handle processes an event of the given kind. Most events end the work of a control core.
func (s *simulation) Handle(kind sim.Kind, arg uint64) {
	d, core, n := s.devices[arg>>48], int(arg>>32&0xffff), int32(uint32(arg))
	switch kind {
	case evBuilt:
		d.recordCoreActivity(len(d.busy))
		d.host.launch()
		return
	case evSubmitted:
		d.release(core)
		d.submit()
	case evDispatched:
		d.release(core)
		if s.engine.By != 0 {
			d.dispatchMarks[ID(n)] = s.engine.By
		}
		c := &d.config.Control
		s.engine.Post(s.engine.Now()+c.ToCompute+c.CoreSwitch, s.event(evBegin, d.rank, 0, n))
	case evBegin:
		s.engine.By = d.dispatchMarks[ID(n)]
		delete(d.dispatchMarks, ID(n))
		if err := d.connectMembers(ID(n)); err != nil {
			s.engine.Stop(err)
			return
		}
		for at := d.firstCore[n]; at >= 0; at = d.nextCore[at] {
			d.workers[at].Wake()
		}
		return
	case evNoticed:
		d.release(core)
		d.noticeEnd(int(n))
	case evPosted:
		d.release(core)
		d.send(d.posting[core])
	case evArrived:
		if c := s.inFlight[n]; c.releasedBy != 0 {
			d.recordActivity(false, "messages", c)
		}
		d.arrivals.push(arrival{-1, n})
	case evReceived:
		d.release(core)
		d.applyMessage(s.messages[n])
	case evValue:
		d.release(core)
		d.deliverValue()
	}
	d.step()
}

// serve runs the tasks that are given to compute core w, until the program of the rank has
// ended.
func (s *simulation) serve(w *machine.Worker) {
	d, core := s.devices[w.Rank()/s.cores], w.Rank()%s.cores
	d.workers[core] = w
	if d.startedWorkers++; d.startedWorkers == s.cores {
		d.begin()
	}
	g := &guard{place: d.place(w.PE().String()), memory: d.memory, signals: s.options.Signals, peerID: func(rank int) int { return rank * s.cores }}
	for !d.finished {
		w.Wait(idle{})
		if d.finished {
			return
		}
		run := &d.current[core]
		t := &d.Tasks[run.task]
		run.Begin = w.Now() - d.start
		if d.logged {
			w.Begin(t.Name, int(t.ID), d.afterOps(run), d.releaserOp(run.task))
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
		run.End, run.Peers = w.Now()-d.start, g.usesPeers
		d.arrivals.push(arrival{core: int32(core)})
		d.step()
	}
}

// idle describes what a compute core without a task waits for, in reports of deadlocks.
type idle struct{}

func (idle) String() string { return "a task" }

// begin starts the program of the rank. It is called when all workers of the rank have
// started.
func (d *device) begin() {
	d.start = d.engine.Now()
	d.addOutEdges()
	if d.host.startedDevices++; d.runtime == HostBuildGraph {
		if d.host.startedDevices == len(d.host.devices) {
			d.host.build()
		}
		return
	}
	d.finishIfOver()
	d.step()
}

// finishIfOver ends the workers of the rank if all tasks of its program have ended.
func (d *device) finishIfOver() {
	if d.finished || !d.allEnded() {
		return
	}
	d.finished = true
	d.result.Makespan = max(d.result.Makespan, d.engine.Now()-d.start)
	for _, w := range d.workers {
		w.Wake()
	}
}

// afterOps returns the operations of the op log that must precede the assigned task: the
// ends of the tasks on which it depends, and the ends of the tasks whose values were read
// before its submission. All members of a group share one list.
func (d *device) afterOps(run *assignment) []oplog.Operand {
	if run.Member > 0 {
		return d.groupAfterOps[run.task]
	}
	var ops []oplog.Operand
	add := func(ends []oplog.ID) {
		for _, id := range ends {
			ops = append(ops, oplog.Operand{From: id})
		}
	}
	t := &d.Tasks[run.task]
	for _, b := range d.predecessors[run.task] {
		add(d.endOps[b])
	}
	for _, list := range [][]Ref{t.remoteDependencies(d.inferred), t.valueTasks} {
		for _, b := range list {
			add(d.endOpsOf(b))
		}
	}
	if t.Members > 1 {
		d.groupAfterOps[run.task] = ops
	}
	return ops
}

// endOpsOf returns the operations of the op log that ended the members of task t. The task
// may belong to any rank.
func (d *device) endOpsOf(t Ref) []oplog.ID { return d.devices[t.Rank].endOps[t.Task] }

// releaserOp returns the operation of the op log whose end allowed task id to start. If a
// dependency made the task ready, this is the last operation of that dependency. If the
// task was ready when it was submitted, this is the last operation of the task whose value
// was read last before the submission. If no value was read before, releaserOp returns 0.
func (d *device) releaserOp(id ID) oplog.ID {
	cause := d.releasers[id]
	if read := d.Tasks[id].valueTasks; cause.Rank < 0 && len(read) > 0 {
		cause = read[len(read)-1]
	}
	if cause.Rank < 0 {
		return 0
	}
	list := d.endOpsOf(cause)
	return list[len(list)-1]
}

// progress describes how far the program of the rank had come when the run stopped in a
// deadlock.
func (d *device) progress() string {
	return fmt.Sprintf("rank %d: of %d tasks %d have been submitted, %d are ready and %d have ended%s",
		d.rank, len(d.Tasks), d.next, d.countReady(), d.numEnded, d.describeWait("; "))
}
