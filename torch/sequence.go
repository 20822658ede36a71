package torch

import (
	"slices"
	"sort"
)

// sequence is operations that have not ended, in the order of their places in one
// stream, or in the calls of one group.
//
// Sequences are looked at as they are when an operation is tried: ranks that join a
// collective may bring tensors that change what others wait for.
type sequence struct {
	of  *stream
	ops []*operation
}

// search returns the number of operations whose places are before a place.
func (q *sequence) search(place int) int {
	switch n := len(q.ops); {
	case n == 0 || q.ops[0].places[q.of].number >= place:
		return 0
	case q.ops[n-1].places[q.of].number < place:
		return n
	}
	return sort.Search(len(q.ops), func(i int) bool { return q.ops[i].places[q.of].number >= place })
}

// add puts an operation at its place, unless it is there.
func (q *sequence) add(op *operation) {
	if i := q.search(op.places[q.of].number); i == len(q.ops) || q.ops[i] != op {
		q.ops = slices.Insert(q.ops, i, op)
	}
}

// remove takes an operation out and reports whether it was there.
func (q *sequence) remove(op *operation) bool {
	i := q.search(op.places[q.of].number)
	switch {
	case i == len(q.ops) || q.ops[i] != op:
		return false
	case i == 0:
		q.ops[0] = nil
		q.ops = q.ops[1:]
	default:
		q.ops = slices.Delete(q.ops, i, i+1)
	}
	return true
}

// before returns the number of operations that come before op: those of the same stream
// or group by their places. Operations of another group come before op if they do in a
// stream of both. The calls of a group have one order in all streams, so that these are
// the first of the sequence.
func (q *sequence) before(op *operation) int {
	p, in := op.places[q.of]
	switch {
	case in:
		return q.search(p.number)
	case !q.of.calls:
		return 0
	}
	return sort.Search(len(q.ops), func(i int) bool { return !op.follows(q.ops[i]) })
}

// follows reports whether an operation comes after another in any stream.
func (op *operation) follows(other *operation) bool {
	return slices.ContainsFunc(other.streams, func(s *stream) bool {
		p, in := op.places[s]
		return in && other.places[s].number < p.number
	})
}

// users is the operations on a storage that have not ended. Those of one sequence wait for
// each other, and so do those of two sequences, unless both are of messages. A collective of
// workers is in one sequence, not in one for each of its streams, of which there may be a
// thousand.
type users struct {
	whole    []*sequence        // launches and copies by stream, collectives of workers by group
	messages map[corner][]*ends // by stream and part of the tensor
}

// corner is a part of a storage as the messages of a stream use it.
type corner struct {
	of   *stream
	part int
}

// ends is the messages of a corner to or from one tensor: the storage's, or a view.
type ends struct {
	sequence
	touch
}

// add notes an operation that is not a message.
func (u *users) add(op *operation) {
	of := op.order()
	i := slices.IndexFunc(u.whole, func(q *sequence) bool { return q.of == of })
	if i < 0 {
		i, u.whole = len(u.whole), append(u.whole, &sequence{of: of})
	}
	u.whole[i].add(op)
}

// addMessage notes a message with an end at a part, in all streams that it is in so far.
func (u *users) addMessage(op *operation, t touch) {
	if u.messages == nil {
		u.messages = map[corner][]*ends{}
	}
	for _, s := range op.streams {
		at := corner{s, t.part}
		i := slices.IndexFunc(u.messages[at], func(e *ends) bool { return e.touch == t })
		if i < 0 {
			i = len(u.messages[at])
			u.messages[at] = append(u.messages[at], &ends{sequence{of: s}, t})
		}
		u.messages[at][i].add(op)
	}
}

// remove takes an operation that is not a message out.
func (u *users) remove(op *operation) {
	u.whole = slices.DeleteFunc(u.whole, func(q *sequence) bool { return q.remove(op) && len(q.ops) == 0 })
}

// removeMessage takes a message out.
func (u *users) removeMessage(op *operation, t touch) {
	for _, s := range op.streams {
		at := corner{s, t.part}
		left := slices.DeleteFunc(u.messages[at], func(e *ends) bool {
			return e.touch == t && e.remove(op) && len(e.ops) == 0
		})
		if u.messages[at] = left; len(left) == 0 {
			delete(u.messages, at)
		}
	}
}
