package task

import (
	"github.com/kernbench/kernbench/internal/sim"
)

// step gives work to idle control cores: first messages to other ranks, then ends and
// messages to read, then tasks to dispatch, then, under aicpu_build_graph, the next task to
// build or value to read.
func (d *device) step() {
	for core := range d.busy {
		if !d.busy[core] && !d.work(core) {
			break // nor is there any for others
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

// work has a control core do something, if there is anything to do.
func (d *device) work(core int) bool {
	c := &d.config.Control
	if d.post(core) {
		return true
	}
	if d.ends.len() > 0 {
		if at := d.ends.pop(); at.core < 0 {
			d.occupy(core, Receiving, d.by.task(d.messages[at.message].task).ID, c.RegisterRead, evReceived, at.message)
		} else {
			d.occupy(core, Noticing, d.current[at.core].Task, c.RegisterRead, evNoticed, at.core)
		}
		return true
	}
	if id, ok := d.take(d.free.n); ok {
		d.assign(id)
		d.occupy(core, Dispatching, d.Tasks[id].ID, Time(d.Tasks[id].Members)*c.PostedWrite, evDispatched, int32(id))
		return true
	}
	return d.runtime == AICPUBuildGraph && d.build(core)
}

// build starts to submit the next task or, where the orchestration waits for it, to read a
// value. It reports whether there was either.
func (d *device) build(core int) bool {
	if !d.submitted() && d.room() {
		d.occupy(core, Building, d.Tasks[d.next].ID, d.buildTime(), evSubmitted, 0)
		return true
	}
	if p, ok := d.asked(); ok && !d.reading {
		d.reading = true
		d.occupy(core, Reading, d.Tasks[p.task.Task].ID, d.config.Control.RegisterRead, evValue, 0)
		return true
	}
	return false
}

// buildTime returns how long a control core takes to submit the next task.
func (d *device) buildTime() Time {
	t := &d.Tasks[d.next]
	tensors := 0 // in the map
	for i := range t.Args {
		if _, access := t.Args[i].touched(); access != 0 {
			tensors++
		}
	}
	return d.config.submit(d.runtime, len(t.After)+len(t.Across), tensors)
}

// occupy has a control core work for a while.
func (d *device) occupy(core int, kind WorkKind, id ID, took Time, ends sim.Kind, n int32) {
	at := core
	if core == BuilderCore {
		at = len(d.busy)
	} else {
		d.busy[core] = true
	}
	d.causes[at] = d.begins(kind.String(), id)
	d.did(core, kind, id, took)
	d.engine.Post(d.engine.Now()+took, d.event(ends, d.rank, at, n))
}

// did notes what a control core does from now on.
func (d *device) did(core int, kind WorkKind, id ID, took Time) {
	from := d.engine.Now() - d.start
	d.result.Control = append(d.result.Control, Work{d.rank, core, kind, id, from, from + took})
}

// release ends what a control core does, or the orchestrator.
func (d *device) release(core int) {
	d.worked(core)
	if core == len(d.busy) {
		d.building = false
		return
	}
	d.busy[core] = false
}

// submit puts the next task into storage.
func (d *device) submit() {
	was := d.ready.len()
	id := d.schedule.submit()
	d.storedAt[id] = d.engine.Now() - d.start
	d.stamp(was)
}

// stamp notes when tasks became ready that were appended to those that are.
func (d *device) stamp(was int) {
	for i := was; i < d.ready.len(); i++ {
		d.readyAt[d.ready.at(i)] = d.engine.Now() - d.start
	}
}

// assign gives a task the first compute cores that are free.
func (d *device) assign(id ID) {
	t := &d.Tasks[id]
	last := &d.firstCore[id]
	for member := range t.Members {
		core := d.free.take()
		*last, last = int32(core), &d.nextCore[core]
		d.current[core] = running{task: id, Span: Span{
			Rank: d.rank, Core: core, Task: t.ID, Member: member, Name: t.Name, Released: d.released(id), Value: d.valueOf(t),
			Submitted: d.storedAt[id], Ready: d.readyAt[id], Dispatched: d.engine.Now() - d.start,
		}}
	}
	*last = -1
}

// released returns whose end released a task, -1 if its submission did.
func (d *device) released(id ID) ID {
	if d.cause[id].Rank < 0 {
		return -1
	}
	return d.by.task(d.cause[id]).ID
}

// valueOf returns the task whose value was read last before a task was submitted.
func (d *device) valueOf(t *Task) *ID {
	if len(t.read) == 0 {
		return nil
	}
	return &d.by.task(t.read[len(t.read)-1]).ID
}

// noticed is a control core's knowledge that a kernel has ended on a compute core.
func (d *device) noticed(core int) {
	s := &d.current[core]
	s.Noticed = d.engine.Now() - d.start
	d.result.Spans = append(d.result.Spans, s.Span)
	d.free.put(core)
	if was := d.ready.len(); d.endMember(s.task) {
		d.stamp(was)
		d.finishIfOver()
	}
}

// turn keeps compute cores for tasks that have not started, so that tasks which wait for
// other ranks cannot take all of them from those that these ranks wait for.
//
// A task may start before older ones only if each of those could still have the cores that
// it needs: without the ones that tasks younger than the oldest of them hold. So the
// oldest task that has not started can start at the latest when all older ones have ended,
// and a program whose tasks could run one by one, in the order of submission, never stands
// still for want of cores. With one core that is the order in which they run.
type turn struct {
	program *Program
	started []bool
	ended   []bool
	oldest  ID      // the first task that has not started
	younger int     // cores that tasks behind it hold
	largest maxTree // members of tasks that have not started
}

// grow adds the tasks that a program has more than before.
func (t *turn) grow(p *Program) {
	more := make([]bool, len(p.Tasks)-len(t.started))
	t.program, t.started, t.ended = p, append(t.started, more...), append(t.ended, more...)
	t.largest.grow(p)
}

// start notes that a task has started.
func (t *turn) start(id ID) {
	t.started[id] = true
	t.largest.clear(int(id))
	t.younger += t.program.Tasks[id].Members
	for int(t.oldest) < len(t.started) && t.started[t.oldest] {
		if !t.ended[t.oldest] { // it is older than the oldest now
			t.younger -= t.program.Tasks[t.oldest].Members
		}
		t.oldest++
	}
}

// leave notes that a task has ended.
func (t *turn) leave(id ID) {
	t.ended[id] = true
	if id > t.oldest {
		t.younger -= t.program.Tasks[id].Members
	}
}

// maxTree is the members of tasks, with the largest of each half, quarter and so on.
type maxTree struct {
	tasks int
	n     int     // leaves: tasks that there is room for
	node  []int32 // the leaves are the second half
}

// grow adds the tasks that a program has more than the tree.
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
			t.raise(i)
		}
	}
	for i := t.n - 1; i > 0 && t.n > old.n; i-- {
		t.node[i] = max(t.node[2*i], t.node[2*i+1])
	}
}

// raise corrects the nodes above a leaf.
func (t *maxTree) raise(i int) {
	for i /= 2; i > 0; i /= 2 {
		t.node[i] = max(t.node[2*i], t.node[2*i+1])
	}
}

// clear removes a task.
func (t *maxTree) clear(i int) {
	t.node[t.n+i] = 0
	t.raise(t.n + i)
}

// before returns the largest of the tasks before one.
func (t *maxTree) before(i int) int {
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
