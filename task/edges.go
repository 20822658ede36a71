package task

import (
	"slices"

	"github.com/kernbench/kernbench/torch"
)

// connect adds the edges of the next task of a program: those from tasks of its own rank,
// and those from tasks of other ranks, which will send messages. In an orchestration of all
// ranks it also adds those that follow from conflicts.
func (b *Builder) connect(p *Program, t *Task) {
	slices.Sort(t.after)
	t.after = slices.Compact(t.after)
	for _, on := range t.after {
		if from := b.tasks[on]; int(from.Rank) == p.Rank {
			t.After = append(t.After, from.Task)
		} else {
			t.Across = append(t.Across, from)
			b.post(from, p.Rank, 0)
			b.post(from, p.Rank, 1)
		}
	}
	if b.single {
		for _, on := range b.conflicts(t) {
			if from := b.tasks[on]; int(from.Rank) == p.Rank {
				t.found = append(t.found, from.Task)
			} else {
				t.foundAcross = append(t.foundAcross, from)
				b.post(from, p.Rank, 1)
			}
		}
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

// conflicts returns the tasks of all ranks that the next task conflicts with, without those
// that it has explicit edges from.
func (b *Builder) conflicts(t *Task) (found []ID) {
	each := func(f func(m *tensorMap, a *Arg)) {
		for _, a := range t.Args {
			a.Region, a.Access = a.touched()
			if a.Region.Tensor == nil || a.Access == 0 || a.Region.empty() {
				continue
			}
			if b.maps[a.Region.Tensor] == nil {
				b.maps[a.Region.Tensor] = &tensorMap{}
			}
			f(b.maps[a.Region.Tensor], &a)
		}
	}
	found = slices.Clone(t.after)
	each(func(m *tensorMap, a *Arg) { found = m.conflicts(found, a) })
	slices.Sort(found)
	found = slices.Compact(found)
	b.before = append(b.before, found)
	each(func(m *tensorMap, a *Arg) { m.add(t.ID, a, b.before) })
	return slices.DeleteFunc(slices.Clone(found), func(id ID) bool {
		_, explicit := slices.BinarySearch(t.after, id)
		return explicit
	})
}

// counterpart returns what a rank has of a tensor of another rank, nil if that is nothing
// or another shape.
func (b *Builder) counterpart(x *Tensor, p *Program) (own *Tensor) {
	if of, ok := x.Source.(*torch.Tensor); ok && b.ctx != nil {
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
