package torch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/sim"
)

// stuck finds who is to blame when nothing goes on although something was asked for:
// those that returned without what others wait for; else those that wait for each
// other; else those whose kernels do.
func (c *Context) stuck(blame func(*worker, error), d *sim.Deadlock) {
	found := false
	for _, w := range c.workers {
		if op := c.owed(w); op != nil {
			found = true
			blame(w, fmt.Errorf("returned without %s, for which %s", op.name, c.waiting(op)))
		}
	}
	if found {
		return
	}
	for _, w := range c.workers {
		if op := w.blocked(); op != nil && c.reaches(w, w, map[*worker]bool{}) {
			found = true
			blame(w, fmt.Errorf("waits for %s; the ranks wait for each other: call collectives in the same order on all of them", c.hindrance(op)))
		}
	}
	if found || d == nil {
		return
	}
	for _, w := range c.workers {
		if slices.ContainsFunc(w.stream.ops, func(op *operation) bool { return op.state == begun }) {
			blame(w, d)
		}
	}
}

// owed is an operation that others have called, if a worker has returned without it.
func (c *Context) owed(w *worker) *operation {
	if !w.returned {
		return nil
	}
	for _, other := range c.workers {
		for _, op := range other.stream.ops {
			if slices.Contains(op.forming, w) {
				return op
			}
		}
	}
	return nil
}

// blocked is what holds a worker up: the first operation of its stream that has not
// begun, or else what it waits for.
func (w *worker) blocked() *operation {
	for _, op := range w.stream.ops {
		if op.state < begun {
			return op
		}
	}
	if w.waits != nil && w.waits.state < begun {
		return w.waits
	}
	return nil
}

// blockers is the workers that have to do something before an operation can begin:
// those that have yet to call it, or have something before it in their streams.
func (c *Context) blockers(op *operation) (list []*worker) {
	list = append(list, op.forming...)
	for _, w := range c.workers {
		if slices.Contains(op.streams, &w.stream) && w.blocked() != op && len(op.forming) == 0 {
			list = append(list, w)
		}
	}
	return list
}

// reaches reports whether a worker is held up by another, directly or not.
func (c *Context) reaches(from, to *worker, seen map[*worker]bool) bool {
	op := from.blocked()
	if op == nil || seen[from] {
		return false
	}
	seen[from] = true
	for _, w := range c.blockers(op) {
		if w == to || c.reaches(w, to, seen) {
			return true
		}
	}
	return false
}

// hindrance says why an operation does not begin.
func (c *Context) hindrance(op *operation) string {
	if len(op.forming) > 0 {
		return (*opWait)(op).String()
	}
	for _, other := range c.blockers(op) {
		return fmt.Sprintf("%s, which rank %d has behind %s", op.name, other.rank, other.blocked().name)
	}
	return op.name
}

// waiting says which ranks have called an operation.
func (c *Context) waiting(op *operation) string {
	var there []*worker
	for _, w := range c.workers {
		if slices.Contains(op.streams, &w.stream) {
			there = append(there, w)
		}
	}
	if len(there) == 1 {
		return ranks(there) + " waits"
	}
	return ranks(there) + " wait"
}

// ranks lists workers: "ranks 0, 2".
func ranks(list []*worker) string {
	var numbers []int
	for _, w := range list {
		numbers = append(numbers, w.rank)
	}
	return rankList(numbers)
}

// have is ranks with its verb.
func have(list []*worker) string {
	if len(list) == 1 {
		return ranks(list) + " has"
	}
	return ranks(list) + " have"
}

// rankList lists ranks, runs of three and more as "4-7".
func rankList(list []int) string {
	slices.Sort(list)
	var words []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if j < i+2 {
			j = i
			words = append(words, fmt.Sprint(list[i]))
		} else {
			words = append(words, fmt.Sprintf("%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	if len(list) == 1 {
		return "rank " + words[0]
	}
	return "ranks " + strings.Join(words, ", ")
}

// errStopped is what a worker that was stopped gets if it asks for more.
var errStopped = errors.New("this rank has been stopped")
