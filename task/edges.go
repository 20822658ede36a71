package task

import (
	"slices"

	"github.com/kernbench/kernbench/torch"
)

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
