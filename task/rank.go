package task

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/tl"
)

// RunOn runs the program of a real rank: all ranks call it, each with its own program.
// Its tasks are kernels on workers of the rank, which take turns where they wait for
// others: as many at once as there are compute cores (DefaultCores unless the
// configuration says). There is no time here, but storage and dependencies are those of
// the runtime. tensor is what each tensor of the program is at the rank.
func RunOn(r *procpe.Rank, p *Program, o Options, tensor func(x *Tensor) procpe.Tensor) error {
	if err := o.settle(); err != nil {
		return err
	}
	cores := o.cores()
	if err := p.fits(o.Runtime, o.Config, cores); err != nil {
		return &Refused{err}
	}
	plan := newSchedule(p, o.Runtime, o.Config, cores)
	w := &workers{schedule: plan, signals: o.Signals, free: newFreeCores(cores), members: make([]int32, len(p.Tasks))}
	tensors := make([]procpe.Tensor, len(p.Tensors))
	for i, x := range p.Tensors {
		tensors[i] = tensor(x)
	}
	var err error
	if w.session, err = r.Begin(o.Name, tensors...); err != nil {
		return err
	}
	defer w.session.End()
	for i := range tensors {
		p := w.session.Pointer(i)
		w.memory = append(w.memory, memory{p.Addr, p.Window})
	}
	if o.Began != nil {
		o.Began()
	}
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
	signals int // as in Options
	memory  []memory
	free    freeCores
	cores   []*worker // made so far
	running []*worker
	members []int32 // by task: those that have not ended
}

// worker is a compute core of a real rank.
type worker struct {
	*procpe.Worker
	guard
	core  int
	id    ID
	group *procpe.Group // with queues between its members, or nil
}

// run submits, starts and resumes tasks until all have ended.
func (w *workers) run() error {
	for !w.over() {
		moved := w.submitAll()
		for {
			id, ok := w.take(w.free.n)
			if !ok {
				break
			}
			moved = true
			w.start(id)
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
	return nil
}

// submitAll submits what there is room for.
func (w *workers) submitAll() (moved bool) {
	for !w.submitted() && w.room() {
		w.submit()
		moved = true
	}
	return moved
}

// start runs the members of a task until they end or wait.
func (w *workers) start(id ID) {
	t := &w.Tasks[id]
	w.members[id] = int32(t.Members)
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
		table := make([]procpe.Connection, len(t.Neighbors))
		for i, n := range t.Neighbors {
			table[i] = procpe.Connection(n)
		}
		group = w.session.Join(t.title(id), members, table)
	}
	for member, k := range w.running[first:] {
		k.id, k.group = id, group
		k.Start(t.title(id), func(m tl.Machine) {
			k.guard = guard{place: w.place(m.Place().Name), memory: w.memory, signals: w.signals, scratch: k.scratch, home: func(rank int) int { return rank }}
			k.guard.begin(m, t, member)
			k.guard.call(id)
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
		if w.members[k.id]--; w.members[k.id] == 0 {
			w.end(k.id)
		}
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

// wait waits until some task can go on.
func (w *workers) wait() error {
	waiting := make([]*procpe.Worker, len(w.running))
	for i, k := range w.running {
		waiting[i] = k.Worker
	}
	if err := w.session.Wait(waiting); err != nil {
		return fmt.Errorf("%d of %d tasks have ended, %d are ready: %w", w.done, len(w.Tasks), w.readyNow(), err)
	}
	return nil
}
