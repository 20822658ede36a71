package task

import "github.com/kernbench/kernbench/internal/sim"

// step gives work to control cores that have none: first what has ended, then what can
// be dispatched, then, where a control core does that too, the next task to build.
func (d *device) step() {
	for core := range d.busy {
		if !d.busy[core] && !d.work(core) {
			break // nor is there any for others
		}
	}
	if d.runtime == TensorMapAndRingBuffer && !d.building && d.builds() {
		d.building = true
		d.occupy(BuilderCore, Building, d.next, d.buildTime(), evSubmitted, 0)
	}
}

// work has a control core do something, if there is anything to do.
func (d *device) work(core int) bool {
	c := &d.config.Control
	if d.ends.len() > 0 {
		at := d.ends.pop()
		d.occupy(core, Noticing, d.current[at].Task, c.RegisterRead, evNoticed, at)
		return true
	}
	if id, ok := d.take(d.free.n); ok {
		d.assign(id)
		d.occupy(core, Dispatching, id, Time(d.Tasks[id].Members)*c.PostedWrite, evDispatched, int32(id))
		return true
	}
	if d.runtime == AICPUBuildGraph && d.builds() {
		d.occupy(core, Building, d.next, d.buildTime(), evSubmitted, 0)
		return true
	}
	return false
}

// builds reports whether there is a task to submit, and room for it.
func (d *device) builds() bool { return !d.submitted() && d.room() }

// buildTime is how long a control core takes to submit the next task.
func (d *device) buildTime() Time {
	t := &d.Tasks[d.next]
	if d.runtime == AICPUBuildGraph {
		c := &d.config.AICPU
		return c.PerTask + Time(len(t.After))*c.PerEdge
	}
	c := &d.config.TensorMap
	took := c.PerTask + Time(len(t.After))*c.PerEdge
	for i := range t.Args {
		if t.Args[i].Access != 0 { // the others are not in the map
			took += c.PerTensor
		}
	}
	return took
}

// occupy has a control core work for a while.
func (d *device) occupy(core int, kind WorkKind, id ID, took Time, ends sim.Kind, n int32) {
	at := core
	if core == BuilderCore {
		at = len(d.busy)
	} else {
		d.busy[core] = true
	}
	d.did(core, kind, id, took)
	d.engine.Post(d.engine.Now()+took, d.event(ends, d.rank, at, n))
}

// did notes what a control core does from now on.
func (d *device) did(core int, kind WorkKind, id ID, took Time) {
	from := d.engine.Now() - d.start
	d.result.Control = append(d.result.Control, Work{d.rank, core, kind, id, from, from + took})
}

// release ends what a control core does.
func (d *device) release(core int) {
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
	d.members[id] = int32(t.Members)
	last := &d.firstCore[id]
	for member := range t.Members {
		core := d.free.take()
		*last, last = int32(core), &d.nextCore[core]
		d.current[core] = Span{
			Rank: d.rank, Core: core, Task: id, Member: member, Name: t.Name, Released: d.cause[id],
			Submitted: d.storedAt[id], Ready: d.readyAt[id], Dispatched: d.engine.Now() - d.start,
		}
	}
	*last = -1
}

// noticed is a control core's knowledge that a kernel has ended on a compute core.
func (d *device) noticed(core int) {
	s := &d.current[core]
	s.Noticed = d.engine.Now() - d.start
	d.result.Spans = append(d.result.Spans, *s)
	d.free.put(core)
	if d.members[s.Task]--; d.members[s.Task] > 0 {
		return
	}
	was := d.ready.len()
	d.end(s.Task)
	d.stamp(was)
	if d.over() {
		d.finish()
	}
}
