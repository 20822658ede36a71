package task

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/torch"
)

// Unordered is two tasks that conflict, with no path of explicit edges from the earlier to
// the later one: under a runtime that knows only edges nothing orders them.
type Unordered struct {
	Earlier, Later ID
	Region         Region // where they do, of the later one
	program        *Program
	earlier        *Program // the program of the earlier one
}

func (u Unordered) String() string {
	a, b := &u.earlier.Tasks[u.Earlier], &u.program.Tasks[u.Later]
	there := ""
	if u.earlier != u.program {
		there = fmt.Sprintf("rank %d's ", u.program.Rank)
	}
	return fmt.Sprintf("rank %d: %s, submitted at %s, and %s%s, at %s, conflict in %v, and no edge orders them: submit the second with task.After",
		u.earlier.Rank, a.title(), a.Line, there, b.title(), b.Line, u.Region)
}

// Unordered finds the conflicts of a program that its explicit edges do not order,
// whatever happened in a run. A path of edges may lead over other ranks, and what is
// submitted after a Value comes after the task that it waited for. Conflicts that follow
// from others are left out, as in Dependencies.
func (p *Program) Unordered() (list []Unordered) {
	w := newWalk(p)
	for i, before := range p.Dependencies(true) {
		t := &p.Tasks[i]
		var all []Ref
		for _, b := range before {
			all = append(all, Ref{int32(p.Rank), b})
		}
		all = append(all, t.foundAcross...)
		if len(all) == 0 {
			continue
		}
		first := t.ID
		for _, b := range all {
			first = min(first, w.program.at(b).Tasks[b.Task].ID)
		}
		w.back(ID(i), first)
		for _, b := range all {
			if q := w.program.at(b); w.seen[q.index][b.Task] != t.ID {
				list = append(list, Unordered{b.Task, ID(i), t.conflict(&q.Tasks[b.Task]), p, q})
			}
		}
	}
	return list
}

// unorderedLines describes the pairs of Unordered, one for each pair of lines.
func (p *Program) unorderedLines() (texts []string) {
	told := map[[2]string]bool{}
	for _, u := range p.Unordered() {
		if lines := [2]string{u.earlier.Tasks[u.Earlier].Line, p.Tasks[u.Later].Line}; !told[lines] {
			told[lines] = true
			texts = append(texts, u.String())
		}
	}
	return texts
}

// conflict returns a region of the task that conflicts with an earlier one.
func (t *Task) conflict(earlier *Task) Region {
	for i := range t.Args {
		for k := range earlier.Args {
			a, x := earlier.Args[k].touched()
			b, y := t.Args[i].touched()
			if x != 0 && y != 0 && (x|y)&Writes != 0 && a.Overlaps(*b) {
				return *b
			}
		}
	}
	panic("task: two tasks that do not conflict") // Dependencies has said that they do
}

// walk finds the tasks from which there is a path of edges to another.
type walk struct {
	program *Program
	seen    [][]ID // by program and task: the last walk that came by, by where it began
	open    []Ref
	from    ID
	first   ID
}

func newWalk(p *Program) *walk {
	w, programs := &walk{program: p}, []*Program{p}
	if p.by != nil {
		programs = p.by.programs
	}
	for _, q := range programs {
		w.seen = append(w.seen, make([]ID, len(q.Tasks)))
	}
	return w
}

// back goes from a task against its edges, as far as the task of an ID, or one that was
// submitted later.
func (w *walk) back(from, first ID) {
	w.from, w.first = w.program.Tasks[from].ID, first
	w.open = append(w.open[:0], Ref{int32(w.program.Rank), from})
	for len(w.open) > 0 {
		at := w.open[len(w.open)-1]
		w.open = w.open[:len(w.open)-1]
		t := &w.program.at(at).Tasks[at.Task]
		for _, b := range t.After {
			w.visit(Ref{at.Rank, b})
		}
		for _, b := range slices.Concat(t.Across, t.read) {
			w.visit(b)
		}
	}
}

func (w *walk) visit(r Ref) {
	p := w.program.at(r)
	if seen := &w.seen[p.index][r.Task]; p.Tasks[r.Task].ID >= w.first && *seen != w.from {
		*seen = w.from
		w.open = append(w.open, r)
	}
}

// connect adds the edges of the next task of a program: those from tasks of its own rank,
// and those from tasks of other ranks, which will send messages. In an orchestration of all
// ranks it also adds those that follow from conflicts.
func (b *Builder) connect(p *Program, t *Task) {
	edges := func(ids []ID, own *[]ID, others *[]Ref, kinds ...int) {
		for _, on := range ids {
			from := b.tasks[on]
			if int(from.Rank) == p.Rank {
				*own = append(*own, from.Task)
				continue
			}
			*others = append(*others, from)
			for _, kind := range kinds {
				b.post(from, p.Rank, kind)
			}
		}
	}
	slices.Sort(t.after)
	t.after = slices.Compact(t.after)
	edges(t.after, &t.After, &t.Across, 0, 1)
	if b.single {
		found := slices.DeleteFunc(slices.Clone(b.conflicts.add(t.after, t.Args)), func(id ID) bool {
			_, explicit := slices.BinarySearch(t.after, id)
			return explicit
		})
		edges(found, &t.found, &t.foundAcross, 1)
	}
	t.after = nil
}

// post records that a rank gets a message about the end of a task, once, with explicit
// edges or with inferred ones (Program.out).
func (b *Builder) post(from Ref, to, kind int) {
	if key := (outwardKey{from, to, kind}); !b.posted[key] {
		b.posted[key] = true
		p := b.programs[from.Rank]
		p.out[kind] = append(p.out[kind], outward{from.Task, to})
	}
}

// counterpart returns what a rank has of a tensor of another rank, nil if that is nothing
// or another shape.
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
