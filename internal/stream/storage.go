package stream

import "slices"

// Storage is memory that operations use. Operations that use the same storage run one after
// another.
type Storage struct {
	freed bool
	unmap func() error // returns the memory to the machine

	uses   int        // number of operations that use it and have not ended
	users  users      // the operations that use it and have not ended
	marked *Operation // the last operation that the method shares has found to use this storage
	writes []write
}

// NewStorage returns a storage. The function `unmap` returns the memory of the storage to
// the machine.
func NewStorage(unmap func() error) *Storage { return &Storage{unmap: unmap} }

// Freed reports whether Free has been called.
func (x *Storage) Freed() bool { return x.freed }

// Free returns the memory to the machine: now, or when the last operation that uses the
// storage has ended.
func (x *Storage) Free() error {
	x.freed = true
	if x.uses > 0 {
		return nil
	}
	return x.unmap()
}

// Region is a range of addresses in each part of a storage. A storage has one part for each
// shard of its tensor.
type Region struct {
	*Storage
	Parts  []Range
	Entire bool // whether the region is the whole storage
}

// Range is a range of addresses: it starts at From and ends before To.
type Range struct{ From, To int64 }

// Overlaps reports whether x and y may share memory: whether both are regions of the same
// storage and their address ranges overlap in at least one part. A region always overlaps
// itself, even an empty one.
func (x *Region) Overlaps(y *Region) bool {
	if x.Storage != y.Storage {
		return false
	}
	for i := range x.Parts {
		if x.overlapsAt(y, i) {
			return true
		}
	}
	return x == y
}

// overlapsAt reports whether the address ranges of x and y overlap in part i. x and y are
// regions of the same storage.
func (x *Region) overlapsAt(y *Region, i int) bool {
	a, b := x.Parts[i], y.Parts[i]
	return a.From < a.To && b.From < b.To && a.From < b.To && b.From < a.To
}

// write records the last operation that writes a region.
type write struct {
	x      *Region
	op     *Operation
	handle *Handle // the handle of the last collective, whether waited for or not; nil if none
}

// pending reports whether a read must take the write into account. That is so in two cases.
// If the operation that writes has not ended, the read waits for it. If the operation is a
// collective that the rank has not waited for, the read is refused.
func (w *write) pending() bool {
	return w.op.state != ended || w.handle != nil && !w.handle.Waited
}

// Wrote records that op writes the region. `handle` is the handle of op if op is a
// collective, or else nil. The new record replaces the records of earlier writes to memory
// that op overwrites, because operations on the same storage run one after another. If such
// an earlier write was a collective that has not been waited for, its handle is kept.
func (x *Region) Wrote(op *Operation, handle *Handle) {
	last := write{x, op, handle}
	x.writes = slices.DeleteFunc(x.writes, func(w write) bool {
		covered := w.x == x || x.Entire
		if covered && last.handle == nil && w.handle != nil && !w.handle.Waited {
			last.handle = w.handle
		}
		return covered || !w.pending()
	})
	x.writes = append(x.writes, last)
}

// Writing returns in `list` the operations that a read of the region must wait for.
// `unwaited` is the first collective that writes the region and that the rank has not
// waited for, or nil.
func (x *Region) Writing() (list []*Operation, unwaited *Operation) {
	for _, w := range x.writes {
		if !w.pending() || !w.x.Overlaps(x) {
			continue
		}
		list = append(list, w.op)
		if unwaited == nil && w.handle != nil && !w.handle.Waited {
			unwaited = w.handle.Op
		}
	}
	return list, unwaited
}

// endpoint is the memory at one end of a message: a region or, in a program without Spawn,
// one part of a region.
type endpoint struct {
	*Region
	part int // the index of the part, or AllParts
}

// AllParts, as the part of an endpoint, stands for all parts of the region.
const AllParts = -1

// overlaps reports whether the endpoints t and `other` may share memory.
func (t endpoint) overlaps(other endpoint) bool {
	switch {
	case t.Storage != other.Storage || t.part != other.part:
		return false
	case t.part == AllParts:
		return t.Overlaps(other.Region)
	}
	return t.Region == other.Region || t.overlapsAt(other.Region, t.part)
}

// users holds the operations that use a storage and have not ended, in sequences. The
// operations of one sequence wait for each other. Operations of different sequences wait
// for each other too, unless both are messages. A collective of ranks is in one sequence
// only, not in one for each of its streams, because it may have a thousand streams.
type users struct {
	whole    []*sequence                      // launches and copies by stream, collectives of ranks by group
	messages map[endpointKey][]*endpointUsers // by stream and part of the storage
}

// endpointKey identifies the messages of one stream that use one part of a storage.
type endpointKey struct {
	stream *Stream
	part   int
}

// endpointUsers is the list of the messages of an endpointKey that start or end at the same
// endpoint.
type endpointUsers struct {
	sequence
	endpoint
}

// add records that op, which is not a message, uses the storage.
func (u *users) add(op *Operation) {
	order := op.order()
	i := slices.IndexFunc(u.whole, func(q *sequence) bool { return q.order == order })
	if i < 0 {
		i, u.whole = len(u.whole), append(u.whole, &sequence{order: order})
	}
	u.whole[i].add(op)
}

// addMessage records that op, a message, uses the endpoint t. It records op for each stream
// that op is in so far.
func (u *users) addMessage(op *Operation, t endpoint) {
	if u.messages == nil {
		u.messages = map[endpointKey][]*endpointUsers{}
	}
	for _, s := range op.streams {
		at := endpointKey{s, t.part}
		i := slices.IndexFunc(u.messages[at], func(e *endpointUsers) bool { return e.endpoint == t })
		if i < 0 {
			i = len(u.messages[at])
			u.messages[at] = append(u.messages[at], &endpointUsers{sequence{order: s}, t})
		}
		u.messages[at][i].add(op)
	}
}

// remove removes op, which is not a message.
func (u *users) remove(op *Operation) {
	u.whole = slices.DeleteFunc(u.whole, func(q *sequence) bool { return q.remove(op) && len(q.ops) == 0 })
}

// removeMessage removes op, a message with the endpoint t.
func (u *users) removeMessage(op *Operation, t endpoint) {
	for _, s := range op.streams {
		at := endpointKey{s, t.part}
		left := slices.DeleteFunc(u.messages[at], func(e *endpointUsers) bool {
			return e.endpoint == t && e.remove(op) && len(e.ops) == 0
		})
		if u.messages[at] = left; len(left) == 0 {
			delete(u.messages, at)
		}
	}
}
