package torch

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/sim"
)

// stuck finds who is to blame when nothing goes on although something was asked for:
// those that returned without what others wait for; else those that wait for each
// other; else those whose kernels do.
func (c *Context) stuck(blame func(*Rank, error), d *sim.Deadlock) {
	found := false
	each := func(fault func(*Rank) error) {
		for _, w := range c.workers {
			if err := fault(w); err != nil {
				found = true
				blame(w, err)
			}
		}
	}
	if each(c.owed); !found {
		each(c.circular)
	}
	if !found && d != nil {
		each(func(w *Rank) error {
			if w.busy() {
				return d
			}
			return nil
		})
	}
}

// busy reports whether an operation of a worker has begun, and has not ended.
func (w *Rank) busy() bool {
	return slices.ContainsFunc(w.stream.ops.ops, func(op *operation) bool { return op.state == begun })
}

// owed returns the error of a worker that has returned without an operation that others have
// called.
func (c *Context) owed(w *Rank) error {
	if !w.returned {
		return nil
	}
	for _, other := range c.workers {
		for _, op := range other.stream.ops.ops {
			if slices.Contains(op.forming, w) && !(op.anySource && slices.ContainsFunc(op.forming, func(w *Rank) bool { return !w.returned })) {
				return fmt.Errorf("returned without %s, for which %s", op.name, c.waiting(op))
			}
		}
	}
	return nil
}

// reason is why an operation does not begin: another has to come first, by the order of
// a worker's program.
type reason struct {
	first *operation
	of    *Rank
}

// reasons returns what holds an operation up: those that have yet to call it wait for
// something else, or have something before it in their streams.
func (c *Context) reasons(op *operation) (list []reason) {
	if op.carrier != nil && op.state == begun {
		return c.reasons(op.carrier)
	}
	if op.state >= begun {
		return nil
	}
	for _, w := range op.forming {
		if w.waits != nil && w.waits.idle() {
			list = append(list, reason{w.waits, w})
		}
	}
	for _, w := range c.workers {
		if slices.Contains(op.streams, &w.stream) {
			for first := range op.before(&w.stream) {
				if first.idle() {
					list = append(list, reason{first, w})
				}
			}
		}
	}
	return list
}

// idle reports whether an operation has not begun, or what carries it.
func (op *operation) idle() bool {
	return op.state < begun || op.state == begun && op.carrier != nil && op.carrier.state < begun
}

// circular returns the error of a worker whose program has an operation come first, if what
// comes after it has to come before it as well.
func (c *Context) circular(w *Rank) error {
	for _, other := range c.workers {
		for _, op := range other.stream.ops.ops {
			for _, r := range c.reasons(op) {
				if r.of == w && c.needs(r.first, op, map[*operation]bool{}) {
					return fmt.Errorf("waits for %s; the ranks wait for each other: call collectives in the same order on all of them", c.hindrance(r.first))
				}
			}
		}
	}
	return nil
}

// needs reports whether an operation is held up by another, directly or not.
func (c *Context) needs(op, other *operation, seen map[*operation]bool) bool {
	if op == other {
		return true
	}
	if seen[op] {
		return false
	}
	seen[op] = true
	return slices.ContainsFunc(c.reasons(op), func(r reason) bool { return c.needs(r.first, other, seen) })
}

// hindrance says why an operation does not begin.
func (c *Context) hindrance(op *operation) string {
	if len(op.forming) > 0 {
		return (*opWait)(op).String()
	}
	for _, r := range c.reasons(op) {
		return fmt.Sprintf("%s, which rank %d has behind %s", op.name, r.of.rank, r.first.name)
	}
	return op.name
}

// waiting says which ranks have called an operation.
func (c *Context) waiting(op *operation) string {
	var there []int
	for _, w := range c.workers {
		if slices.Contains(op.streams, &w.stream) {
			there = append(there, w.rank)
		}
	}
	return ranksDo(there, "waits", "wait")
}

// ranksDo lists ranks with a verb: "ranks 0, 2 have".
func ranksDo(ranks []int, one, several string) string {
	if len(ranks) == 1 {
		return rankList(ranks) + " " + one
	}
	return rankList(ranks) + " " + several
}

// rankList lists ranks, runs of three and more as "4-7".
func rankList(list []int) string {
	text := strings.Join(printable.Runs(slices.Sorted(slices.Values(list)), 3), ", ")
	if len(list) == 1 {
		return "rank " + text
	}
	return "ranks " + text
}

// errStopped is what a worker that was stopped gets if it asks for more.
var errStopped = errors.New("this rank has been stopped")

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
