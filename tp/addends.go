package tp

import (
	"errors"

	"github.com/kernbench/kernbench/torch"
)

// addUp has a function fill the rank's addend of all rows, and adds up those of the
// tensor parallel group in y: all of it, or with scatter the rank's rows. The addend is
// then a tensor like y for each rank, one below the other.
func addUp(ctx *torch.Context, s *state, y *torch.Tensor, scatter bool, fill func(addend stack) error) error {
	dist, size := ctx.Distributed(), s.tensorSize()
	if !scatter || size == 1 {
		err := fill(stack{y})
		if err == nil && size > 1 {
			err = dist.AllReduce(y, torch.SUM, s.tensor)
		}
		return err
	}
	addend, err := alike(ctx, y, size)
	if err != nil {
		return err
	}
	if err = fill(addend); err == nil {
		err = dist.ReduceScatter(y, addend, torch.SUM, s.tensor)
	}
	return errors.Join(err, addend.free())
}

// gatheredRows returns the tensors x of all ranks of the tensor parallel group.
func gatheredRows(ctx *torch.Context, s *state, x *torch.Tensor) (stack, error) {
	all, err := alike(ctx, x, s.tensorSize())
	if err != nil {
		return nil, err
	}
	if err := ctx.Distributed().AllGather(all, x, s.tensor); err != nil {
		return nil, errors.Join(err, all.free())
	}
	return all, nil
}

// alike returns n tensors like x.
func alike(ctx *torch.Context, x *torch.Tensor, n int) (list stack, err error) {
	for range n {
		y, err := ctx.EmptyLike(x)
		if err != nil {
			return nil, errors.Join(err, list.free())
		}
		list = append(list, y)
	}
	return list, nil
}
