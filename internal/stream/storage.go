package stream

import "slices"

// Storage is memory that operations use, as far as the order of these depends on it.
type Storage struct {
	freed bool
	unmap func() error // gives the memory back

	uses   int        // number of operations that have not ended
	users  users      // these
	marked *Operation // that was last compared with another, and has it
	writes []write
}

// NewStorage returns a storage. The function gives its memory back.
func NewStorage(unmap func() error) *Storage { return &Storage{unmap: unmap} }

// Freed reports whether the storage has been freed.
func (x *Storage) Freed() bool { return x.freed }

// Free gives the memory back, when the last operation on it has ended.
func (x *Storage) Free() error {
	x.freed = true
	if x.uses > 0 {
		return nil
	}
	return x.unmap()
}

// Region is some of a storage, as a range of addresses in each of its parts.
type Region struct {
	*Storage
	Parts  []Range
	Entire bool // it is all of its storage
}

// Range is the addresses from From up to To.
type Range struct{ From, To int64 }

// Overlaps reports whether two regions may have memory in common: whether in some part the
// ranges of their addresses do.
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

// overlapsAt is Overlaps for one part of two regions of one storage.
func (x *Region) overlapsAt(y *Region, i int) bool {
	a, b := x.Parts[i], y.Parts[i]
	return a.From < a.To && b.From < b.To && a.From < b.To && b.From < a.To
}

// write is the last operation that writes a region.
type write struct {
	x      *Region
	op     *Operation
	handle *Handle // of the last collective, waited for or not
}

// pending reports whether a read may have to wait for the write, or to be refused.
func (w *write) pending() bool {
	return w.op.state != ended || w.handle != nil && !w.handle.Waited
}

// Wrote notes an operation that writes the region, with its handle if it is a collective. It
// supersedes earlier writes of what it covers: operations on one storage follow each other.
// A launch does not supersede a collective that has not been waited for.
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

// Writing returns the operations that a read of the region waits for, and a collective among
// them that has not been waited for, if there is one.
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

// touch is one end of a message: a region, in a program without Spawn a part of it.
type touch struct {
	*Region
	part int // or AllParts
}

// AllParts is the part of a message's end that is all that a rank has.
const AllParts = -1

// meets reports whether two touches may have memory in common.
func (t touch) meets(other touch) bool {
	switch {
	case t.Storage != other.Storage || t.part != other.part:
		return false
	case t.part == AllParts:
		return t.Overlaps(other.Region)
	}
	return t.Region == other.Region || t.overlapsAt(other.Region, t.part)
}

// users is the operations on a storage that have not ended. Those of one sequence wait for
// each other, and so do those of two sequences, unless both are of messages. A collective of
// ranks is in one sequence, not in one for each of its streams, of which there may be a
// thousand.
type users struct {
	whole    []*sequence        // launches and copies by stream, collectives of ranks by group
	messages map[corner][]*ends // by stream and part of the storage
}

// corner is a part of a storage as the messages of a stream use it.
type corner struct {
	of   *Stream
	part int
}

// ends is the messages of a corner to or from one region.
type ends struct {
	sequence
	touch
}

// add notes an operation that is not a message.
func (u *users) add(op *Operation) {
	of := op.order()
	i := slices.IndexFunc(u.whole, func(q *sequence) bool { return q.of == of })
	if i < 0 {
		i, u.whole = len(u.whole), append(u.whole, &sequence{of: of})
	}
	u.whole[i].add(op)
}

// addMessage notes a message with an end at a part, in all streams that it is in so far.
func (u *users) addMessage(op *Operation, t touch) {
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
func (u *users) remove(op *Operation) {
	u.whole = slices.DeleteFunc(u.whole, func(q *sequence) bool { return q.remove(op) && len(q.ops) == 0 })
}

// removeMessage takes a message out.
func (u *users) removeMessage(op *Operation, t touch) {
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
