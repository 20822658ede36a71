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

// Timeout limits the simulated time of each collective and message of a group, from the
// call of the first rank to the end of the operation. If an operation takes longer, all
// workers of Spawn, or the program, end with an error. The default of 0 means no limit.
func Timeout(d time.Duration) GroupOption {
	return func(o *GroupOptions) { o.Timeout = simulatedTime("Timeout", d) }
}

// simulatedTime converts the duration d to simulated time. It panics if d is not between 0
// and an hour. op is the name of the calling function, for errors.
func simulatedTime(op string, d time.Duration) torch.Time {
	refuse(d < 0 || d > time.Hour, op, "a timeout of %v: give one from 0 to an hour of simulated time", d)
	return torch.Time(d.Nanoseconds()) * simtime.Nanosecond
}

// TimeoutError reports a collective or a message that did not end within its simulated
// time.
type TimeoutError struct {
	Name    string     // the name of the collective
	After   torch.Time // the timeout
	Missing []int      // ranks of the world that had not called the collective
	arrival bool       // whether the operation is a monitored barrier, at which ranks only arrive
	half    bool       // whether the operation is a message of which the program has enqueued only one end
}

// newTimeoutError returns the error for the operation op, which has not ended within its
// timeout `after`.
func newTimeoutError(op *stream.Operation, after torch.Time) *TimeoutError {
	missing := op.Missing()
	return &TimeoutError{Name: op.Name, After: after, Missing: missing, half: op.Message && op.IsPartial() && len(missing) == 0}
}

// Error returns a text that names the operation, the timeout and the ranks that had not
// called the operation. If all ranks had called it, the text says so. For a message of
// which only one end was enqueued, the text says that the other end is missing.
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

// MonitoredBarrier waits until all ranks of a group have called it. In contrast to Barrier,
// the host code waits. A timeout of 0 means the timeout of the group.
//
// Rank 0 of the group gives up when the timeout has passed since its call. Its error names
// the lowest rank that has not arrived, or all such ranks if waitAllRanks is true. The
// barrier then fails on all ranks. A rank other than 0 measures the timeout from its own
// call. When the timeout has passed, it gives up only if rank 0 has not arrived.
func MonitoredBarrier(r *torch.Rank, timeout time.Duration, waitAllRanks bool, group ...*Group) error {
	const name = "monitored_barrier"
	d := stateOf(r)
	g, err := d.group(name, group)
	if err != nil {
		return err
	}
	refuse(d.coalescing != nil, name, "it waits, and is not coalesced with collectives")
	after := simulatedTime(name, timeout)
	if after == 0 {
		after = g.shared.options.Timeout
	}
	w, err := d.call(g, &request{collective: ccl.Barrier, signature: name, label: name, monitored: true})
	if err != nil {
		return err
	}
	w.handle.Waited = true // this function waits
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
	case g.rank > 0 || len(missing) == 0: // rank 0 reports the error, or all ranks have arrived
		return d.s.Await(op)
	case !waitAllRanks:
		missing = missing[:1]
	}
	timeoutErr := &TimeoutError{Name: op.Name, After: after, Missing: missing, arrival: true}
	d.w.s.GiveUp(op, fmt.Errorf("rank %d gave up: %w", d.s.Number, timeoutErr))
	return timeoutErr
}
