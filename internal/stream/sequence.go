package stream

import (
	"slices"
	"sort"
)

// sequence is a list of operations that have not ended, ordered by their places in one
// stream or in the calls of one group.
//
// An operation is checked against sequences each time it is tried, not once when it is
// added: ranks that join a collective may bring storages that change what other operations
// wait for.
type sequence struct {
	order *Stream
	ops   []*Operation
}

// search returns the number of operations whose place numbers are less than place.
func (q *sequence) search(place int) int {
	switch n := len(q.ops); {
	case n == 0 || q.ops[0].places[q.order].number >= place:
		return 0
	case q.ops[n-1].places[q.order].number < place:
		return n
	}
	return sort.Search(len(q.ops), func(i int) bool { return q.ops[i].places[q.order].number >= place })
}

// add inserts an operation at its place, unless it is already there.
func (q *sequence) add(op *Operation) {
	if i := q.search(op.places[q.order].number); i == len(q.ops) || q.ops[i] != op {
		q.ops = slices.Insert(q.ops, i, op)
	}
}

// remove removes an operation and reports whether it was there.
func (q *sequence) remove(op *Operation) bool {
	i := q.search(op.places[q.order].number)
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

// countBefore returns the number of operations of q that come before op. In the same stream
// or group, places decide. An operation of another group comes before op if it does so in a
// stream of both. The calls of a group have the same order in all streams, so these
// operations are the first ones of the sequence.
func (q *sequence) countBefore(op *Operation) int {
	p, in := op.places[q.order]
	switch {
	case in:
		return q.search(p.number)
	case !q.order.calls:
		return 0
	}
	return sort.Search(len(q.ops), func(i int) bool { return !op.follows(q.ops[i]) })
}

// follows reports whether op comes after another operation in any stream.
func (op *Operation) follows(other *Operation) bool {
	return slices.ContainsFunc(other.streams, func(s *Stream) bool {
		p, in := op.places[s]
		return in && other.places[s].number < p.number
	})
}
