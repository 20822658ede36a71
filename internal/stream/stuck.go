package stream

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/sim"
)

// blameStuck calls the function `blame` for each rank that keeps the requested operations
// from making progress, with the error of the rank. First it blames the ranks that returned
// without a call that other ranks wait for. If no rank did so, it blames the ranks that
// wait for each other. If no ranks do so either and d is not nil, it blames the ranks whose
// kernels take part in the deadlock d.
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

// busy reports whether an operation of w has begun and not ended.
func (w *Rank) busy() bool {
	return slices.ContainsFunc(w.stream.ops.ops, func(op *Operation) bool { return op.state == begun })
}

// returnedEarly returns an error if rank w has returned without calling an operation that
// other ranks have called. Otherwise it returns nil. A receive from any rank counts only if
// all ranks that it could receive from have returned.
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

// reason explains why an operation does not begin: in the program of the given rank,
// another operation (first) comes before it and has not begun.
type reason struct {
	first *Operation
	rank  *Rank
}

// reasons returns the operations that keep op from beginning, each with its rank. There are
// two kinds. One is an operation that a rank waits for instead of calling op. The other is
// an operation that has not begun and is earlier than op in a stream of op. If op is a
// receive that has begun and was matched with a send, reasons returns the operations that
// keep the send from beginning.
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

// idle reports whether op has not begun. If op is a receive that was matched with a send,
// idle reports whether one of the two has not begun.
func (op *Operation) idle() bool {
	return op.state < begun || op.state == begun && op.carrier != nil && op.carrier.state < begun
}

// cycleError returns an error if rank w takes part in a cycle of waits: in the program of
// w, an operation A comes before an operation B, but A cannot begin until B has begun.
// Otherwise it returns nil.
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

// dependsOn reports whether op cannot begin before `other` has begun, directly or through
// further operations. `seen` holds the operations that have been visited.
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

// describeBlocked returns the name of op and the reason why op does not begin: the ranks
// that have not called op, or an operation that comes before op.
func (s *Scheduler) describeBlocked(op *Operation) string {
	if len(op.MissingRanks) > 0 {
		return (*opWait)(op).String()
	}
	for _, r := range s.reasons(op) {
		return fmt.Sprintf("%s, which rank %d has behind %s", op.Name, r.rank.Number, r.first.Name)
	}
	return op.Name
}

// describeCallers returns a text with the ranks that have called op: "ranks 0, 2 wait".
func (s *Scheduler) describeCallers(op *Operation) string {
	var there []int
	for _, w := range s.ranks {
		if slices.Contains(op.streams, &w.stream) {
			there = append(there, w.Number)
		}
	}
	return RanksDo(there, "waits", "wait")
}

// RanksDo returns the list of ranks as text, followed by a verb: "ranks 0, 2 have". `one`
// is the verb for a single rank, and `several` is the verb for more ranks.
func RanksDo(ranks []int, one, several string) string {
	if len(ranks) == 1 {
		return RankList(ranks) + " " + one
	}
	return RankList(ranks) + " " + several
}

// RankList returns the rank numbers in list as text, sorted. Three or more consecutive
// numbers are written as "4-7".
func RankList(list []int) string {
	text := strings.Join(printable.Runs(slices.Sorted(slices.Values(list)), 3), ", ")
	if len(list) == 1 {
		return "rank " + text
	}
	return "ranks " + text
}

// ErrStopped is the error for a rank that was stopped and requests another operation.
var ErrStopped = errors.New("this rank has been stopped")
