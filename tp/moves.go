package tp

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/kernbench/kernbench/torch"
)

// peers is a group as one of its ranks sees it, for a mapping under way.
type peers struct {
	ctx        *torch.Context
	who        string // name of the launches
	group      *torch.Group
	rank, size int
	on         torch.DPPolicy // layout of new tensors

	temporaries stack // that the mapping frees when it is done
}

// step is one direction of a mapping, over a group of several ranks.
type step func(p *peers, x *torch.Tensor) (*torch.Tensor, error)

// run returns what a step makes of x.
func (p *peers) run(do step, x *torch.Tensor) (*torch.Tensor, error) {
	y, err := do(p, x)
	if err = errors.Join(err, p.temporaries.free()); y == x {
		return x, err
	}
	return orFree(y, err)
}

// keep returns x itself.
func keep(_ *peers, x *torch.Tensor) (*torch.Tensor, error) { return x, nil }

// allReduce makes x the sum of all ranks'.
func allReduce(p *peers, x *torch.Tensor) (*torch.Tensor, error) {
	return x, p.ctx.Distributed().AllReduce(x, torch.SUM, p.group)
}

// split returns the rank's own part along an axis.
func split(a axis) step {
	return func(p *peers, x *torch.Tensor) (*torch.Tensor, error) {
		parts, err := p.even(a, x)
		if err != nil {
			return nil, err
		}
		out, err := p.empty(x, a, parts[p.rank])
		if err != nil {
			return nil, err
		}
		return out, copyBoxes(p.ctx, p.who, []move{a.move(x, p.rank*parts[0], out, 0, out.Shape())})
	}
}

// gather puts the ranks' tensors together along an axis.
func gather(a axis) step {
	return func(p *peers, x *torch.Tensor) (*torch.Tensor, error) {
		extent, in := a.extent(x), stack{x}
		list, err := p.empties(x, a, slices.Repeat([]int{extent}, p.size))
		if err == nil && !reflect.DeepEqual(x.Shards(), list[0].Shards()) { // a collective's tensors are laid out alike
			in, err = p.cut(a, x, []int{extent})
		}
		if err != nil {
			return nil, err
		}
		if err := p.ctx.Distributed().AllGather(list, in[0], p.group); err != nil {
			return nil, err
		}
		return p.join(a, list)
	}
}

// reduceScatter returns the rank's part along an axis of the sum of all ranks'.
func reduceScatter(a axis) step {
	return func(p *peers, x *torch.Tensor) (*torch.Tensor, error) {
		parts, err := p.even(a, x)
		if err != nil {
			return nil, err
		}
		list, err := p.cut(a, x, parts)
		if err != nil {
			return nil, err
		}
		out, err := p.empty(x, a, parts[p.rank])
		if err != nil {
			return nil, err
		}
		return out, p.ctx.Distributed().ReduceScatter(out, list, torch.SUM, p.group)
	}
}

// allToAll cuts a tensor along one axis into a part for each rank and puts what they send
// together along another. Parts are even if their sizes are nil.
func allToAll(cut, join axis, in, out []int) step {
	return func(p *peers, x *torch.Tensor) (*torch.Tensor, error) {
		send, receive, err := p.splits(cut, x, in, out)
		if err != nil {
			return nil, err
		}
		from, err := p.cut(cut, x, send)
		if err != nil {
			return nil, err
		}
		to, err := p.empties(x, cut, receive)
		if err == nil {
			err = p.ctx.Distributed().AllToAll(to, from, p.group)
		}
		if err != nil {
			return nil, err
		}
		return p.join(join, to)
	}
}

// orFree returns a new tensor, or what went wrong: then there is none.
func orFree(x *torch.Tensor, err error) (*torch.Tensor, error) {
	if err != nil && x != nil {
		return nil, errors.Join(err, x.Free())
	}
	return x, err
}

// result returns a new tensor, or what went wrong with the name of what makes it: then there
// is none.
func result(who string, x *torch.Tensor, err error) (*torch.Tensor, error) {
	if x, err = orFree(x, err); err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	return x, nil
}
