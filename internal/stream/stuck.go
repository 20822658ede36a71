package stream

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/sim"
)

// stuck finds who is to blame when nothing goes on although something was asked for:
// those that returned without what others wait for; else those that wait for each
// other; else those whose kernels do.
func (s *Scheduler) stuck(blame func(*Rank, error), d *sim.Deadlock) {
	found := false
	each := func(fault func(*Rank) error) {
		for _, w := range s.ranks {
			if err := fault(w); err != nil {
				found = true
				blame(w, err)
			}
		}
	}
	if each(s.owed); !found {
		each(s.circular)
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

// busy reports whether an operation of a rank has begun, and has not ended.
func (w *Rank) busy() bool {
	return slices.ContainsFunc(w.stream.ops.ops, func(op *Operation) bool { return op.state == begun })
}

// owed returns the error of a rank that has returned without an operation that others have
// called.
func (s *Scheduler) owed(w *Rank) error {
	if !w.returned {
		return nil
	}
	for _, other := range s.ranks {
		for _, op := range other.stream.ops.ops {
			if slices.Contains(op.Forming, w) && !(op.AnySource && slices.ContainsFunc(op.Forming, func(w *Rank) bool { return !w.returned })) {
				return fmt.Errorf("returned without %s, for which %s", op.Name, s.waiting(op))
			}
		}
	}
	return nil
}

// reason is why an operation does not begin: another has to come first, by the order of
// a rank's program.
type reason struct {
	first *Operation
	of    *Rank
}

// reasons returns what holds an operation up: those that have yet to call it wait for
// something else, or have something before it in their streams.
func (s *Scheduler) reasons(op *Operation) (list []reason) {
	if op.carrier != nil && op.state == begun {
		return s.reasons(op.carrier)
	}
	if op.state >= begun {
		return nil
	}
	for _, w := range op.Forming {
		if w.waits != nil && w.waits.idle() {
			list = append(list, reason{w.waits, w})
		}
	}
	for _, w := range s.ranks {
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
func (op *Operation) idle() bool {
	return op.state < begun || op.state == begun && op.carrier != nil && op.carrier.state < begun
}

// circular returns the error of a rank whose program has an operation come first, if what
// comes after it has to come before it as well.
func (s *Scheduler) circular(w *Rank) error {
	for _, other := range s.ranks {
		for _, op := range other.stream.ops.ops {
			for _, r := range s.reasons(op) {
				if r.of == w && s.needs(r.first, op, map[*Operation]bool{}) {
					return fmt.Errorf("waits for %s; the ranks wait for each other: call collectives in the same order on all of them", s.hindrance(r.first))
				}
			}
		}
	}
	return nil
}

// needs reports whether an operation is held up by another, directly or not.
func (s *Scheduler) needs(op, other *Operation, seen map[*Operation]bool) bool {
	if op == other {
		return true
	}
	if seen[op] {
		return false
	}
	seen[op] = true
	return slices.ContainsFunc(s.reasons(op), func(r reason) bool { return s.needs(r.first, other, seen) })
}

// hindrance says why an operation does not begin.
func (s *Scheduler) hindrance(op *Operation) string {
	if len(op.Forming) > 0 {
		return (*opWait)(op).String()
	}
	for _, r := range s.reasons(op) {
		return fmt.Sprintf("%s, which rank %d has behind %s", op.Name, r.of.Number, r.first.Name)
	}
	return op.Name
}

// waiting says which ranks have called an operation.
func (s *Scheduler) waiting(op *Operation) string {
	var there []int
	for _, w := range s.ranks {
		if slices.Contains(op.streams, &w.stream) {
			there = append(there, w.Number)
		}
	}
	return RanksDo(there, "waits", "wait")
}

// RanksDo lists ranks with a verb: "ranks 0, 2 have".
func RanksDo(ranks []int, one, several string) string {
	if len(ranks) == 1 {
		return RankList(ranks) + " " + one
	}
	return RankList(ranks) + " " + several
}

// RankList lists ranks, runs of three and more as "4-7".
func RankList(list []int) string {
	text := strings.Join(printable.Runs(slices.Sorted(slices.Values(list)), 3), ", ")
	if len(list) == 1 {
		return "rank " + text
	}
	return "ranks " + text
}

// ErrStopped is what a rank that was stopped gets if it asks for more.
var ErrStopped = errors.New("this rank has been stopped")
