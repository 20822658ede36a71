package stream

import (
	"slices"
	"sort"
)

// sequence is a list of operations that have not ended. The list is sorted by the places of
// the operations in one stream: the stream of a rank, or the one that orders the
// collectives of a group.
//
// An operation is checked against sequences each time it is tried, not once when it is
// added: ranks that join a collective may bring storages that change what other operations
// wait for.
type sequence struct {
	order *Stream
	ops   []*Operation
}

// search returns the number of operations in q whose place number is less than the given
// place number.
func (q *sequence) search(place int) int {
	switch n := len(q.ops); {
	case n == 0 || q.ops[0].places[q.order].number >= place:
		return 0
	case q.ops[n-1].places[q.order].number < place:
		return n
	}
	return sort.Search(len(q.ops), func(i int) bool { return q.ops[i].places[q.order].number >= place })
}

// add inserts op at its place, unless op is already in q.
func (q *sequence) add(op *Operation) {
	if i := q.search(op.places[q.order].number); i == len(q.ops) || q.ops[i] != op {
		q.ops = slices.Insert(q.ops, i, op)
	}
}

// remove removes op from q and reports whether op was in q.
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

// countBefore returns the number of operations of q that come before op. There are three
// cases. If op has a place in q's stream, place numbers decide. If op has no place there
// and q's stream is that of a rank, the result is 0. Otherwise q's stream orders the
// collectives of another group. A collective of q then comes before op if it is earlier
// than op in a stream that contains both. The collectives of a group have the same order in
// all streams, so the ones before op are at the front of q.
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

// follows reports whether op comes after `other` in a stream that both are in.
func (op *Operation) follows(other *Operation) bool {
	return slices.ContainsFunc(other.streams, func(s *Stream) bool {
		p, in := op.places[s]
		return in && other.places[s].number < p.number
	})
}
