package torch

import (
	"iter"
	"slices"
)

// after reports whether all operations that this one waits for have come as far as a
// state. If not, the operation waits for one of them, the last of a sequence: most often
// the others have come as far when this one has.
func (c *Context) after(op *operation, state opState) bool {
	first := c.obstacle(op, state)
	if first != nil {
		first.behind = append(first.behind, op)
	}
	return first == nil
}

// obstacle returns an operation that op waits for and that has not come as far as a state.
func (c *Context) obstacle(op *operation, state opState) *operation {
	last := func(q *sequence) *operation {
		for i := q.before(op) - 1; i >= 0; i-- {
			c.looks++
			if first := q.ops[i]; first.state < state || first.boxed {
				return first
			}
		}
		return nil
	}
	for _, s := range op.streams {
		if first := last(&s.strict); first != nil {
			return first
		}
	}
	for _, x := range op.tensors {
		for _, q := range x.users.whole {
			if first := last(q); first != nil {
				return first
			}
		}
		if op.message {
			continue
		}
		for _, list := range x.users.messages {
			for _, e := range list {
				if first := last(&e.sequence); first != nil {
					return first
				}
			}
		}
	}
	for _, t := range op.touches {
		for _, s := range op.streams {
			for _, e := range t.x.users.messages[corner{s, t.part}] {
				if !e.meets(t) {
					continue
				}
				if first := last(&e.sequence); first != nil {
					return first
				}
			}
		}
	}
	return nil
}

// before iterates over the operations of a stream that this one waits for.
func (op *operation) before(s *stream) iter.Seq[*operation] {
	return func(yield func(*operation) bool) {
		for _, earlier := range s.ops.ops {
			if earlier == op || (earlier.places[s].strict || op.shares(earlier)) && !yield(earlier) {
				return
			}
		}
	}
}

// shares reports whether two operations have a storage in common, or two messages memory of
// one.
func (op *operation) shares(other *operation) bool {
	if !op.message || !other.message {
		for _, x := range other.tensors {
			x.marked = other
		}
		return slices.ContainsFunc(op.tensors, func(x *Tensor) bool { return x.marked == other })
	}
	return slices.ContainsFunc(op.touches, func(t touch) bool { return slices.ContainsFunc(other.touches, t.meets) })
}

// touch is one end of a message: a tensor, in a program without Spawn a part of it.
type touch struct {
	x    *Tensor
	part int // or allParts
}

// allParts is the part of a touch of all that a rank has.
const allParts = -1

// meets reports whether two touches may have memory in common.
func (t touch) meets(other touch) bool {
	switch {
	case t.x.storage != other.x.storage || t.part != other.part:
		return false
	case t.part == allParts:
		return t.x.overlaps(other.x)
	}
	return t.x == other.x || t.x.overlapsAt(other.x, t.part)
}
