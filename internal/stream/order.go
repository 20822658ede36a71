package stream

import (
	"iter"
	"slices"
)

// awaitEarlier reports whether all operations that op waits for have reached the given
// state. If not, it makes op wait for one operation that has not reached the state. It
// chooses the last such operation of a sequence, because the earlier operations of the
// sequence usually reach the state before the last one.
func (s *Scheduler) awaitEarlier(op *Operation, state opState) bool {
	first := s.blocker(op, state)
	if first != nil {
		first.dependents = append(first.dependents, op)
	}
	return first == nil
}

// blocker returns an operation that op waits for and that has not reached the given state.
// It returns nil if there is none.
func (s *Scheduler) blocker(op *Operation, state opState) *Operation {
	last := func(q *sequence) *Operation {
		for i := q.countBefore(op) - 1; i >= 0; i-- {
			s.Inspections++
			if first := q.ops[i]; first.state < state || first.batched {
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
	for _, t := range op.endpoints {
		for _, in := range op.streams {
			for _, e := range t.users.messages[endpointKey{in, t.part}] {
				if !e.endpoint.overlaps(t) {
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

// predecessors iterates over the earlier operations of the stream s that op waits for.
func (op *Operation) predecessors(s *Stream) iter.Seq[*Operation] {
	return func(yield func(*Operation) bool) {
		for _, earlier := range s.ops.ops {
			if earlier == op || (earlier.places[s].strict || op.shares(earlier)) && !yield(earlier) {
				return
			}
		}
	}
}

// shares reports whether op and `other` use the same storage. If both are messages, it
// reports whether they may use the same memory.
func (op *Operation) shares(other *Operation) bool {
	if !op.Message || !other.Message {
		for _, x := range other.regions {
			x.marked = other
		}
		return slices.ContainsFunc(op.regions, func(x *Region) bool { return x.marked == other })
	}
	return slices.ContainsFunc(op.endpoints, func(t endpoint) bool { return slices.ContainsFunc(other.endpoints, t.overlaps) })
}
