package task

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/internal/taskrank"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	taskrank.Run = func(r *procpe.Rank, program, options any, tensor func(x any) procpe.Tensor, began func()) error {
		return runOn(r, program.(*Program), options.(Options), tensor, began)
	}
}

// runOn runs the program of a real rank; see [taskrank.Run]. Tasks run as kernels on
// workers of the rank, at most one worker per compute core (DefaultCores unless the
// configuration sets compute_cores). Workers take turns: a kernel runs until it waits for
// another task or rank. There are no times, but storage and dependencies are those of the
// runtime.
func runOn(r *procpe.Rank, p *Program, o Options, tensor func(x any) procpe.Tensor, began func()) (err error) {
	defer p.Discard()
	if err := o.settle(); err != nil {
		return err
	}
	limits := newLimits(o.Runtime, o.Config, o.cores())
	if err := limits.extend(p); err != nil {
		return &Refused{err}
	}
	w := &workers{
		schedule: newSchedule(p, limits), signals: o.Signals, free: newFreeCores(limits.cores), values: map[int]float64{},
	}
	w.addOutEdges()
	shared, err := newDomainMemory(r.Comm(), p)
	defer func() { err = errors.Join(err, shared.close()) }()
	if err != nil {
		return err
	}
	for _, x := range p.Tensors {
		part, ok := shared.tensors[x]
		if !ok {
			part = tensor(x)
		}
		w.tensors = append(w.tensors, part)
	}
	if w.inboxes, err = newInboxes(r.Comm(), p); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.inboxes.close()) }()
	if w.session, err = r.Begin(o.Name, w.tensors...); err != nil {
		return err
	}
	defer w.session.End()
	for i := range w.tensors {
		p := w.session.Pointer(i)
		w.memory = append(w.memory, memory{p.Addr, p.Window})
	}
	began()
	return w.run()
}

// DefaultCores is the largest number of tasks that a real rank runs at once if the
// configuration does not set compute_cores. It is the number of PEs of a device in the
// default system.
const DefaultCores = 128

func (o *Options) cores() int { return cmp.Or(o.Config.Control.ComputeCores, DefaultCores) }

// workers is the state of a real rank that runs a program.
type workers struct {
	*schedule
	session *procpe.Session
	inboxes *inboxes // nil in an orchestration of one rank
	signals int      // Options.Signals
	tensors []procpe.Tensor
	values  map[int]float64 // by pause: the known values
	memory  []memory
	free    freeCores
	cores   []*worker // by compute core: the workers created so far
	running []*worker
}

// worker is a compute core of a real rank.
type worker struct {
	*procpe.Worker
	guard
	core  int
	id    ID
	group *procpe.Group // the queues between the members of the task, or nil
}

// run submits, starts and resumes tasks until the orchestration and all tasks have ended.
func (w *workers) run() error {
	for !w.allEnded() {
		moved, err := w.receiveAll()
		if err == nil {
			var read bool
			read, err = w.readValues()
			moved = moved || read
		}
		if err == nil {
			err = w.postAll()
		}
		if err != nil {
			return err
		}
		for !w.submitted() && w.hasSpace() {
			w.submit()
			moved = true
		}
		for id, ok := w.takeTask(w.free.n); ok; id, ok = w.takeTask(w.free.n) {
			w.start(id)
			moved = true
		}
		ended, err := w.reap()
		if err != nil {
			return err
		}
		if moved || ended {
			continue
		}
		if err := w.wait(); err != nil {
			return err
		}
	}
	return w.postAll()
}

// start starts the members of task id, and runs each member until it ends or waits.
func (w *workers) start(id ID) {
	t := &w.Tasks[id]
	first := len(w.running)
	var members []*procpe.Worker
	for range t.Members {
		core := w.free.take()
		for len(w.cores) <= core {
			w.cores = append(w.cores, &worker{Worker: w.session.NewWorker(), core: len(w.cores)})
		}
		w.running, members = append(w.running, w.cores[core]), append(members, w.cores[core].Worker)
	}
	var group *procpe.Group
	if len(t.Neighbors) > 0 {
		group = w.session.Join(t.title(), members, t.Neighbors)
	}
	for member, k := range w.running[first:] {
		k.id, k.group = id, group
		k.Start(t.title(), func(m tl.Machine) {
			k.guard = guard{place: w.place(m.Place().Name), memory: w.memory, signals: w.signals, scratch: k.scratch, peerID: func(rank int) int { return rank }}
			k.guard.begin(m, t, member)
			k.guard.call()
		})
	}
}

// reap removes the members of tasks that have ended. If none has ended, it resumes the
// members that can continue. It reports whether any member has ended, including those it
// resumed.
func (w *workers) reap() (moved bool, err error) {
	w.running = slices.DeleteFunc(w.running, func(k *worker) bool {
		if k.Running() || err != nil {
			return false
		}
		moved, err = true, k.Err()
		if err == nil && k.group != nil {
			err = k.group.Leave(k.Worker)
		}
		w.free.put(k.core)
		w.endMember(k.id)
		return true
	})
	if err != nil || moved {
		return moved, err
	}
	for _, k := range w.running {
		if k.Resume(); !k.Running() {
			moved = true
		}
	}
	return moved, nil
}

// wait blocks until a task can continue or a message from another rank arrives.
func (w *workers) wait() error {
	waiting := lists.Map(w.running, func(k *worker) *procpe.Worker { return k.Worker })
	if err := w.session.Wait(waiting, w.inboxes.conditions()...); err != nil {
		return fmt.Errorf("%d of %d tasks have ended, %d are ready%s: %w", w.numEnded, len(w.Tasks), w.countReady(), w.describeWait(", "), err)
	}
	return nil
}

// Task is a task of a program.
type Task struct {
	Name    string
	Members int // number of PEs that run the task at once
	Args    Args
	ID      ID     // returned by Submit
	After   []ID   // explicit edges from tasks of the same rank, as indices in Program.Tasks
	Across  []Ref  // explicit edges from tasks of other ranks
	Scope   int32  // index of the innermost scope in Program.Scopes; -1 outside of all scopes
	Depth   int32  // number of scopes around the task
	Line    string // file and line of the call of Submit
	// Neighbors is the neighbour table. A and B are member numbers, from 0.
	Neighbors []torch.Connection
	Buffers   topology.BufferKind // memory for the slots of the queues; "" is the default of the topology

	// Inferred edges, from tasks of the same rank and of other ranks. They are set only in
	// an orchestration of all ranks.
	inferred       []ID
	inferredAcross []Ref

	tables []func(members ...int) []torch.Connection // functions that return the parts of Neighbors

	rank       int   // set by OnRank; -1 for none
	after      []ID  // set by After
	valueTasks []Ref // recording.valueTasks at the submission
	bound      *tl.Binding
}

// Ref identifies a task by its rank and its index in the program of that rank.
type Ref struct {
	Rank int32
	Task ID
}

// title returns the name and the ID of the task, for messages.
func (t *Task) title() string { return t.Name + " (task " + strconv.Itoa(int(t.ID)) + ")" }

// Scope is a part of a program whose tasks keep their slots until the scope ends.
type Scope struct {
	Name       string
	First, End ID // the tasks of the scope and of nested scopes: from First to before End
	Line       string
}

// Program is the tasks of one rank, in the order of submission.
type Program struct {
	Rank, Ranks int
	Tasks       []Task
	Scopes      []Scope
	Tensors     []*Tensor

	builder *Builder     // nil for a program that was not built by a Builder
	index   int          // in Builder.programs
	out     [2][]outEdge // [0]: explicit edges to other ranks; [1]: explicit and inferred ones
}

// outEdge is an edge to another rank: the rank "to" receives a message when the task ends.
type outEdge struct {
	task ID
	to   int
}

// recordedUntil returns how much of the program was recorded when the orchestration reached
// the given pause. If the orchestration has not reached that pause, it returns how much is
// recorded now.
func (p *Program) recordedUntil(pause int) extent {
	if p.hasPause(pause) {
		return p.builder.pauses[pause].recorded[p.index]
	}
	return extent{len(p.Tasks), [2]int{len(p.out[0]), len(p.out[1])}}
}

// remoteDependencies returns the tasks of other ranks that task t waits for: by explicit
// edges and, if `inferred` is set, also by inferred edges.
func (t *Task) remoteDependencies(inferred bool) []Ref {
	if !inferred || len(t.inferredAcross) == 0 {
		return t.Across
	}
	return slices.Concat(t.Across, t.inferredAcross)
}

// hasPause reports whether the orchestration has reached the pause with the given number.
func (p *Program) hasPause(pause int) bool { return p.builder != nil && pause < len(p.builder.pauses) }

// allRecorded reports whether the orchestration has ended, so that no more tasks follow.
func (p *Program) allRecorded() bool { return p.builder == nil || p.builder.built }
