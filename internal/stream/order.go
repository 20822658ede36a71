package stream

import (
	"iter"
	"slices"
)

// after reports whether all operations that this one waits for have come as far as a
// state. If not, the operation waits for one of them, the last of a sequence: most often
// the others have come as far when this one has.
func (s *Scheduler) after(op *Operation, state opState) bool {
	first := s.obstacle(op, state)
	if first != nil {
		first.behind = append(first.behind, op)
	}
	return first == nil
}

// obstacle returns an operation that op waits for and that has not come as far as a state.
func (s *Scheduler) obstacle(op *Operation, state opState) *Operation {
	last := func(q *sequence) *Operation {
		for i := q.before(op) - 1; i >= 0; i-- {
			s.Looks++
			if first := q.ops[i]; first.state < state || first.boxed {
				return first
			}
		}
		return nil
	}
	for _, in := range op.streams {
		if first := last(&in.strict); first != nil {
			return first
		}
	}
	for _, x := range op.regions {
		for _, q := range x.users.whole {
			if first := last(q); first != nil {
				return first
			}
		}
		if op.Message {
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
		for _, in := range op.streams {
			for _, e := range t.users.messages[corner{in, t.part}] {
				if !e.touch.meets(t) {
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
func (op *Operation) before(s *Stream) iter.Seq[*Operation] {
	return func(yield func(*Operation) bool) {
		for _, earlier := range s.ops.ops {
			if earlier == op || (earlier.places[s].strict || op.shares(earlier)) && !yield(earlier) {
				return
			}
		}
	}
}

// shares reports whether two operations have a storage in common, or two messages memory of
// one.
func (op *Operation) shares(other *Operation) bool {
	if !op.Message || !other.Message {
		for _, x := range other.regions {
			x.marked = other
		}
		return slices.ContainsFunc(op.regions, func(x *Region) bool { return x.marked == other })
	}
	return slices.ContainsFunc(op.touches, func(t touch) bool { return slices.ContainsFunc(other.touches, t.meets) })
}
