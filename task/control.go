package task

import (
	"github.com/kernbench/kernbench/internal/sim"
)

// step starts work on the idle control cores of the rank. A control core does the first of
// these that there is to do: send a message to another rank; read that a kernel has ended,
// or read a message; dispatch a task; and, under aicpu_build_graph, build the next task or
// read the next value. Under tensormap_and_ringbuffer, a separate core builds tasks. Under
// host_build_graph, the host reads values.
func (d *device) step() {
	for core := range d.busy {
		if !d.busy[core] && !d.startWork(core) {
			break // there is no work for the other cores either
		}
	}
	switch d.runtime {
	case TensorMapAndRingBuffer:
		if !d.building {
			d.building = d.build(BuilderCore)
		}
	case HostBuildGraph:
		d.host.read(d)
	}
}

// startWork starts the next work on an idle control core, and reports whether there was any
// work.
func (d *device) startWork(core int) bool {
	c := &d.config.Control
	if d.startPosting(core) {
		return true
	}
	if d.arrivals.len() > 0 {
		if at := d.arrivals.pop(); at.core < 0 {
			d.occupy(core, Receiving, d.builder.task(d.messages[at.message].task).ID, c.RegisterRead, evReceived, at.message)
		} else {
			d.occupy(core, Noticing, d.current[at.core].Task, c.RegisterRead, evNoticed, at.core)
		}
		return true
	}
	if id, ok := d.takeTask(d.free.n); ok {
		d.assign(id)
		d.occupy(core, Dispatching, d.Tasks[id].ID, Time(d.Tasks[id].Members)*c.PostedWrite, evDispatched, int32(id))
		return true
	}
	return d.runtime == AICPUBuildGraph && d.build(core)
}

// build starts one piece of building on a control core: it submits the next task or, if the
// orchestration waits for a value that can be read, reads the value. It reports whether it
// started either.
func (d *device) build(core int) bool {
	if !d.submitted() && d.hasSpace() {
		d.occupy(core, Building, d.Tasks[d.next].ID, d.buildTime(), evSubmitted, 0)
		return true
	}
	if p, ok := d.valueToRead(); ok && !d.reading {
		d.reading = true
		d.occupy(core, Reading, d.Tasks[p.task.Task].ID, d.config.Control.RegisterRead, evValue, 0)
		return true
	}
	return false
}

// buildTime returns how long a control core takes to submit the next task.
func (d *device) buildTime() Time {
	t := &d.Tasks[d.next]
	tensors := 0 // regions that the runtime looks up
	for i := range t.Args {
		if _, access := t.Args[i].regionAccess(); access != 0 {
			tensors++
		}
	}
	return d.config.submitTime(d.runtime, len(t.After)+len(t.Across), tensors)
}

// occupy makes a control core, or the builder, busy with work of the given kind for task
// id. The work begins now and takes the time `took`. An event of kind `ends` with the
// parameter n is posted for the end of the work.
func (d *device) occupy(core int, kind WorkKind, id ID, took Time, ends sim.Kind, n int32) {
	at := core
	if core == BuilderCore {
		at = len(d.busy)
	} else {
		d.busy[core] = true
	}
	d.activities[at] = d.beginActivity(kind.String(), id)
	d.logWork(core, kind, id, took)
	d.engine.Post(d.engine.Now()+took, d.event(ends, d.rank, at, n))
}

// logWork adds work of a control core to the result. The work is for task id, begins now
// and takes the time `took`.
func (d *device) logWork(core int, kind WorkKind, id ID, took Time) {
	from := d.engine.Now() - d.start
	d.result.Control = append(d.result.Control, Work{d.rank, core, kind, id, from, from + took})
}

// release marks a control core, or the builder, as idle, and records in the trace the
// activity that ends now.
func (d *device) release(core int) {
	d.recordCoreActivity(core)
	if core == len(d.busy) {
		d.building = false
		return
	}
	d.busy[core] = false
}

// submit stores the next task of the program. It records the current time as the time when
// the task was stored. If the task is ready at once, submit also records the current time
// as the time when the task became ready.
func (d *device) submit() {
	was := d.ready.len()
	id := d.schedule.submit()
	d.storedAt[id] = d.engine.Now() - d.start
	d.stampReady(was)
}

// stampReady records the current time as the time when tasks became ready. It does so for
// the tasks in the ready queue from index `was` on. These tasks have been added since the
// queue had `was` tasks.
func (d *device) stampReady(was int) {
	for i := was; i < d.ready.len(); i++ {
		d.readyAt[d.ready.at(i)] = d.engine.Now() - d.start
	}
}

// assign gives a free compute core to each member of a task, the cores with the lowest
// numbers first.
func (d *device) assign(id ID) {
	t := &d.Tasks[id]
	last := &d.firstCore[id]
	for member := range t.Members {
		core := d.free.take()
		*last, last = int32(core), &d.nextCore[core]
		d.current[core] = assignment{task: id, Span: Span{
			Rank: d.rank, Core: core, Task: t.ID, Member: member, Name: t.Name, Released: d.releaser(id), Value: d.valueOf(t),
			Submitted: d.storedAt[id], Ready: d.readyAt[id], Dispatched: d.engine.Now() - d.start,
		}}
	}
	*last = -1
}

// releaser returns the ID of the task whose end made task id ready, or -1 if task id was
// ready when it was submitted.
func (d *device) releaser(id ID) ID {
	if d.releasers[id].Rank < 0 {
		return -1
	}
	return d.builder.task(d.releasers[id]).ID
}

// valueOf returns the ID of the task whose value the orchestration read last before it
// submitted t, or nil if it had read no value.
func (d *device) valueOf(t *Task) *ID {
	if len(t.valueTasks) == 0 {
		return nil
	}
	return &d.builder.task(t.valueTasks[len(t.valueTasks)-1]).ID
}

// noticeEnd updates the state of the rank after a control core has read that the kernel on
// a compute core has ended.
func (d *device) noticeEnd(core int) {
	s := &d.current[core]
	s.Noticed = d.engine.Now() - d.start
	d.result.Spans = append(d.result.Spans, s.Span)
	d.free.put(core)
	if was := d.ready.len(); d.endMember(s.task) {
		d.stampReady(was)
		d.finishIfOver()
	}
}

// coreReservation reserves compute cores for tasks that have not started. Without it, tasks
// that wait for other ranks could occupy all cores, and the tasks that those ranks wait for
// could never start.
//
// A task may start before older tasks only if each of these older tasks could still get its
// cores while the new task and all running tasks younger than oldest keep their cores. So
// the oldest task that has not started can start when all older tasks have ended, at the
// latest. A program whose tasks could run one by one, in the order of submission, therefore
// never deadlocks for lack of cores. With one core, tasks run in the order of submission.
type coreReservation struct {
	program      *Program
	started      []bool
	ended        []bool
	oldest       ID      // the first task that has not started
	youngerCores int     // cores held by tasks younger than oldest
	largest      maxTree // numbers of members of the tasks that have not started
}

// grow extends the reservation to the tasks that were added to program p since the last
// call.
func (t *coreReservation) grow(p *Program) {
	more := make([]bool, len(p.Tasks)-len(t.started))
	t.program, t.started, t.ended = p, append(t.started, more...), append(t.ended, more...)
	t.largest.grow(p)
}

// markStarted records that task id has started and holds its compute cores.
func (t *coreReservation) markStarted(id ID) {
	t.started[id] = true
	t.largest.clear(int(id))
	t.youngerCores += t.program.Tasks[id].Members
	for int(t.oldest) < len(t.started) && t.started[t.oldest] {
		if !t.ended[t.oldest] { // it is now older than oldest
			t.youngerCores -= t.program.Tasks[t.oldest].Members
		}
		t.oldest++
	}
}

// markEnded records that task id has ended and has released its compute cores.
func (t *coreReservation) markEnded(id ID) {
	t.ended[id] = true
	if id > t.oldest {
		t.youngerCores -= t.program.Tasks[id].Members
	}
}

// maxTree is a binary tree over the numbers of members of tasks. Each node holds the
// largest number below it.
type maxTree struct {
	tasks int
	n     int     // leaves: the number of tasks that the tree has space for
	node  []int32 // node[n:] are the leaves; the children of node i are 2i and 2i+1
}

// grow adds the tasks of program p that the tree does not have yet.
func (t *maxTree) grow(p *Program) {
	old := *t
	if len(p.Tasks) > t.n {
		t.n = max(len(p.Tasks), 2*old.n)
		t.node = make([]int32, 2*t.n)
		copy(t.node[t.n:], old.node[old.n:])
	}
	for ; t.tasks < len(p.Tasks); t.tasks++ {
		i := t.n + t.tasks
		t.node[i] = int32(p.Tasks[t.tasks].Members)
		if t.n == old.n {
			t.updateAbove(i)
		}
	}
	for i := t.n - 1; i > 0 && t.n > old.n; i-- {
		t.node[i] = max(t.node[2*i], t.node[2*i+1])
	}
}

// updateAbove recomputes the maxima in all nodes above node i.
func (t *maxTree) updateAbove(i int) {
	for i /= 2; i > 0; i /= 2 {
		t.node[i] = max(t.node[2*i], t.node[2*i+1])
	}
}

// clear removes the task with index i from the tree.
func (t *maxTree) clear(i int) {
	t.node[t.n+i] = 0
	t.updateAbove(t.n + i)
}

// maxBefore returns the largest number of members among the tasks with indices below i.
func (t *maxTree) maxBefore(i int) int {
	most := int32(0)
	for lo, hi := t.n, t.n+i; lo < hi; lo, hi = lo/2, hi/2 {
		if lo%2 == 1 {
			most = max(most, t.node[lo])
			lo++
		}
		if hi%2 == 1 {
			hi--
			most = max(most, t.node[hi])
		}
	}
	return int(most)
}
