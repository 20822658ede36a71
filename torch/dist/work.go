package dist

import (
	"time"

	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/simtime"
)

// Work is a collective that goes on while the rank does something else.
type Work struct {
	d      *state // of the rank that called it
	call   *call
	handle *stream.Handle
}

// acting returns the rank that waits: the one that called the collective, or after Spawn the
// program.
func (w *Work) acting() *stream.Rank {
	if w.d.s.Over {
		return w.d.s.Main()
	}
	return w.d.s
}

// Wait waits for the end. What the collective writes may be read after it. A second
// Wait does nothing.
func (w *Work) Wait() error { return w.await("Wait", 0) }

// WaitTimeout waits for the end, but no longer than a simulated time. If that passes it
// returns a *TimeoutError. The collective goes on, and can be waited for again. A timeout of
// 0 is none.
func (w *Work) WaitTimeout(d time.Duration) error { return w.await("WaitTimeout", d) }

// await waits for the end, or until a simulated time has passed if that is not 0.
func (w *Work) await(op string, d time.Duration) error {
	w.exists(op)
	if w.handle.Waited {
		return nil
	}
	r := w.acting()
	if err := r.Begin(op); err != nil {
		return err
	}
	after := simulated(op, d)
	ended, err := r.AwaitFor(w.handle.Op, after)
	if err == nil && !ended {
		return late(w.handle.Op, after)
	}
	w.handle.Waited = err == nil
	return err
}

// exists checks that there is a Work.
func (w *Work) exists(op string) {
	refuse(w == nil, op, "the Work is nil: a call within Coalescing returns none, and neither does a Coalescing without calls: use the Work of CoalescingAsync")
}

// waited checks that the Work has been waited for.
func (w *Work) waited(op string) {
	refuse(!w.handle.Waited || !w.handle.Op.HasEnded(), op, "%s has not been waited for: call Wait first", w)
}

// look is how long it takes to look whether a collective has ended, if it has not.
const look = 100 * simtime.Nanosecond

// IsCompleted reports whether the collective has ended. If it has not, looking takes
// 100 ns: so that a loop until it has comes to an end.
func (w *Work) IsCompleted() bool {
	w.exists("IsCompleted")
	h := w.handle
	if h.Op.HasEnded() {
		h.Waited = true
	}
	r := w.acting()
	if h.Waited || r.Begin("IsCompleted") != nil {
		return h.Waited
	}
	h.Waited = r.Sleep("a look at "+h.Op.Name, look) == nil && h.Op.HasEnded()
	return h.Waited
}

// Stats returns what the collective took. It is called after Wait. Of a message it is what the
// program took that carried it, with others if they began at the same instant.
func (w *Work) Stats() Stats {
	w.exists("Stats")
	w.waited("Stats")
	s := w.call.stats
	s.Name = w.handle.Op.Name
	return s
}

// Source returns the rank of the world that sent what a receive has received. It is called
// after Wait.
func (w *Work) Source() int {
	w.exists("Source")
	refuse(!w.handle.Op.Message, "Source", "%s is not a message", w)
	w.waited("Source")
	return w.call.source
}

// String names the collective.
func (w *Work) String() string { return w.handle.Op.Name }
