package task

import (
	"cmp"
	"errors"
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
func RunOn(r *procpe.Rank, p *Program, o Options, tensor func(x *Tensor) procpe.Tensor) (err error) {
	defer p.Discard()
	if err := o.settle(); err != nil {
		return err
	}
	cores := o.cores()
	fitting := newFitting(o.Runtime, o.Config, cores)
	if err := fitting.extend(p); err != nil {
		return &Refused{err}
	}
	w := &workers{
		schedule: newSchedule(p, o.Runtime, o.Config, cores), fitting: fitting, signals: o.Signals, free: newFreeCores(cores),
		value: map[int]float64{},
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
	fitting *fitting
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
		table := make([]procpe.Connection, len(t.Neighbors))
		for i, n := range t.Neighbors {
			table[i] = procpe.Connection(n)
		}
		group = w.session.Join(t.title(), members, table)
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
	waiting := make([]*procpe.Worker, len(w.running))
	for i, k := range w.running {
		waiting[i] = k.Worker
	}
	if err := w.session.Wait(waiting, w.inboxes.conditions()...); err != nil {
		text := w.waitsFor()
		if text != "" {
			text = ", " + text
		}
		return fmt.Errorf("%d of %d tasks have ended, %d are ready%s: %w", w.done, len(w.Tasks), w.readyNow(), text, err)
	}
	return nil
}
