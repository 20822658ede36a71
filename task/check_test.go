package task

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/oplog"
)

// taskTimes holds the spans of a task, and the times that all its members share.
type taskTimes struct {
	members []Span // by member
	noticed Time   // when the last end was noticed
	builds  Time   // when building the task began
}

// check checks what must hold for every simulated run. Times are in order and add up. No
// core does two things at once. Tasks are dispatched in the order in which they became
// ready, except that the oldest task may go first. Storage does not overflow. The op log
// records what each task waited for.
func (o *outcome) check(t tester) {
	t.Helper()
	tasks := make([][]taskTimes, o.Ranks)
	for rank, p := range o.programs {
		tasks[rank] = make([]taskTimes, len(p.Tasks))
	}
	for _, s := range o.Spans {
		at := o.ref(s.Rank, s.Task)
		if int(at.Rank) != s.Rank {
			t.Fatalf("%s: task %d of rank %d runs on rank %d", o.Runtime, s.Task, at.Rank, s.Rank)
		}
		x := &tasks[s.Rank][at.Task]
		x.members, x.noticed = append(x.members, s), max(x.noticed, s.Noticed)
	}
	for _, w := range o.Control {
		if at := o.ref(w.Rank, w.Task); w.Kind == Building && o.Runtime != HostBuildGraph {
			tasks[at.Rank][at.Task].builds = w.From
		}
	}
	for rank, p := range o.programs {
		o.checkTasks(t, p, tasks)
		o.checkStorage(t, p, tasks[rank])
	}
	o.checkTimes(t)
	o.checkControl(t)
	if o.log != nil {
		o.checkLog(t, tasks)
	}
}

// ref returns the Ref of the task that has the given rank and ID in the result.
func (o *outcome) ref(rank int, id ID) Ref {
	if b := o.programs[rank].builder; b.single {
		return b.tasks[id]
	}
	return Ref{int32(rank), id}
}

// messageRead reports whether, at the given time, a control core of a rank finished reading
// a message that task id has ended.
func (o *outcome) messageRead(rank int, id ID, at Time) bool {
	return slices.ContainsFunc(o.Control, func(w Work) bool {
		return w.Kind == Receiving && w.Rank == rank && w.Task == id && w.To == at
	})
}

// checkTasks checks the times of each task of program p. The times must be in order. The
// task must become ready when the ends of all tasks that it waits for are known. `all`
// holds the times of all tasks, by rank.
func (o *outcome) checkTasks(t tester, p *Program, all [][]taskTimes) {
	t.Helper()
	tasks := all[p.Rank]
	c := o.config()
	before := p.Dependencies(o.Runtime != AICPUBuildGraph)
	order := make([]ID, len(tasks))
	for i := range tasks {
		x, want := &tasks[i], &p.Tasks[i]
		order[i] = ID(i)
		if len(x.members) != want.Members {
			t.Fatalf("%s: rank %d, task %d ran %d times, want %d", o.Runtime, p.Rank, i, len(x.members), want.Members)
		}
		slices.SortFunc(x.members, func(a, b Span) int { return cmp.Compare(a.Member, b.Member) })
		s := x.members[0]
		for member, m := range x.members {
			if m.Member != member || m.Begin != s.Begin || m.Name != want.Name {
				t.Errorf("%s: member %d of rank %d's task %d is %+v, want it to begin with the first, %+v", o.Runtime, member, p.Rank, i, m, s)
			}
			if !slices.IsSorted([]Time{0, m.Submitted, m.Ready, m.Dispatched, m.Begin, m.End, m.Noticed, o.Makespan}) {
				t.Errorf("%s: the times of %+v are not in order, with a makespan of %v", o.Runtime, m, o.Makespan)
			}
		}
		if want := s.Dispatched + Time(want.Members)*c.Control.PostedWrite + c.Control.ToCompute + c.Control.CoreSwitch; s.Begin != want {
			t.Errorf("%s: rank %d's task %d begins at %v, want %v", o.Runtime, p.Rank, i, s.Begin, want)
		}
		ready := s.Submitted
		for _, b := range before[i] {
			ready = max(ready, tasks[b].noticed)
		}
		released := Ref{Rank: -1}
		if s.Released >= 0 {
			released = o.ref(p.Rank, s.Released)
		}
		for _, b := range want.remoteDependencies(o.Runtime.infers()) {
			known := all[b.Rank][b.Task].noticed + c.Control.PostedWrite + c.Control.RegisterRead
			if s.Ready < known {
				t.Errorf("%s: rank %d's task %d is ready at %v, want %v or later, after %v", o.Runtime, p.Rank, i, s.Ready, known, b)
			}
			if b == released {
				ready = s.Ready
				if !o.messageRead(p.Rank, s.Released, s.Ready) {
					t.Errorf("%s: rank %d's task %d is ready at %v, when no control core there reads of task %d", o.Runtime, p.Rank, i, s.Ready, s.Released)
				}
			}
		}
		for _, b := range want.valueTasks { // the task was submitted after these values were read
			known := all[b.Rank][b.Task].noticed
			if o.Runtime != HostBuildGraph {
				known += c.Control.RegisterRead
				if int(b.Rank) != p.Rank {
					known += c.Control.PostedWrite + c.Control.RegisterRead
				}
			}
			if s.Submitted < known {
				t.Errorf("%s: rank %d's task %d is submitted at %v, when the value of %v is not known before %v", o.Runtime, p.Rank, i, s.Submitted, b, known)
			}
		}
		if s.Ready != ready {
			t.Errorf("%s: rank %d's task %d, submitted at %v, is ready at %v, want %v", o.Runtime, p.Rank, i, s.Submitted, s.Ready, ready)
		}
		switch {
		case s.Released < 0:
			if s.Ready != s.Submitted {
				t.Errorf("%s: rank %d's task %d is ready at %v because it was submitted, and that was at %v", o.Runtime, p.Rank, i, s.Ready, s.Submitted)
			}
		case slices.Contains(want.remoteDependencies(o.Runtime.infers()), released):
		case !slices.Contains(before[i], released.Task) || tasks[released.Task].noticed != s.Ready:
			t.Errorf("%s: rank %d's task %d, after %v, is ready at %v because of task %d", o.Runtime, p.Rank, i, before[i], s.Ready, s.Released)
		}
	}
	slices.SortStableFunc(order, func(a, b ID) int {
		return cmp.Compare(tasks[a].members[0].Ready, tasks[b].members[0].Ready)
	})
	for i := 1; i < len(order); i++ {
		a, b := tasks[order[i-1]].members[0], tasks[order[i]].members[0]
		oldest := !slices.ContainsFunc(tasks[:order[i]], func(x taskTimes) bool { return x.members[0].Dispatched > b.Dispatched })
		if a.Ready < b.Ready && a.Dispatched > b.Dispatched && !oldest {
			t.Errorf("%s: rank %d's task %d is overtaken by task %d: ready at %v and %v, dispatched at %v and %v", o.Runtime, p.Rank, a.Task, b.Task, a.Ready, b.Ready, a.Dispatched, b.Dispatched)
		}
	}
}

// checkStorage checks that building a task of program p begins only when there is storage
// for the task.
func (o *outcome) checkStorage(t tester, p *Program, tasks []taskTimes) {
	t.Helper()
	c := o.config()
	limit := len(tasks)
	switch o.Runtime {
	case AICPUBuildGraph:
		limit = c.AICPU.Tasks
	case TensorMapAndRingBuffer:
		limit = c.TensorMap.Slots
	}
	if limit >= len(tasks) {
		return
	}
	for i := range tasks {
		if held := o.countStored(p, tasks, i); held >= limit {
			t.Errorf("%s: rank %d's task %d is built at %v, when %d tasks are in storage for %d", o.Runtime, p.Rank, i, tasks[i].builds, held, limit)
		}
	}
}

// countStored returns the number of tasks that are in storage at the instant when the
// building of task `next` begins. Tasks whose ends are read at that instant do not count.
func (o *outcome) countStored(p *Program, tasks []taskTimes, next int) (held int) {
	rings := o.config().TensorMap.Rings
	depth := func(i int) int { return min(int(p.Tasks[i].Depth), rings-1) }
	for i := range next {
		gone := tasks[i].noticed <= tasks[next].builds
		if o.Runtime == TensorMapAndRingBuffer {
			if depth(i) != depth(next) {
				continue
			}
			if scope := p.Tasks[i].Scope; scope >= 0 {
				gone = gone && int(p.Scopes[scope].End) <= next
			}
			gone = gone && held == 0 // slots become free in order
		}
		if !gone {
			held++
		}
	}
	return held
}

// checkTimes checks that each compute core does one thing at a time, and that the times of
// all cores add up to the sums in the result.
func (o *outcome) checkTimes(t tester) {
	t.Helper()
	spans := slices.Clone(o.Spans)
	slices.SortFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Core, b.Core), cmp.Compare(a.Dispatched, b.Dispatched), cmp.Compare(a.Noticed, b.Noticed))
	})
	var compute, communicate, schedule, idle Time
	idle = Time(o.Ranks*o.Cores) * o.Makespan
	last := Time(0)
	for i, s := range spans {
		if i > 0 && spans[i-1].Rank == s.Rank && spans[i-1].Core == s.Core && spans[i-1].Noticed > s.Dispatched {
			t.Errorf("%s: a core does two things at once: %+v and %+v", o.Runtime, spans[i-1], s)
		}
		if s.Peers {
			communicate += s.End - s.Begin
		} else {
			compute += s.End - s.Begin
		}
		schedule += s.Begin - s.Dispatched + s.Noticed - s.End
		idle -= s.Noticed - s.Dispatched
		last = max(last, s.Noticed)
	}
	for _, w := range o.Control {
		if w.Kind == Reading || w.Kind == Receiving { // a value may be read after the last end
			last = max(last, w.To)
		}
	}
	got, want := []Time{o.Makespan, o.Compute, o.Communicate, o.Schedule, o.Idle}, []Time{last, compute, communicate, schedule, idle}
	if !slices.Equal(got, want) || idle < 0 {
		t.Errorf("%s: makespan, compute, communicate, schedule and idle are %v, want %v", o.Runtime, got, want)
	}
	if p := o.Critical; p.Build+p.Stall+p.Wait+p.Schedule+p.Compute+p.Communicate != o.Makespan {
		t.Errorf("%s: the critical path %+v does not add up to the makespan, %v", o.Runtime, p, o.Makespan)
	}
	if all := o.Compute + o.Communicate + o.Schedule + o.Idle; all != Time(o.Ranks*o.Cores)*o.Makespan {
		t.Errorf("%s: compute cores account for %v, want %d ranks of %d cores for %v", o.Runtime, all, o.Ranks, o.Cores, o.Makespan)
	}
}

// checkControl checks that each control core does one thing at a time, and that the control
// cores do exactly the work that the program needs.
func (o *outcome) checkControl(t tester) {
	t.Helper()
	type place struct{ rank, core int }
	until := map[place]Time{}
	var count [6]int
	var took [6]Time
	for _, w := range o.Control {
		at := place{w.Rank, w.Core}
		if w.From < until[at] || w.To < w.From {
			t.Errorf("%s: %+v begins while its control core works until %v", o.Runtime, w, until[at])
		}
		until[at] = w.To
		if at := o.ref(w.Rank, w.Task); w.Kind == Building && o.Runtime != HostBuildGraph {
			x := &o.programs[at.Rank].Tasks[at.Task]
			tensors := 0
			for _, a := range x.Args {
				if a.Region.Tensor != nil && (a.Access != 0 || a.Peer.Tensor != nil) {
					tensors++
				}
			}
			if want := o.config().submitTime(o.Runtime, len(x.After)+len(x.Across), tensors); w.To-w.From != want {
				t.Errorf("%s: task %d is built for %v, want %v", o.Runtime, w.Task, w.To-w.From, want)
			}
		}
		count[w.Kind]++
		took[w.Kind] += w.To - w.From
	}
	b := o.programs[0].builder
	want := [6]int{Building: o.Tasks, Dispatching: o.Tasks, Noticing: len(o.Spans), Posting: count[Posting], Receiving: count[Posting]}
	messages := 0
	for _, p := range o.programs {
		if o.Runtime.infers() {
			messages += len(p.out[1])
		} else {
			messages += len(p.out[0])
		}
		if !b.single || p.Rank == 0 {
			want[Reading] += len(p.builder.pauses)
		}
	}
	if b.single && o.Runtime != HostBuildGraph { // each value is sent to all other ranks
		messages += len(b.pauses) * (o.Ranks - 1)
	}
	if count[Posting] != messages {
		t.Errorf("%s: %d messages between ranks, want %d", o.Runtime, count[Posting], messages)
	}
	if o.Runtime == HostBuildGraph {
		want[Building] = o.countGraphs()
	}
	if got := [3]Time{o.Build, o.Dispatch, o.Notice}; count != want || got != [3]Time{took[Building] + took[Reading], took[Dispatching] + took[Posting], took[Noticing] + took[Receiving]} {
		t.Errorf("%s: control cores did %d for %v, want %d for %v", o.Runtime, count, got, want, took)
	}
}

// countGraphs returns the number of graphs that the hosts build under host_build_graph.
// Reads of values divide a program into parts. A host builds one graph for each part in
// which tasks are submitted.
func (o *outcome) countGraphs() (n int) {
	for _, p := range o.programs {
		if p.builder.single && p.Rank > 0 {
			break // one host builds for all ranks
		}
		last := 0
		for i := range len(p.builder.pauses) + 1 {
			tasks := 0
			for _, q := range p.builder.programs {
				tasks += q.recordedUntil(i).tasks
			}
			n += min(1, tasks-last)
			last = tasks
		}
	}
	return n
}

// checkLog checks the op log. The operation that begins a task must list the ends of the
// tasks that the task waited for, and must name the right operation as its cause.
func (o *outcome) checkLog(t tester, tasks [][]taskTimes) {
	t.Helper()
	pes := sips(o.Ranks).Spec().CubesPerSIP() * sips(o.Ranks).Spec().PEsPerCube()
	ends := make([]map[ID][]oplog.ID, o.Ranks)
	before := make([][][]ID, o.Ranks)
	for rank, p := range o.programs {
		ends[rank], before[rank] = map[ID][]oplog.ID{}, p.Dependencies(o.Runtime != AICPUBuildGraph)
	}
	begun := 0
	for i := range o.log.Ops {
		op := &o.log.Ops[i]
		if op.Kind != oplog.TaskBegin && op.Kind != oplog.TaskEnd {
			continue
		}
		rank := int(op.PE) / pes
		id := o.ref(rank, ID(op.Peer)).Task
		switch op.Kind {
		case oplog.TaskEnd:
			ends[rank][id] = append(ends[rank][id], op.ID)
		case oplog.TaskBegin:
			begun++
			var after, want []oplog.ID
			for _, a := range op.Args {
				after = append(after, a.From)
			}
			for _, b := range before[rank][id] {
				want = append(want, ends[rank][b]...)
			}
			about := &o.programs[rank].Tasks[id]
			for _, b := range slices.Concat(about.remoteDependencies(o.Runtime.infers()), about.valueTasks) {
				want = append(want, ends[b.Rank][b.Task]...)
			}
			if !slices.Equal(after, want) {
				t.Errorf("%s: the log has rank %d's task %d begin after %v, want %v, the ends of %v", o.Runtime, rank, id, after, want, before[rank][id])
			}
			cause := oplog.ID(0)
			if s := tasks[rank][id].members[0]; s.Released >= 0 {
				by := o.ref(rank, s.Released)
				cause = slices.Max(ends[by.Rank][by.Task])
			} else if s.Value != nil {
				by := o.ref(rank, *s.Value)
				cause = slices.Max(ends[by.Rank][by.Task])
			}
			if op.Cause != cause {
				t.Errorf("%s: the log has rank %d's task %d released by operation %d, want %d", o.Runtime, rank, id, op.Cause, cause)
			}
		}
	}
	if begun != len(o.Spans) {
		t.Errorf("%s: the log has %d beginnings of tasks, want %d", o.Runtime, begun, len(o.Spans))
	}
}

func (o *outcome) config() *Config { return o.options.Config }
