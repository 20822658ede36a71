package task

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/torch"
)

// Unordered is a conflict between two tasks without a path of explicit edges from the
// earlier to the later task. Under a runtime that uses only explicit edges, nothing orders
// the two tasks.
type Unordered struct {
	Earlier, Later ID
	Region         Region   // the conflicting region of the later task
	laterProgram   *Program // the program of the later task
	earlierProgram *Program // the program of the earlier task
}

func (u Unordered) String() string {
	a, b := &u.earlierProgram.Tasks[u.Earlier], &u.laterProgram.Tasks[u.Later]
	there := ""
	if u.earlierProgram != u.laterProgram {
		there = fmt.Sprintf("rank %d's ", u.laterProgram.Rank)
	}
	return fmt.Sprintf("rank %d: %s, submitted at %s, and %s%s, at %s, conflict in %v, and no edge orders them: submit the second with task.After",
		u.earlierProgram.Rank, a.title(), a.Line, there, b.title(), b.Line, u.Region)
}

// Unordered returns the conflicts of the program that its explicit edges do not order. Two
// tasks are ordered if a path of edges leads from one to the other; the path may pass
// through other ranks. A task that was submitted after a call of Value is also ordered
// after the task of that value. Conflicts that follow from other conflicts are left out, as
// in Dependencies. The result does not depend on what happened in a run.
func (p *Program) Unordered() (list []Unordered) {
	w := newWalk(p)
	for i, before := range p.Dependencies(true) {
		t := &p.Tasks[i]
		var all []Ref
		for _, b := range before {
			all = append(all, Ref{int32(p.Rank), b})
		}
		all = append(all, t.inferredAcross...)
		if len(all) == 0 {
			continue
		}
		first := t.ID
		for _, b := range all {
			first = min(first, w.program.programOf(b).Tasks[b.Task].ID)
		}
		w.walkBack(ID(i), first)
		for _, b := range all {
			if q := w.program.programOf(b); w.seen[q.index][b.Task] != t.ID {
				list = append(list, Unordered{b.Task, ID(i), t.conflictRegion(&q.Tasks[b.Task]), p, q})
			}
		}
	}
	return list
}

// unorderedLines returns descriptions of the unordered conflicts of the program: one
// description for each pair of lines in the orchestration that submit conflicting tasks.
func (p *Program) unorderedLines() (texts []string) {
	reported := map[[2]string]bool{}
	for _, u := range p.Unordered() {
		if lines := [2]string{u.earlierProgram.Tasks[u.Earlier].Line, p.Tasks[u.Later].Line}; !reported[lines] {
			reported[lines] = true
			texts = append(texts, u.String())
		}
	}
	return texts
}

// conflictRegion returns a region of task t that conflicts with a region of the task
// `earlier`.
func (t *Task) conflictRegion(earlier *Task) Region {
	for i := range t.Args {
		for k := range earlier.Args {
			a, x := earlier.Args[k].regionAccess()
			b, y := t.Args[i].regionAccess()
			if x != 0 && y != 0 && (x|y)&Writes != 0 && a.Overlaps(*b) {
				return *b
			}
		}
	}
	panic("task: two tasks that do not conflict") // Dependencies has reported a conflict
}

// walk finds the tasks that have a path of edges to a given task.
type walk struct {
	program *Program
	seen    [][]ID // by program and task: the ID of the start of the last walk that visited the task
	stack   []Ref  // tasks that are visited and whose edges are not followed yet
	from    ID     // start of the current walk
	first   ID     // the walk ignores tasks submitted before this one
}

// newWalk returns a walk over the tasks of program p and of the other programs of its
// builder.
func newWalk(p *Program) *walk {
	w, programs := &walk{program: p}, []*Program{p}
	if p.builder != nil {
		programs = p.builder.programs
	}
	for _, q := range programs {
		w.seen = append(w.seen, make([]ID, len(q.Tasks)))
	}
	return w
}

// walkBack visits all tasks from which a path of edges leads to task `from`. It skips tasks
// that were submitted before the task with ID `first`.
func (w *walk) walkBack(from, first ID) {
	w.from, w.first = w.program.Tasks[from].ID, first
	w.stack = append(w.stack[:0], Ref{int32(w.program.Rank), from})
	for len(w.stack) > 0 {
		at := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		t := &w.program.programOf(at).Tasks[at.Task]
		for _, b := range t.After {
			w.visit(Ref{at.Rank, b})
		}
		for _, b := range slices.Concat(t.Across, t.valueTasks) {
			w.visit(b)
		}
	}
}

// visit marks task r as visited and adds it to the stack, unless the walk has visited it
// before or ignores it.
func (w *walk) visit(r Ref) {
	p := w.program.programOf(r)
	if seen := &w.seen[p.index][r.Task]; p.Tasks[r.Task].ID >= w.first && *seen != w.from {
		*seen = w.from
		w.stack = append(w.stack, r)
	}
}

// addEdges adds the edges that lead to t, the next task of program p. Edges from tasks of
// other ranks are also added to the programs of these ranks, which will send messages. In
// an orchestration of all ranks addEdges also adds the inferred edges.
func (b *Builder) addEdges(p *Program, t *Task) {
	edges := func(ids []ID, own *[]ID, others *[]Ref, kinds ...int) {
		for _, on := range ids {
			from := b.tasks[on]
			if int(from.Rank) == p.Rank {
				*own = append(*own, from.Task)
				continue
			}
			*others = append(*others, from)
			for _, kind := range kinds {
				b.addOutEdge(from, p.Rank, kind)
			}
		}
	}
	slices.Sort(t.after)
	t.after = slices.Compact(t.after)
	edges(t.after, &t.After, &t.Across, 0, 1)
	if b.single {
		found := slices.DeleteFunc(slices.Clone(b.conflicts.addTask(t.after, t.Args)), func(id ID) bool {
			_, explicit := slices.BinarySearch(t.after, id)
			return explicit
		})
		edges(found, &t.inferred, &t.inferredAcross, 1)
	}
	t.after = nil
}

// addOutEdge records that the rank `to` receives a message when task `from` ends. `kind` is
// the index in Program.out of the list in which the message is recorded. Each list records
// the message at most once.
func (b *Builder) addOutEdge(from Ref, to, kind int) {
	if key := (outEdgeKey{from, to, kind}); !b.outEdges[key] {
		b.outEdges[key] = true
		p := b.programs[from.Rank]
		p.out[kind] = append(p.out[kind], outEdge{from.Task, to})
	}
}

// counterpart returns the part of the tensor x at the rank of program p, where x is a
// tensor of another rank. It returns nil if the rank of p has no part, or has a part of
// another shape.
func (b *Builder) counterpart(x *Tensor, p *Program) (own *Tensor) {
	if of, ok := x.Source.(*torch.Tensor); ok && b.rank != nil {
		own = b.tensor("Submit", p.Rank, of)
	} else if x.Source != nil {
		own = b.sources[sourceKey{p.Rank, x.Source}]
	} else if x.domain != nil {
		own = x.domain.counterpart(x, p.Rank)
	}
	if own != nil && !slices.Equal(own.Shape, x.Shape) {
		return nil
	}
	return own
}
