package tp

import (
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// jobs is what the PEs of a launch do, each its own list in order.
type jobs[T interface{ run(t *tl.PE) }] struct {
	pes []int
	of  map[int][]T // by PE
}

// add gives a PE more to do.
func (j *jobs[T]) add(pe int, list ...T) {
	if j.of == nil {
		j.of = map[int][]T{}
	}
	if _, known := j.of[pe]; !known {
		j.pes = append(j.pes, pe)
	}
	j.of[pe] = append(j.of[pe], list...)
}

// launch runs the jobs on their PEs, if there are any.
func (j *jobs[T]) launch(ctx *torch.Context, name string, using ...*torch.Tensor) error {
	if len(j.pes) == 0 {
		return nil
	}
	_, err := ctx.Launch(name, func(t *tl.PE) {
		for _, job := range j.of[j.pes[t.Rank()]] {
			job.run(t)
		}
	}, torch.PEs(j.pes...), torch.Using(using...))
	return err
}

// as returns a tile in a dtype.
func as(x tl.Tile, dtype torch.DType) tl.Tile {
	if x.DType() == dtype {
		return x
	}
	return x.To(dtype)
}
