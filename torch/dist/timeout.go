package dist

import (
	"fmt"
	"slices"
	"time"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/torch"
)

// Timeout limits the simulated time of a group's collectives and messages, from the first
// call of one to its end: one that takes longer ends all workers of Spawn, or the program.
// 0 is none, and the default.
func Timeout(d time.Duration) GroupOption {
	return func(o *GroupOptions) { o.Timeout = simulated("Timeout", d) }
}

// simulated returns a duration as simulated time.
func simulated(op string, d time.Duration) torch.Time {
	refuse(d < 0 || d > time.Hour, op, "a timeout of %v: give one from 0 to an hour of simulated time", d)
	return torch.Time(d.Nanoseconds()) * simtime.Nanosecond
}

// TimeoutError reports a collective or a message that did not end in the simulated time that
// it had.
type TimeoutError struct {
	Name    string     // of the collective
	After   torch.Time // that it had
	Missing []int      // ranks of the world that had not called it
	arrival bool       // all that had to be done was to arrive
	half    bool       // a message whose other end the program has not asked for
}

// late returns the error of an operation that did not end in time.
func late(op *stream.Operation, after torch.Time) *TimeoutError {
	missing := op.Missing()
	return &TimeoutError{Name: op.Name, After: after, Missing: missing, half: op.Message && op.IsPartial() && len(missing) == 0}
}

// Error names the ranks that had not called the collective.
func (e *TimeoutError) Error() string {
	switch {
	case e.arrival:
		return fmt.Sprintf("%s: %s not arrived within %v", e.Name, stream.RanksDo(e.Missing, "has", "have"), e.After)
	case e.half:
		return fmt.Sprintf("%s: not ended within %v: its other end has not been asked for", e.Name, e.After)
	case len(e.Missing) == 0:
		return fmt.Sprintf("%s: not ended within %v, though all its ranks have called it: raise the timeout", e.Name, e.After)
	}
	return fmt.Sprintf("%s: not ended within %v: %s not called it", e.Name, e.After, stream.RanksDo(e.Missing, "has", "have"))
}

// MonitoredBarrier waits until all ranks of a group have called it, in contrast to Barrier
// also on the host. Rank 0 of the group gives up when a simulated time has passed since it
// came: its error names the lowest rank that has not come, or with waitAllRanks all of them,
// and the barrier fails on all ranks. Other ranks give up when rank 0 has not come as long
// after them. A timeout of 0 is that of the group.
func MonitoredBarrier(r *torch.Rank, timeout time.Duration, waitAllRanks bool, group ...*Group) error {
	const name = "monitored_barrier"
	d := of(r)
	g, err := d.group(name, group)
	if err != nil {
		return err
	}
	refuse(d.coalescing != nil, name, "it waits, and is not coalesced with collectives")
	after := simulated(name, timeout)
	if after == 0 {
		after = g.shared.options.Timeout
	}
	w, err := d.call(g, &request{collective: ccl.Barrier, what: name, label: name, monitored: true})
	if err != nil {
		return err
	}
	w.handle.Waited = true // here
	op := w.handle.Op
	ended, err := d.s.AwaitFor(op, after)
	if err != nil || ended {
		return err
	}
	missing := op.Missing()
	root := g.shared.ranks[0]
	switch {
	case g.rank > 0 && slices.Contains(missing, root):
		missing = []int{root}
	case g.rank > 0 || len(missing) == 0: // rank 0 will tell, or all have come
		return d.s.Await(op)
	case !waitAllRanks:
		missing = missing[:1]
	}
	late := &TimeoutError{Name: op.Name, After: after, Missing: missing, arrival: true}
	d.w.s.GiveUp(op, fmt.Errorf("rank %d gave up: %w", d.s.Number, late))
	return late
}
