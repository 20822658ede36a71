package stream

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/sim"
)

// blameStuck finds the ranks to blame when no requested operation can make progress: ranks
// that returned without a call that others wait for; else ranks that wait for each other;
// else ranks whose kernels are in the deadlock d.
func (s *Scheduler) blameStuck(blame func(*Rank, error), d *sim.Deadlock) {
	found := false
	each := func(fault func(*Rank) error) {
		for _, w := range s.ranks {
			if err := fault(w); err != nil {
				found = true
				blame(w, err)
			}
		}
	}
	if each(s.returnedEarly); !found {
		each(s.cycleError)
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

// busy reports whether an operation of the rank has begun and not ended.
func (w *Rank) busy() bool {
	return slices.ContainsFunc(w.stream.ops.ops, func(op *Operation) bool { return op.state == begun })
}

// returnedEarly returns an error if the rank has returned without calling an operation that
// other ranks have called.
func (s *Scheduler) returnedEarly(w *Rank) error {
	if !w.returned {
		return nil
	}
	for _, other := range s.ranks {
		for _, op := range other.stream.ops.ops {
			if slices.Contains(op.MissingRanks, w) && !(op.AnySource && slices.ContainsFunc(op.MissingRanks, func(w *Rank) bool { return !w.returned })) {
				return fmt.Errorf("returned without %s, for which %s", op.Name, s.describeCallers(op))
			}
		}
	}
	return nil
}

// reason explains why an operation does not begin: by the program order of a rank, another
// operation must come first.
type reason struct {
	first *Operation
	rank  *Rank
}

// reasons returns what blocks an operation: ranks that have not called it wait for another
// operation, or an earlier operation in a stream has not begun.
func (s *Scheduler) reasons(op *Operation) (list []reason) {
	if op.carrier != nil && op.state == begun {
		return s.reasons(op.carrier)
	}
	if op.state >= begun {
		return nil
	}
	for _, w := range op.MissingRanks {
		if w.waits != nil && w.waits.idle() {
			list = append(list, reason{w.waits, w})
		}
	}
	for _, w := range s.ranks {
		if slices.Contains(op.streams, &w.stream) {
			for first := range op.predecessors(&w.stream) {
				if first.idle() {
					list = append(list, reason{first, w})
				}
			}
		}
	}
	return list
}

// idle reports whether an operation, or the send that carries it, has not begun.
func (op *Operation) idle() bool {
	return op.state < begun || op.state == begun && op.carrier != nil && op.carrier.state < begun
}

// cycleError returns an error if the program of the rank puts an operation before another
// that must come earlier.
func (s *Scheduler) cycleError(w *Rank) error {
	for _, other := range s.ranks {
		for _, op := range other.stream.ops.ops {
			for _, r := range s.reasons(op) {
				if r.rank == w && s.dependsOn(r.first, op, map[*Operation]bool{}) {
					return fmt.Errorf("waits for %s; the ranks wait for each other: call collectives in the same order on all of them", s.describeBlocked(r.first))
				}
			}
		}
	}
	return nil
}

// dependsOn reports whether op is blocked by other, directly or indirectly.
func (s *Scheduler) dependsOn(op, other *Operation, seen map[*Operation]bool) bool {
	if op == other {
		return true
	}
	if seen[op] {
		return false
	}
	seen[op] = true
	return slices.ContainsFunc(s.reasons(op), func(r reason) bool { return s.dependsOn(r.first, other, seen) })
}

// describeBlocked returns the name of an operation and why it does not begin.
func (s *Scheduler) describeBlocked(op *Operation) string {
	if len(op.MissingRanks) > 0 {
		return (*opWait)(op).String()
	}
	for _, r := range s.reasons(op) {
		return fmt.Sprintf("%s, which rank %d has behind %s", op.Name, r.rank.Number, r.first.Name)
	}
	return op.Name
}

// describeCallers lists the ranks that have called an operation: "ranks 0, 2 wait".
func (s *Scheduler) describeCallers(op *Operation) string {
	var there []int
	for _, w := range s.ranks {
		if slices.Contains(op.streams, &w.stream) {
			there = append(there, w.Number)
		}
	}
	return RanksDo(there, "waits", "wait")
}

// RanksDo returns a list of ranks followed by a verb in the singular or plural: "ranks 0, 2
// have".
func RanksDo(ranks []int, one, several string) string {
	if len(ranks) == 1 {
		return RankList(ranks) + " " + one
	}
	return RankList(ranks) + " " + several
}

// RankList returns a list of ranks as text. Runs of three or more are written as "4-7".
func RankList(list []int) string {
	text := strings.Join(printable.Runs(slices.Sorted(slices.Values(list)), 3), ", ")
	if len(list) == 1 {
		return "rank " + text
	}
	return "ranks " + text
}

// ErrStopped is the error for a rank that was stopped and requests another operation.
var ErrStopped = errors.New("this rank has been stopped")
