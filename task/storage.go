package task

import "fmt"

// ScopeError is a scope that can never end: its tasks keep their slots until it does, and
// are more than its ring has.
type ScopeError struct {
	Rank  int
	Scope Scope
	Tasks int // of the scope that lie in its ring
	Slots int
	At    ID // the task that there is no slot for
	Line  string
}

func (e *ScopeError) Error() string {
	return fmt.Sprintf("rank %d: deadlock of %s: scope %q at %s has %d tasks, which keep their slots until it ends, and its ring has %d: task %d, submitted at %s, can never be; make the scope smaller, or raise tasks.%s.slots",
		e.Rank, TensorMapAndRingBuffer, e.Scope.Name, e.Scope.Line, e.Tasks, e.Slots, e.At, e.Line, TensorMapAndRingBuffer)
}

// TooMany is a graph that is larger than the storage of host_build_graph.
type TooMany struct{ Rank, Tasks, Limit int }

func (e *TooMany) Error() string {
	return fmt.Sprintf("rank %d has %d tasks, and %s keeps at most %d: take another runtime, or raise tasks.%[3]s.tasks",
		e.Rank, e.Tasks, HostBuildGraph, e.Limit)
}

// Refused is why something was not run: a mistake, not a failure of the run.
type Refused struct{ Err error }

func (e *Refused) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *Refused) Unwrap() error { return e.Err }

// Check returns why a program would be refused on real ranks.
func (p *Program) Check(o Options) error {
	if err := o.settle(); err != nil {
		return err
	}
	if err := newFitting(o.Runtime, o.Config, o.cores()).extend(p); err != nil {
		return &Refused{err}
	}
	return nil
}

// fitting checks that there is room for a program, also while that grows.
type fitting struct {
	runtime Runtime
	config  *Config
	cores   int
	ports   int // of a PE at most; 0 for any number
	checked int // tasks
	rings   []queue[ID]
}

func newFitting(r Runtime, c *Config, cores int) *fitting {
	return &fitting{runtime: r, config: c, cores: cores, rings: make([]queue[ID], c.TensorMap.Rings)}
}

// extend checks the tasks that the program has more than before.
func (f *fitting) extend(p *Program) error {
	from := f.checked
	f.checked = len(p.Tasks)
	if n := len(p.Tasks) - from; f.runtime == HostBuildGraph && n > f.config.Host.Tasks {
		return &TooMany{p.Rank, n, f.config.Host.Tasks}
	}
	for i := from; i < len(p.Tasks); i++ {
		if t := &p.Tasks[i]; t.Members > f.cores {
			return fmt.Errorf("rank %d: task %d (%s) at %s is a group of %d, and the rank has %d compute cores: make it smaller, or give the rank more, by tasks.control.compute_cores or a larger device",
				p.Rank, t.ID, t.Name, t.Line, t.Members, f.cores)
		} else if len(t.Neighbors) > 0 && f.ports > 0 {
			if err := t.checkPorts(f.ports); err != nil {
				return fmt.Errorf("rank %d: task %d (%s) at %s: %w", p.Rank, t.ID, t.Name, t.Line, err)
			}
		}
	}
	if f.runtime == TensorMapAndRingBuffer {
		return f.scopes(p, ID(from))
	}
	return nil
}

// scopes goes through the rings as if tasks ended at once: what is then in the way of a
// task is so for ever.
func (f *fitting) scopes(p *Program, from ID) error {
	c := &f.config.TensorMap
	for next := from; int(next) < len(p.Tasks); next++ {
		r := &f.rings[p.depth(next, c.Rings)]
		for r.len() > 0 && !p.open(r.at(0), next) {
			r.pop()
		}
		if r.len() >= c.Slots {
			return p.tooLarge(r.at(0), next, c)
		}
		r.push(next)
	}
	return nil
}

// tooLarge returns the error of the scope that the oldest task in a full ring is in: all that
// has come since is of that scope.
func (p *Program) tooLarge(oldest, next ID, c *TensorMap) error {
	scope := p.Scopes[p.Tasks[oldest].Scope]
	e := &ScopeError{Rank: p.Rank, Scope: scope, Slots: c.Slots, At: p.Tasks[next].ID, Line: p.Tasks[next].Line}
	for id := oldest; id < min(scope.End, ID(len(p.Tasks))); id++ {
		if p.depth(id, c.Rings) == p.depth(oldest, c.Rings) {
			e.Tasks++
		}
	}
	return e
}

// depth returns the ring that a task lies in, of so many.
func (p *Program) depth(id ID, rings int) int { return min(int(p.Tasks[id].Depth), rings-1) }

// open reports whether the scope of a task has not ended when the next task is to be
// submitted: there are more tasks of it to come.
func (p *Program) open(id, next ID) bool {
	scope := p.Tasks[id].Scope
	return scope >= 0 && p.Scopes[scope].End > next
}
