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

// runOn runs the program of a real rank; see [taskrank.Run]. Its tasks are kernels on workers
// of the rank, which take turns where they wait for others: as many at once as there are
// compute cores (DefaultCores unless the configuration says). There is no time here, but
// storage and dependencies are those of the runtime.
func runOn(r *procpe.Rank, p *Program, o Options, tensor func(x any) procpe.Tensor, began func()) (err error) {
	defer p.Discard()
	if err := o.settle(); err != nil {
		return err
	}
	fitting := newFitting(o.Runtime, o.Config, o.cores())
	if err := fitting.extend(p); err != nil {
		return &Refused{err}
	}
	w := &workers{
		schedule: newSchedule(p, fitting), signals: o.Signals, free: newFreeCores(fitting.cores), value: map[int]float64{},
	}
	w.list()
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

// DefaultCores is how many tasks a real rank has under way at once, unless the
// configuration says: as many as a device of the default system has PEs.
const DefaultCores = 128

func (o *Options) cores() int { return cmp.Or(o.Config.Control.ComputeCores, DefaultCores) }

// workers is a real rank at work.
type workers struct {
	*schedule
	session *procpe.Session
	inboxes *inboxes // nil if the program is of one rank alone
	signals int      // as in Options
	tensors []procpe.Tensor
	value   map[int]float64 // by pause: values that are known
	memory  []memory
	free    freeCores
	cores   []*worker // made so far
	running []*worker
}

// worker is a compute core of a real rank.
type worker struct {
	*procpe.Worker
	guard
	core  int
	id    ID
	group *procpe.Group // with queues between its members, or nil
}

// run submits, starts and resumes tasks until all have ended, and the orchestration has.
func (w *workers) run() error {
	for !w.over() {
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
		for !w.submitted() && w.room() {
			w.submit()
			moved = true
		}
		for id, ok := w.take(w.free.n); ok; id, ok = w.take(w.free.n) {
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

// start runs the members of a task until they end or wait.
func (w *workers) start(id ID) {
	t := &w.Tasks[id]
	first := len(w.running)
	var members []*procpe.Worker
	for range t.Members {
		core := w.free.take()
		for len(w.cores) <= core {
			w.cores = append(w.cores, &worker{Worker: w.session.Worker(), core: len(w.cores)})
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
			k.guard = guard{place: w.place(m.Place().Name), memory: w.memory, signals: w.signals, scratch: k.scratch, home: func(rank int) int { return rank }}
			k.guard.begin(m, t, member)
			k.guard.call()
		})
	}
}

// reap takes note of tasks that have ended, and lets those go on that can.
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

// wait waits until some task can go on, or another rank tells something.
func (w *workers) wait() error {
	waiting := lists.Map(w.running, func(k *worker) *procpe.Worker { return k.Worker })
	if err := w.session.Wait(waiting, w.inboxes.conditions()...); err != nil {
		return fmt.Errorf("%d of %d tasks have ended, %d are ready%s: %w", w.done, len(w.Tasks), w.readyNow(), w.waitsFor(", "), err)
	}
	return nil
}

// Task is one task of a program.
type Task struct {
	Name    string
	Members int // PEs that it runs on at once
	Args    Args
	ID      ID     // that Submit returned
	After   []ID   // explicit edges from tasks of the same rank, by their numbers in its program
	Across  []Ref  // explicit edges from tasks of other ranks
	Scope   int32  // index of the innermost scope in the program, -1 outside of all
	Depth   int32  // scopes that it is in
	Line    string // of the orchestration
	// Neighbors is the queues between the members, which A and B count from 0.
	Neighbors []torch.Connection
	Buffers   topology.BufferKind // memory of their slots; "" is that of the topology

	// Tasks that it conflicts with, in an orchestration of all ranks: of its own rank, and of
	// others.
	found       []ID
	foundAcross []Ref

	tables []func(members ...int) []torch.Connection // that Neighbors is made of

	rank  int   // that OnRank names, -1 for none
	after []ID  // that After names
	read  []Ref // tasks whose values had been read at its submission, as in recording
	bound *tl.Binding
}

// Ref is a task of a rank, by its number in the program of that rank.
type Ref struct {
	Rank int32
	Task ID
}

// title returns the name and the number of the task, for messages.
func (t *Task) title() string { return t.Name + " (task " + strconv.Itoa(int(t.ID)) + ")" }

// Scope is a part of a program whose tasks keep their storage until it ends.
type Scope struct {
	Name       string
	First, End ID // the tasks submitted in it, and in scopes within it: from First to before End
	Line       string
}

// Program is the tasks of one rank, in the order of submission.
type Program struct {
	Rank, Ranks int
	Tasks       []Task
	Scopes      []Scope
	Tensors     []*Tensor

	by    *Builder     // that records it; nil for a program that was made by hand
	index int          // among the programs of the builder
	out   [2][]outward // those of explicit edges, and those of inferred ones as well
}

// outward is an edge to another rank: a task, and a rank that gets a message when it ends.
type outward struct {
	task ID
	to   int
}

// recordedUntil returns how much of the program is recorded up to a pause of the
// orchestration, or in all after the last one.
func (p *Program) recordedUntil(pause int) extent {
	if p.waits(pause) {
		return p.by.pauses[pause].recorded[p.index]
	}
	return extent{len(p.Tasks), [2]int{len(p.out[0]), len(p.out[1])}}
}

// across returns the tasks of other ranks that a task waits for, with inferred edges or
// without.
func (t *Task) across(inferred bool) []Ref {
	if !inferred || len(t.foundAcross) == 0 {
		return t.Across
	}
	return slices.Concat(t.Across, t.foundAcross)
}

// waits reports whether the orchestration has come to a pause of that number.
func (p *Program) waits(pause int) bool { return p.by != nil && pause < len(p.by.pauses) }

// recorded reports whether the orchestration has ended: no tasks follow.
func (p *Program) recorded() bool { return p.by == nil || p.by.built }
