package stream

import (
	"slices"
	"sort"
)

// sequence is operations that have not ended, in the order of their places in one
// stream, or in the calls of one group.
//
// Sequences are looked at as they are when an operation is tried: ranks that join a
// collective may bring storages that change what others wait for.
type sequence struct {
	of  *Stream
	ops []*Operation
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
func (q *sequence) add(op *Operation) {
	if i := q.search(op.places[q.of].number); i == len(q.ops) || q.ops[i] != op {
		q.ops = slices.Insert(q.ops, i, op)
	}
}

// remove takes an operation out and reports whether it was there.
func (q *sequence) remove(op *Operation) bool {
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
func (q *sequence) before(op *Operation) int {
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
func (op *Operation) follows(other *Operation) bool {
	return slices.ContainsFunc(other.streams, func(s *Stream) bool {
		p, in := op.places[s]
		return in && other.places[s].number < p.number
	})
}
